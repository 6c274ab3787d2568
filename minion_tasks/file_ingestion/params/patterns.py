"""Which files below a source folder are read: patterns, and names that are not data.

Patterns have the semantics of java.nio's PathMatcher, as Pinot's task configs expect.
``glob:`` patterns are matched against the whole path of a file: ``**`` crosses folders, ``*`` and ``?`` do
not, ``[a-z]`` and ``[!a]`` are classes, ``{csv,json}`` are alternatives, a backslash escapes. ``regex:``
patterns are regular expressions over the whole path. The path of ``s3://bucket/a/b.csv`` is
``s3:/bucket/a/b.csv`` (Java's ``Paths.get`` collapses the slashes), that of ``file:///a/b.csv`` is
``/a/b.csv``. Both kinds are matched in time linear in the path, see :mod:`.automaton`.

Spark, Hive and Hadoop's tools write files next to the data: ``_SUCCESS``, ``.part-0.csv.crc``, what tasks
have not committed yet (``_temporary/0/...``), and uploads in progress (``part-0.csv._COPYING_``). A name
below the folder is hidden if it begins with ``.`` or ``_`` (but not ``_column=value``, the folder of a Hive
partition), or ends with ``._COPYING_``; so is everything in a hidden folder.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote

from controller_client.errors import ConfigError
from controller_client.filestore import scheme_of
from controller_client.filestore.local import path_in
from minion_tasks.file_ingestion.params.automaton import (
    MAX_SIZE,
    Automaton,
    Char,
    Choice,
    Node,
    Repeat,
    Series,
)
from minion_tasks.file_ingestion.params.regexes import parse_regex

__all__ = ["HiddenNames", "SourceFolder", "listed_forms"]


def listed_forms(folder_uri: str) -> tuple[str, ...]:
    """Return a folder's URI in each form with which the URIs of its files may begin."""
    scheme = scheme_of(folder_uri)
    if scheme != "file":
        return (scheme + folder_uri[len(scheme) :],)
    # A local folder's percent-encoding may be decoded (see LocalStore).
    path = str(Path(path_in(folder_uri)))
    return f"file://{path}", f"file://{unquote(path)}"


class SourceFolder:
    """The folder that is listed.

    Args:
        uri: Its URI.
    """

    def __init__(self, uri: str) -> None:
        self._forms = tuple(f"{path_of(form).rstrip('/')}/" for form in listed_forms(uri))

    def path_below(self, uri: str) -> str:
        """Return the path of a file below the folder; all of the path if it is somewhere else."""
        path = path_of(uri)
        return path[len(next((form for form in self._forms if path.startswith(form)), "")) :]


class HiddenNames:
    """Decides which files of a source folder are not data.

    Args:
        folder_uri: The source folder, whose own path does not count.
        include: The include pattern. A name that it spells out is not hidden: ``glob:**/_late/*.csv``.
    """

    def __init__(self, folder_uri: str, include: PathMatcher | None) -> None:
        self._folder = SourceFolder(folder_uri)
        self._include = include

    def hide(self, uri: str) -> bool:
        """Return whether a file is not data because of its name or that of a folder around it."""
        return any(self._is_hidden(name) for name in self._folder.path_below(uri).split("/"))

    def _is_hidden(self, name: str) -> bool:
        if name.endswith("._COPYING_"):
            return True
        is_marked = name.startswith(".") or (name.startswith("_") and "=" not in name)
        return is_marked and not (self._include is not None and self._include.spells_out(name))


_PLAIN = re.compile(r"/+")

_MAX_SPELLINGS = 1000


def path_of(uri: str) -> str:
    """Return the path that patterns are matched against."""
    uri = uri.removeprefix("file:")
    return _PLAIN.sub("/", uri)


class PathMatcher:
    """One compiled pattern.

    Args:
        pattern: ``glob:...`` or ``regex:...``.
        key: The parameter that contains it, for error messages.

    Raises:
        ConfigError: The pattern is malformed, too large, or uses what cannot be matched in linear time.
    """

    def __init__(self, pattern: str, *, key: str = "includeFileNamePattern") -> None:
        self.pattern = pattern
        self._key = key
        syntax, colon, self._body = pattern.partition(":")
        self._glob: Series | None = None
        try:
            if not colon or syntax.lower() not in ("glob", "regex"):
                raise ValueError("it starts with neither 'glob:' nor 'regex:'")
            if len(self._body) > MAX_SIZE:
                raise ValueError(f"it has more than {MAX_SIZE:,} characters")
            if syntax.lower() == "glob":
                self._glob = _parse_glob(self._body)
            self._automaton = Automaton(self._glob or parse_regex(self._body))
        except (ValueError, OverflowError, RecursionError, re.error) as error:
            raise ConfigError(
                f"{key} {pattern[:200]!r} is not a valid pattern: {error}",
                expected="a pattern such as glob:**/*.json.gz or regex:.*/part-\\d+\\.csv",
            ) from error

    def matches(self, uri: str) -> bool:
        """Return whether the whole path of the URI matches."""
        return self._automaton.matches(path_of(uri))

    def spells_out(self, name: str) -> bool:
        """Return whether the pattern has, after a slash, the first characters of a name as plain text.

        So ``**/_late/*.csv`` spells out ``_late``, and ``**/*`` spells out nothing.
        """
        return any(name.startswith(text) for text in self._plain_beginnings if text)

    @cached_property
    def _plain_beginnings(self) -> frozenset[str]:
        if self._glob is None:
            return frozenset(_leading_text(part) for part in self._body.split("/"))
        return frozenset(text for tokens in _spellings(self._glob) for text in _beginnings(tokens))

    def check_reaches(self, folder_uris: Iterable[str]) -> None:
        """Reject a pattern that cannot match any file in a folder.

        For a glob the check is exact. For a regular expression only its leading plain text is compared with
        the folder; a run shows whether the rest matches anything.

        Args:
            folder_uris: The folder whose files are matched, in each form that it may take in their URIs.

        Raises:
            ConfigError: No path in any of them can match.
        """
        uris = list(folder_uris)
        if any(self.can_match_below(uri) for uri in uris):
            return
        better = _anywhere(self.pattern)
        helps = better is not None and PathMatcher(better, key=self._key).can_match_below(uris[0])
        folder = path_of(uris[0])
        raise ConfigError(
            f"{self._key} {self.pattern!r} cannot match any file in {folder}",
            expected=f"a pattern for the whole path, which starts with {folder}; a single * does not match /",
            remedy=f"did you mean {better!r}?" if helps else None,
        )

    def can_match_below(self, folder_uri: str) -> bool:
        """Return whether a file in a folder can match, as far as that can be determined."""
        folder = path_of(folder_uri).rstrip("/") + "/"
        if self._glob is None:
            text = _leading_text(self._body)
            return text.startswith(folder) or folder.startswith(text)
        return self._automaton.can_match_below(folder)

    def __repr__(self) -> str:
        return f"PathMatcher({self.pattern!r})"


