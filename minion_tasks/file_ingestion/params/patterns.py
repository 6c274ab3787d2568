"""File name patterns with the meaning of java.nio's PathMatcher: task configurations are written for it.

``glob:`` patterns are matched against the whole path of a file: ``**`` crosses folders, ``*`` and ``?`` do
not, ``[a-z]`` and ``[!a]`` are classes, ``{csv,json}`` are alternatives, a backslash escapes. ``regex:``
patterns are regular expressions over the whole path. The path of ``s3://bucket/a/b.csv`` is
``s3:/bucket/a/b.csv`` (Java's ``Paths.get`` folds the slashes), that of ``file:///a/b.csv`` is ``/a/b.csv``.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from controller_client.errors import ConfigError

_PLAIN = re.compile(r"/+")


def path_of(uri: str) -> str:
    """Return the path that patterns are matched against."""
    uri = uri.removeprefix("file:")
    return _PLAIN.sub("/", uri)


@dataclass(frozen=True)
class _Token:
    """What one place of a glob takes: one character that fits the expression, or any number of them."""

    one: str
    repeats: bool = False

    @property
    def regex(self) -> str:
        return f"{self.one}*" if self.repeats else self.one


_Sequence = tuple[_Token, ...]
_Group = tuple[_Sequence, ...]
"""The alternatives in a pair of braces."""

_MAX_SPELLINGS = 1000


class PathMatcher:
    """One compiled pattern.

    Args:
        pattern: ``glob:...`` or ``regex:...``.
        key: The parameter it came from, for the error.

    Raises:
        ConfigError: The pattern is malformed or of another syntax.
    """

    def __init__(self, pattern: str, *, key: str = "includeFileNamePattern") -> None:
        self.pattern = pattern
        self._key = key
        syntax, colon, self._body = pattern.partition(":")
        self._glob: list[_Token | _Group] | None = None
        try:
            if not colon or syntax.lower() not in ("glob", "regex"):
                raise ValueError("it has neither the prefix 'glob:' nor 'regex:'")
            if syntax.lower() == "glob":
                self._glob = _parse_glob(self._body)
            self._regex = re.compile(self._body if self._glob is None else _regex_of(self._glob), re.DOTALL)
        except (ValueError, re.error) as error:
            raise ConfigError(
                f"{key} {pattern!r} is not a pattern: {error}",
                expected="for example glob:**/*.json.gz or regex:.*/part-\\d+\\.csv",
            ) from error

    def matches(self, uri: str) -> bool:
        """Return whether the whole path of the URI matches."""
        return self._regex.fullmatch(path_of(uri)) is not None

    def check_reaches(self, folder_uris: Iterable[str]) -> None:
        """Refuse a pattern that no file can match, whatever its name.

        A glob is followed through the folder's path, exactly. Of a regular expression only the plain text at
        its start is compared; a run shows whether the rest matches anything.

        Args:
            folder_uris: The folder whose files are matched, in each form that it may have in their URIs.

        Raises:
            ConfigError: No path below any of them can match.
        """
        uris = list(folder_uris)
        if any(self.can_match_below(uri) for uri in uris):
            return
        better = _anywhere(self.pattern)
        helps = better is not None and PathMatcher(better, key=self._key).can_match_below(uris[0])
        folder = path_of(uris[0])
        raise ConfigError(
            f"{self._key} {self.pattern!r} can match no file below {folder}",
            expected=f"a pattern of whole paths, which begin with {folder} here; a single * crosses no slash",
            remedy=f"did you mean {better!r}?" if helps else None,
        )

    def can_match_below(self, folder_uri: str) -> bool:
        """Return whether there are names of files below a folder that match, as far as that can be seen."""
        folder = path_of(folder_uri).rstrip("/") + "/"
        if self._glob is None:
            text = _leading_text(self._body)
            return text.startswith(folder) or folder.startswith(text)
        return any(_reaches(tokens, folder) for tokens in _spellings(self._glob))

    def __repr__(self) -> str:
        return f"PathMatcher({self.pattern!r})"


def _anywhere(pattern: str) -> str | None:
    """Return the pattern for a file in any folder."""
    syntax, _, body = pattern.partition(":")
    body = re.sub(r"^(file|s3):/+", "", body).lstrip("/^")
    return f"{syntax}:{'**/' if syntax.lower() == 'glob' else '.*/'}{body}" if body else None


_PART = re.compile(r"(?P<deep>\*\*)|(?P<star>\*)|(?P<one>\?)|(?P<escaped>\\.)|(?P<plain>.)", re.DOTALL)
_WILD = {"**": _Token(".", repeats=True), "*": _Token("[^/]", repeats=True), "?": _Token("[^/]")}


def _parse_glob(glob: str) -> list[_Token | _Group]:
    parsed: list[_Token | _Group] = []
    group: list[list[_Token]] | None = None
    i = 0
    while i < len(glob):
        match = _PART.match(glob, i)
        if match is None:
            raise ValueError(f"it is invalid from character {i + 1} on")
        i = match.end()
        part = match[0]
        if match["plain"] and part in "{},":
            if part == "{" and group is not None:
                raise ValueError("groups in braces cannot be nested")
            if part == "{":
                group = [[]]
                continue
            if group is not None and part == ",":
                group.append([])
                continue
            if group is not None:
                parsed.append(tuple(tuple(each) for each in group))
                group = None
                continue
        token, i = _token(match, glob, i)
        (parsed if group is None else group[-1]).append(token)
    if group is not None:
        raise ValueError("a brace is not closed")
    return parsed


def _token(match: re.Match[str], glob: str, end: int) -> tuple[_Token, int]:
    """Return the token that begins with a match, and the index behind it."""
    part = match[0]
    if part in _WILD:
        return _WILD[part], end
    if part == "[":
        return _char_class(glob, end)
    if part == "\\":
        raise ValueError("it ends with a backslash")
    return _Token(re.escape(part[1:] if match["escaped"] else part)), end


def _char_class(glob: str, start: int) -> tuple[_Token, int]:
    """Translate the class whose body begins at ``start``; return the index behind its bracket too."""
    end = glob.find("]", start + 1 if glob[start : start + 1] == "!" else start)
    if end <= start:
        raise ValueError("a bracket is not closed or encloses nothing")
    body = glob[start:end]
    negated = body.startswith("!")
    members = body[1:] if negated else body
    if not members or "/" in members:
        raise ValueError("a bracket encloses nothing or a slash")
    escaped = members.replace("\\", "\\\\").replace("[", "\\[").replace("^", "\\^").replace("&&", "&\\&")
    # As in Java, a class never matches the separator.
    return _Token(f"(?!/)[{'^' if negated else ''}{escaped}]"), end + 1


def _regex_of(glob: list[_Token | _Group]) -> str:
    return "".join(
        each.regex
        if isinstance(each, _Token)
        else "(?:" + "|".join("".join(token.regex for token in tokens) for tokens in each) + ")"
        for each in glob
    )


def _spellings(glob: list[_Token | _Group]) -> Iterator[_Sequence]:
    """Write a glob out for each choice among its alternatives, up to a bound."""
    choices = [((each,),) if isinstance(each, _Token) else each for each in glob]
    for number, chosen in enumerate(itertools.product(*choices)):
        if number == _MAX_SPELLINGS:
            yield (_WILD["**"],)  # what was not tried may match anything
            return
        yield tuple(itertools.chain.from_iterable(chosen))


def _reaches(tokens: _Sequence, folder: str) -> bool:
    """Return whether the tokens can take the folder's path and then the name of a file."""
    slash = _Token(re.escape("/"))
    if tokens[-1:] == (slash,) or any(pair == (slash, slash) for pair in itertools.pairwise(tokens)):
        return False  # paths end with a name, and have single slashes
    places = {0}
    for character in folder:
        places = {
            place if tokens[place].repeats else place + 1
            for place in _with_skipped(places, tokens)
            if place < len(tokens) and re.fullmatch(tokens[place].one, character, re.DOTALL)
        }
    return any(place < len(tokens) for place in _with_skipped(places, tokens))


def _with_skipped(places: set[int], tokens: _Sequence) -> set[int]:
    """Add the places behind tokens that may take nothing."""
    reached = set(places)
    for place in places:
        while place < len(tokens) and tokens[place].repeats:
            place += 1
            reached.add(place)
    return reached


_PLAIN_TEXT = re.compile(r"(?:[^\\.^$*+?{}\[\]|()]|\\[^A-Za-z0-9])*")


def _leading_text(regex: str) -> str:
    """Return the text with which all that a regular expression matches begins; empty where that is open."""
    regex = regex.removeprefix("^")
    if "|" in regex:
        return ""
    plain = _PLAIN_TEXT.match(regex)
    text = re.sub(r"\\(.)", r"\1", plain[0], flags=re.DOTALL) if plain else ""
    may_be_left_out = plain is not None and regex[plain.end() : plain.end() + 1] in ("*", "?", "{")
    return text[:-1] if may_be_left_out else text
