"""What source files may be like, and how one is; for tasks and commands too, so without Arrow and JVM."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["ColumnMismatch", "InputRules", "MissingLimit", "near_miss", "text_encoding"]

# Codecs of Python that are no encodings of files.
_NO_ENCODINGS = frozenset(["idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined", "utf-7"])


@dataclass(frozen=True)
class MissingLimit:
    """How many of the table's columns a file may lack: a number or a share of them."""

    number: int
    is_percent: bool

    @classmethod
    def parse(cls, text: str) -> MissingLimit:
        """Read ``3`` or ``50%``.

        Raises:
            ValueError: It is neither.
        """
        match = re.fullmatch(r"\s*([0-9]{1,9})\s*(%?)\s*", text)
        if match is None or (match[2] and int(match[1]) > 100):
            raise ValueError("expected a number of columns, such as 3, or a share of them, such as 50%")
        return cls(int(match[1]), bool(match[2]))

    def allows(self, missing: int, expected: int) -> bool:
        """Return whether this many of the expected columns may be missing."""
        return missing * 100 <= self.number * expected if self.is_percent else missing <= self.number

    def __str__(self) -> str:
        return f"{self.number}%" if self.is_percent else str(self.number)


@dataclass(frozen=True)
class InputRules:
    """What a file may be like.

    Attributes:
        encoding: Of CSV and JSON files, by any name that Python knows.
        max_missing: How many of the table's columns a file may lack. None: half of them, and of JSON lines,
            whose rows leave keys out, all but one. A file with none of them is refused always.
        refuse_unknown: Whether a column that the table does not read is an error.
    """

    encoding: str = "UTF-8"
    max_missing: MissingLimit | None = None
    refuse_unknown: bool = False


@dataclass(frozen=True)
class ColumnMismatch:
    """How a file's columns differ from what its table takes.

    Attributes:
        missing: Columns that the table expects and the file has not: null in each of its rows.
        extra: Columns of the file that the table does not read. Of JSON lines, keys of the first rows.
    """

    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra)


def near_miss(name: str, others: Iterable[str]) -> str | None:
    """Return the name that differs in nothing but case and white space at the edges."""
    folded = name.strip().casefold()
    return next((other for other in others if other != name and other.strip().casefold() == folded), None)


def text_encoding(name: str) -> str:
    """Return Python's name of an encoding.

    Raises:
        ValueError: There is no such encoding of text.
    """
    try:
        codec = codecs.lookup(name.strip())
        known = codec.name.replace("_", "-")
    except (LookupError, ValueError):
        codec, known = None, ""
    if not getattr(codec, "_is_text_encoding", False) or known in _NO_ENCODINGS:
        raise ValueError("expected an encoding of text, such as UTF-8, ISO-8859-1, windows-1252 or UTF-16")
    return "utf-8" if known == "utf-8-sig" else known