def _anywhere(pattern: str) -> str | None:
    """Return the pattern extended to files in any folder."""
    syntax, _, body = pattern.partition(":")
    body = re.sub(r"^(file|s3):/+", "", body).lstrip("/^")
    return f"{syntax}:{'**/' if syntax.lower() == 'glob' else '.*/'}{body}" if body else None


_PART = re.compile(r"(?P<deep>\*\*)|(?P<star>\*)|(?P<one>\?)|(?P<escaped>\\.)|(?P<plain>.)", re.DOTALL)

_WILD: dict[str, Node] = {"**": Repeat(Char(".")), "*": Repeat(Char("[^/]")), "?": Char("[^/]")}


def _parse_glob(glob: str) -> Series:
    parsed: list[Node] = []
    group: list[list[Node]] | None = None
    i = 0
    while i < len(glob):
        match = _PART.match(glob, i)
        if match is None:
            raise ValueError(f"it is invalid at character {i + 1}")
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
                parsed.append(Choice(tuple(Series(tuple(each)) for each in group)))
                group = None
                continue
        token, i = _token(match, glob, i)
        (parsed if group is None else group[-1]).append(token)
    if group is not None:
        raise ValueError("a brace is never closed")
    return Series(tuple(parsed))


def _token(match: re.Match[str], glob: str, end: int) -> tuple[Node, int]:
    """Return the token that starts with a match, and the index after it."""
    part = match[0]
    if part in _WILD:
        return _WILD[part], end
    if part == "[":
        return _char_class(glob, end)
    if part == "\\":
        raise ValueError("it ends with a backslash")
    return Char(re.escape(part[1:] if match["escaped"] else part)), end


def _char_class(glob: str, start: int) -> tuple[Node, int]:
    """Translate the class whose body starts at ``start``; also return the index after its bracket."""
    end = glob.find("]", start + 1 if glob[start : start + 1] == "!" else start)
    if end <= start:
        raise ValueError("a bracket is empty or never closed")
    body = glob[start:end]
    negated = body.startswith("!")
    members = body[1:] if negated else body
    if not members or "/" in members:
        raise ValueError("a bracket is empty or contains a slash")
    escaped = members.replace("\\", "\\\\").replace("[", "\\[").replace("^", "\\^").replace("&&", "&\\&")
    # As in Java, a class never matches the separator.
    return Char(f"(?!/)[{'^' if negated else ''}{escaped}]"), end + 1


def _spellings(glob: Series) -> Iterator[Sequence[Node]]:
    """Expand a glob for each choice among its alternatives, up to a limit."""
    choices = [
        [option.parts for option in each.options if isinstance(option, Series)]
        if isinstance(each, Choice)
        else [(each,)]
        for each in glob.parts
    ]
    for chosen in itertools.islice(itertools.product(*choices), _MAX_SPELLINGS):
        yield tuple(itertools.chain.from_iterable(chosen))


def _beginnings(tokens: Sequence[Node]) -> Iterator[str]:
    """Return the plain text with which each part of the path between slashes begins."""
    text, is_plain = "", True
    for token in tokens:
        character = token.text.removeprefix("\\") if isinstance(token, Char) else ""
        if character == "/":
            yield text
            text, is_plain = "", True
        else:
            is_plain = is_plain and len(character) == 1
            text += character if is_plain else ""
    yield text


_PLAIN_TEXT = re.compile(r"(?:[^\\.^$*+?{}\[\]|()]|\\[^A-Za-z0-9])*")


def _leading_text(regex: str) -> str:
    """Return the text with which every match of a regular expression starts; empty if there is none."""
    regex = regex.removeprefix("^")
    if "|" in regex:
        return ""
    plain = _PLAIN_TEXT.match(regex)
    text = re.sub(r"\\(.)", r"\1", plain[0], flags=re.DOTALL) if plain else ""
    last_is_optional = plain is not None and regex[plain.end() : plain.end() + 1] in ("*", "?", "{")
    return text[:-1] if last_is_optional else text
