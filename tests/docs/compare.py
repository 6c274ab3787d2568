"""Compares what was printed with what a page shows."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

__all__ = ["difference"]

ANY_LINES = "..."

# Output that always differs between runs.
_VOLATILE = (
    (re.compile(r"\d{8}T\d{9}-[0-9a-f]{6}"), "SESSION"),
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UUID"),
    # The id of a plan, as a number: it may have decimal digits alone, and a number may have 16.
    (re.compile(r"\b[0-9a-f]{16}\b"), "#"),
    (re.compile(r"\d{8}T\d{4}(\d{2})?Z"), "TIME"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?"), "TIME"),
    (re.compile(r"\b[\w.-]+@[\w.-]+:\d+"), "WHO"),
    (re.compile(r"\b[\d,.]+ (ms|s|seconds)\b"), "DURATION"),
    (re.compile(r"^(\w+_(s|bytes)|bytes_\w+)(\s+)[\d.]+$"), r"\1\3NUMBER"),
)
# A slow machine prints them at intervals, too.
_PROGRESS = re.compile(r"[A-Z_]+ .*: [\d,]+/[\d,]+ files")
_NUMBER = re.compile(r"\d[\d,.]*\d|\d")


def difference(shown: Sequence[str], printed: Sequence[str], *, shape: bool = False) -> str | None:
    """Compare lines; return None if they match, else the difference.

    The number of blanks is ignored. A line ``...`` matches any number of lines.

    Args:
        shown: What the page shows.
        printed: What was printed.
        shape: Ignore the values of numbers.
    """
    left = [_normal(line, shape) for line in _trimmed(shown)]
    right = [_normal(line, shape) for line in _last_of_progress(_trimmed(printed))]
    if _agree(left, right):
        return None
    return "\n".join(["\n  ".join(["the page shows:", *shown]), "\n  ".join(["was printed:", *printed])])


def _agree(shown: list[str], printed: list[str]) -> bool:
    if not shown:
        return not printed
    if shown[0] == ANY_LINES:
        return any(_agree(shown[1:], printed[skipped:]) for skipped in range(len(printed) + 1))
    return bool(printed) and shown[0] == printed[0] and _agree(shown[1:], printed[1:])


def _last_of_progress(lines: Sequence[str]) -> list[str]:
    """Remove lines of progress that another one follows."""
    return [
        line
        for line, after in itertools.pairwise([*lines, ""])
        if not (_PROGRESS.fullmatch(line) and _PROGRESS.fullmatch(after))
    ]


def _trimmed(lines: Sequence[str]) -> list[str]:
    """Remove empty lines at both ends."""
    kept = [line.rstrip() for line in lines]
    while kept and not kept[-1]:
        kept.pop()
    while kept and not kept[0]:
        kept.pop(0)
    return kept


def _normal(line: str, shape: bool) -> str:
    for pattern, name in _VOLATILE:
        line = pattern.sub(name, line)
    if shape:
        line = _NUMBER.sub("#", line)
    # Rules below table heads are as wide as their columns.
    return re.sub(r"-{3,}", "---", " ".join(line.split()))
