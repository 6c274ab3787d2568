"""Reads regular expressions in Python's syntax, without what needs backtracking."""

from __future__ import annotations

import re

from minion_tasks.file_ingestion.params.automaton import Anchor, Char, Choice, Node, Repeat, Series

__all__ = ["parse_regex"]

_ANCHORS = {"^": "^", r"\A": "^", "$": "$", r"\Z": "$", r"\z": "$", r"\b": "b", r"\B": "B"}
_FLAGS = {"i": re.IGNORECASE, "s": re.DOTALL, "u": re.UNICODE}
_GLOBAL_FLAGS = re.compile(r"\(\?([isu]+)\)")
_GROUP = re.compile(r"\((?!\?)|\(\?P<[^>]*>|\(\?(?P<flags>[isu]*):")
_REPEAT = re.compile(
    r"(?!\{\})(?:(?P<sign>[*+?])|\{(?P<least>[0-9]*)(?P<comma>,(?P<most>[0-9]*))?\})(?P<mode>[?+]?)"
)
_SIGNS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_REFERENCE = re.compile(r"\\(?![0-3][0-7]{2})[1-9]")
_ATOM = re.compile(
    r"""
    \\ (?: x[0-9a-fA-F]{2} | u[0-9a-fA-F]{4} | U[0-9a-fA-F]{8} | N\{[^}]*\} | [0-3][0-7]{2} | 0[0-7]? | . )
    | \[ \^? \]? (?: \\. | [^\]\\] )* \]
    | .
    """,
    re.DOTALL | re.VERBOSE,
)


def parse_regex(text: str) -> Node:
    """Parse a regular expression.

    Raises:
        ValueError: It uses what cannot be matched in linear time, or a flag that is not supported.
        re.error: It is malformed.
        OverflowError: A number of repetitions is too large.
        RecursionError: It is nested too deeply.
    """
    re.compile(text, re.DOTALL)
    return _Parser(text).parse()


class _Parser:
    """Parses an expression that ``re`` has accepted."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def parse(self) -> Node:
        found = _GLOBAL_FLAGS.match(self._text)
        self._at = found.end() if found else 0
        return self._choice(_flags(found[1]) if found else 0)

    def _choice(self, flags: int) -> Node:
        options = [self._series(flags)]
        while self._text.startswith("|", self._at):
            self._at += 1
            options.append(self._series(flags))
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _series(self, flags: int) -> Node:
        parts: list[Node] = []
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            part = self._group(flags) if self._text[self._at] == "(" else self._atom(flags)
            parts.append(self._repeated(part))
        return Series(tuple(parts))

    def _group(self, flags: int) -> Node:
        match = _GROUP.match(self._text, self._at)
        if match is None:
            raise _unsupported(self._text[self._at : self._at + 4])
        self._at = match.end()
        node = self._choice(flags | _flags(match["flags"] or ""))
        self._at += 1
        return node

    def _atom(self, flags: int) -> Node:
        match = _ATOM.match(self._text, self._at)
        if match is None:
            raise ValueError(f"it is invalid at character {self._at + 1}")
        self._at = match.end()
        if match[0] in _ANCHORS:
            return Anchor(_ANCHORS[match[0]])
        if _REFERENCE.match(match[0]):
            raise _unsupported(match[0])
        return Char(match[0], flags)

    def _repeated(self, node: Node) -> Node:
        match = _REPEAT.match(self._text, self._at)
        if match is None:
            return node
        self._at = match.end()
        if match["mode"] == "+":
            raise _unsupported(match[0])
        if match["sign"]:
            return Repeat(node, *_SIGNS[match["sign"]])
        most = match["most"] if match["comma"] else match["least"]
        return Repeat(node, int(match["least"] or 0), int(most) if most else None)


def _flags(letters: str) -> int:
    return sum(_FLAGS[letter] for letter in set(letters))


def _unsupported(text: str) -> ValueError:
    return ValueError(
        f"{text} is not supported: use no look-around, back-reference, atomic group, possessive repetition, "
        "comment, and no flags but i and s"
    )
