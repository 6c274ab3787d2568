"""File name patterns with the meaning of java.nio's PathMatcher: task configurations are written for it.

``glob:`` patterns are matched against the whole path of a file: ``**`` crosses folders, ``*`` and ``?`` do
not,
``[a-z]`` and ``[!a]`` are classes, ``{csv,json}`` are alternatives, a backslash escapes. ``regex:`` patterns
are regular expressions over the whole path. The path of ``s3://bucket/a/b.csv`` is ``s3:/bucket/a/b.csv``
(Java's ``Paths.get`` folds the slashes), that of ``file:///a/b.csv`` is ``/a/b.csv``.
"""

from __future__ import annotations

import re

from controller_client.errors import ConfigError

_PLAIN = re.compile(r"/+")


def path_of(uri: str) -> str:
    """Return the path that patterns are matched against."""
    uri = uri.removeprefix("file:")
    return _PLAIN.sub("/", uri)


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
        syntax, colon, body = pattern.partition(":")
        try:
            if not colon or syntax.lower() not in ("glob", "regex"):
                raise ValueError("it has neither the prefix 'glob:' nor 'regex:'")
            self._regex = re.compile(_glob_to_regex(body) if syntax.lower() == "glob" else body, re.DOTALL)
        except (ValueError, re.error) as error:
            raise ConfigError(
                f"{key} {pattern!r} is not a pattern: {error}",
                expected="for example glob:**/*.json.gz or regex:.*/part-\\d+\\.csv",
            ) from error

    def matches(self, uri: str) -> bool:
        """Tell whether the whole path of the URI matches."""
        return self._regex.fullmatch(path_of(uri)) is not None

    def __repr__(self) -> str:
        return f"PathMatcher({self.pattern!r})"


_PART = re.compile(r"(?P<deep>\*\*)|(?P<star>\*)|(?P<one>\?)|(?P<escaped>\\.)|(?P<plain>.)", re.DOTALL)


def _glob_to_regex(glob: str) -> str:
    out: list[str] = []
    in_group = False
    i = 0
    while i < len(glob):
        match = _PART.match(glob, i)
        if match is None:
            raise ValueError(f"it cannot be read from character {i + 1} on")
        i = match.end()
        part = match[0]
        if match["plain"] is None:
            out.append({"**": ".*", "*": "[^/]*", "?": "[^/]"}.get(part) or re.escape(part[1:]))
        elif part == "[":
            i = _char_class(glob, i, out)
        elif part in "{},":
            in_group = _group_part(part, in_group, out)
        elif part == "\\":
            raise ValueError("it ends with a backslash")
        else:
            out.append(re.escape(part))
    if in_group:
        raise ValueError("a brace is not closed")
    return "".join(out)


def _group_part(part: str, in_group: bool, out: list[str]) -> bool:
    """Translate a brace or a comma; return whether a group is open behind it."""
    if part == "{":
        if in_group:
            raise ValueError("groups in braces cannot be nested")
        out.append("(?:")
        return True
    if not in_group:
        out.append(re.escape(part))
        return False
    out.append(")" if part == "}" else "|")
    return part == ","


def _char_class(glob: str, start: int, out: list[str]) -> int:
    """Translate the class whose body begins at ``start``; return the index behind its bracket."""
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
    out.append(f"(?!/)[{'^' if negated else ''}{escaped}]")
    return end + 1
