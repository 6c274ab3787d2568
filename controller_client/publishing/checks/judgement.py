"""Judges what is staged by the checks, before it is switched to."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Protocol

from controller_client.common.text import counted_text, visible
from controller_client.errors import InputError
from controller_client.publishing.checks.rules import ALL_COLUMNS, RANGE, Checks, ValueRange
from controller_client.segment_tar import DescribedSegment

__all__ = ["ChecksFailedError", "LiveCounts", "RowCounts", "failed_checks"]

_EXPECTED_VALUES = 20
"""Fewer values than a column should have in the new rows may be missing by chance."""


class ChecksFailedError(InputError):
    """What is staged does not pass the checks of its task or write; the table is unchanged."""


class LiveCounts(Protocol):
    """Counts rows that the table serves now."""

    def rows_with_value(self, column: str, default: str) -> int | None:
        """Count the rows in which a column has another value than its default; None: unknown."""
        ...


class RowCounts:
    """Numbers of rows.

    Args:
        new: Of the staged segments.
        visible: Names of the segments that queries see now.
        replaced: Names of those that the staged segments replace.
        read: Returns the number of rows of each visible segment. It is called once, and only if a check needs
            it: to read it takes long if a table has many segments.
    """

    def __init__(
        self,
        new: int,
        visible: Collection[str],
        replaced: Collection[str],
        read: Callable[[], Mapping[str, int]],
    ) -> None:
        self.new = new
        self.has_segments = bool(visible)
        self._replaced = replaced
        self._read = read

    @cached_property
    def _by_segment(self) -> Mapping[str, int]:
        return self._read()

    @property
    def before(self) -> int:
        """Number of rows of the table, as queries see it now."""
        return sum(self._by_segment.values()) if self.has_segments else 0

    @property
    def after(self) -> int:
        """Number of rows of the table after the switch."""
        if not self.has_segments:
            return self.new
        return self.before - sum(self._by_segment.get(name, 0) for name in self._replaced) + self.new


def failed_checks(
    checks: Checks, rows: RowCounts, staged: Iterable[list[DescribedSegment]], live: LiveCounts
) -> list[str]:
    """Return why the staged segments must not be switched to, a sentence for each check; empty if they may.

    Args:
        checks: The checks.
        rows: Numbers of rows.
        staged: The new segments that have rows, a few at a time; read only as far as needed.
        live: What the table serves now.
    """
    return [*_rows(checks, rows), *_columns(checks, rows, staged, live)]


def _rows(checks: Checks, rows: RowCounts) -> Iterator[str]:
    if checks.min_rows is not None and rows.after < checks.min_rows:
        yield f"checks.minRows is {checks.min_rows}: the table would have {counted_text(rows.after, 'row')}"
    if checks.max_rows_change is None or not rows.before:
        return
    change = 100 * Decimal(rows.after - rows.before) / rows.before
    if abs(change) > checks.max_rows_change:
        yield (
            f"checks.maxRowsChange is {checks.max_rows_change}%: the table would have"
            f" {counted_text(rows.after, 'row')} instead of {rows.before:,}, which is {change:+.1f}%"
        )


def _columns(
    checks: Checks, rows: RowCounts, staged: Iterable[list[DescribedSegment]], live: LiveCounts
) -> Iterator[str]:
    ranges = _Ranges(checks.ranges)
    emptied = _Emptied(checks.may_become_empty, rows, live)
    batches = iter(staged)
    while ranges.is_unfinished or emptied.is_unfinished:
        segments = next(batches, None)
        if segments is None:
            break
        ranges.add(segments)
        emptied.add(segments)
    yield from ranges.failures()
    yield from emptied.failures()


class _Ranges:
    """Looks for values outside of the columns' ranges."""

    def __init__(self, ranges: Mapping[str, ValueRange]) -> None:
        self._open = dict(ranges)
        self._failures: list[str] = []

    @property
    def is_unfinished(self) -> bool:
        return bool(self._open)

    def add(self, segments: Iterable[DescribedSegment]) -> None:
        for segment in segments:
            for column, value_range in list(self._open.items()):
                outside = _outside(value_range, segment, column)
                if outside is not None:
                    del self._open[column]
                    self._failures.append(
                        f"{RANGE}{column} is {value_range}: segment {segment.name} has {outside}"
                    )

    def failures(self) -> list[str]:
        return self._failures


def _outside(value_range: ValueRange, segment: DescribedSegment, column: str) -> str | None:
    """Return the value of a segment that is outside of a range, for a message; None if there is none."""
    values = segment.columns.get(column)
    for text in (None, None) if values is None else (values.least, values.most):
        try:
            number = None if text is None else Decimal(text)
        except InvalidOperation:
            number = None
        if number is None:
            return "no smallest and largest value"
        if not value_range.contains(number):
            return f"{text}"
    return None


class _Emptied:
    """Looks for columns that have values in the table, and only their default in all new rows."""

    def __init__(self, allowed: frozenset[str], rows: RowCounts, live: LiveCounts) -> None:
        self._allowed = allowed
        self._rows = rows
        self._live = live
        self._candidates: dict[str, str] | None = None
        """Column -> its share of values in the table, as text; None before the first segment."""

    @property
    def is_unfinished(self) -> bool:
        return self._is_asked and self._candidates != {}

    @property
    def _is_asked(self) -> bool:
        return ALL_COLUMNS not in self._allowed and self._rows.has_segments

    def add(self, segments: Iterable[DescribedSegment]) -> None:
        if not self._is_asked:
            return
        without_values = [
            {column: values.default for column, values in segment.columns.items() if values.are_defaults}
            for segment in segments
        ]
        if not without_values:
            return
        common = set.intersection(*(set(columns) for columns in without_values))
        if self._candidates is not None:
            self._candidates = {c: share for c, share in self._candidates.items() if c in common}
            return
        # The table is asked only once, and only for columns that none of the first segments fills.
        self._candidates = {}
        columns = sorted(common - self._allowed)
        for column in columns if columns and self._rows.before else ():
            share = self._unlikely(column, without_values[0][column] or "")
            if share is not None:
                self._candidates[column] = share

    def _unlikely(self, column: str, default: str) -> str | None:
        """Return the share of a column's rows with a value, unless the new rows may lack one by chance."""
        count = self._live.rows_with_value(column, default)
        share = (count or 0) / self._rows.before
        return f"{share:.1%}" if share * self._rows.new >= _EXPECTED_VALUES else None

    def failures(self) -> Iterator[str]:
        for column, share in (self._candidates or {}).items():
            yield (
                f"column {visible(column)} has a value in {share} of the table's rows, but in none of the"
                f" {self._rows.new:,} new ones; if that is right, name it in checks.mayBecomeEmpty"
            )
