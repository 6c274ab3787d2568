"""Text for users: foreign names as nothing but text, counts, sizes, times, near names of a misspelt one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum

__all__ = [
    "WordEnum",
    "bytes_text",
    "counted_text",
    "did_you_mean",
    "has_utf_8",
    "indented_lines",
    "utc_text",
    "visible",
]

_LINES_SHOWN = 10


# Control characters, line and paragraph separators, marks that change the direction of writing, the
# byte-order mark, and the surrogates in which Python keeps non-UTF-8 bytes of file names.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")

_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def visible(text: str) -> str:
    r"""Return the text with escapes like ``\n``, ``\x1b``, ``\u202e`` for invisible and control characters.

    A byte of a file name that is not UTF-8 becomes ``\xff``. All other characters stay, so the result can be
    encoded in UTF-8, is one line, and has no side effects in a terminal or on a page.
    """
    return _UNSEEN.sub(lambda match: _escape(match[0]), text)


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def has_utf_8(text: str) -> bool:
    """Return whether UTF-8 can store a text: it has no surrogates, alone or for bytes that are not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def counted_text(count: int, noun: str) -> str:
    """Return a counted noun: ``1 file``, ``2 files``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def indented_lines(lines: Sequence[str]) -> str:
    """Join the first ten lines; those after the first, and how many there are more, are indented by two."""
    more = f"\n  ... and {len(lines) - _LINES_SHOWN} more" if len(lines) > _LINES_SHOWN else ""
    return "\n  ".join(lines[:_LINES_SHOWN]) + more


def bytes_text(size: int) -> str:
    """Return a human-readable size: ``1.4 MiB``."""
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{value:.1f}".removesuffix(".0") + f" {unit}" if value < 100 else f"{value:.0f} {unit}"


def utc_text(epoch_ms: float, separator: str = " ") -> str:
    """Format a time in UTC, to the second; ``-`` if it is none that a calendar has.

    Args:
        epoch_ms: Milliseconds since 1970, e.g. of a record that anyone may have written.
        separator: What stands between date and time.
    """
    try:
        return datetime.fromtimestamp(epoch_ms / 1000, UTC).strftime(f"%Y-%m-%d{separator}%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):  # NaN, infinity, after the year 9999
        return "-"


def did_you_mean(name: str, candidates: Iterable[str], *, otherwise: str) -> str:
    """Return a remedy for an unknown name: the most similar known names, or another remedy.

    Args:
        name: The given name.
        candidates: The known names.
        otherwise: The remedy if no name is similar.
    """
    by_folded = {each.casefold(): each for each in candidates}
    near = difflib.get_close_matches(name.casefold(), by_folded, n=3, cutoff=0.6)
    return f"did you mean {' or '.join(by_folded[each] for each in near)}?" if near else otherwise


class WordEnum(StrEnum):
    """An enumeration with values in snake_case, which JSON and tables show unchanged."""

    @property
    def words(self) -> str:
        """The value for a sentence: ``no_url`` is ``no url``."""
        return self.value.replace("_", " ")
