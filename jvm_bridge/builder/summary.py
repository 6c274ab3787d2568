"""What Pinot's statistics collectors would learn of a column, gathered by Arrow while the rows are written.

Half of a build by Pinot goes into a first pass over all rows for these numbers. Here Pinot's own collectors
get each
distinct value once (see ``statistics``), and what distinct values do not show, order and counts, is found
here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from jvm_bridge.builder.stored import FixedColumn, ListColumn, StoredColumn, TextColumn

__all__ = ["ColumnSummary"]

_MERGE_ROWS = 1_000_000
_FOUR_BYTE_LEAD = 0xF0  # UTF-8 of characters that are two UTF-16 units


class ColumnSummary:
    """Gathers one column.

    Args:
        is_text: The values are texts, which Java compares by UTF-16 units.

    Attributes:
        entries: Values in all (of a multi-value column, of all rows together).
        longest_list: Most values in a row; 0 for a single-value column.
        longest_list_bytes: Most bytes of texts in a row of a multi-value column.
        is_sorted: Whether each value is at least the one before, as Pinot compares.
        is_certain: False where bytes and Java's UTF-16 may sort in another order: then Pinot must look
            itself.
    """

    def __init__(self, *, is_text: bool) -> None:
        self._is_text = is_text
        self.entries = 0
        self.longest_list = 0
        self.longest_list_bytes = 0
        self.is_sorted = True
        self.is_certain = True
        self._last: Any = None
        self._distinct: list[Any] = []
        self._pending = 0
        self._dtype: np.dtype[Any] | None = None

    def add(self, column: StoredColumn) -> None:
        """Take one batch in."""
        values = column
        if isinstance(column, ListColumn):
            values = column.values
            self.is_sorted = False
            lengths = np.diff(column.offsets)
            self.longest_list = max(self.longest_list, int(lengths.max(initial=0)))
            if isinstance(values, TextColumn):
                self.longest_list_bytes = max(
                    self.longest_list_bytes, _longest_row(values.values, column.offsets)
                )
        if isinstance(values, FixedColumn):
            self._add_numbers(values.values)
        elif isinstance(values, TextColumn):
            self._add_texts(values.values)

    def distinct(self) -> FixedColumn | TextColumn:
        """Return each value once, in the order in which Java sorts them (of bytes: in no order)."""
        self._merge()
        merged = self._distinct[0]
        if self._dtype is not None:
            return FixedColumn(_in_java_order(merged.to_numpy(zero_copy_only=False).view(self._dtype)), None)
        if self._is_text:
            merged = merged.take(pc.array_sort_indices(merged))
        return TextColumn(merged, None)

    def _add_numbers(self, values: npt.NDArray[Any]) -> None:
        self._dtype = values.dtype
        self.entries += len(values)
        if self.is_sorted and len(values):
            first = self._last is None or bool(values[0] >= self._last)
            # Comparisons with NaN are false, in numpy as in the collectors.
            self.is_sorted = (
                first and bool((values[1:] >= values[:-1]).all()) and bool(values[0] == values[0])
            )
            self._last = values[-1]
        if values.dtype.kind == "f":
            # Java has one NaN, and two zeros, and so they are distinguished by their bits.
            values = np.where(np.isnan(values), np.asarray(np.nan, dtype=values.dtype), values)
        self._keep(pc.unique(pa.array(values.view(f"<i{values.dtype.itemsize}"))))

    def _add_texts(self, texts: Any) -> None:
        self.entries += len(texts)
        unique = pc.unique(texts)
        self._keep(unique)
        if self._is_text and self.is_certain:
            data = np.frombuffer(unique.buffers()[2] or b"", dtype=np.uint8)
            self.is_certain = not (data >= _FOUR_BYTE_LEAD).any()
        if not self.is_sorted or not len(texts):
            return
        steps_up = pc.greater_equal(texts.slice(1), texts.slice(0, len(texts) - 1))
        in_order = pc.all(steps_up).as_py() is not False
        self.is_sorted = in_order and (self._last is None or texts[0].as_py() >= self._last)
        self._last = texts[-1].as_py()

    def _keep(self, unique: Any) -> None:
        self._distinct.append(unique)
        self._pending += len(unique)
        if self._pending > _MERGE_ROWS:
            self._merge()

    def _merge(self) -> None:
        if len(self._distinct) > 1:
            self._distinct = [pc.unique(pa.concat_arrays(self._distinct))]
        self._pending = 0


def _in_java_order(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if values.dtype.kind != "f":
        return np.sort(values)
    # Arrays.sort puts -0.0 before 0.0 and NaN last: the order of the bits, with the negative ones turned
    # round.
    bits = values.view(f"<i{values.dtype.itemsize}")
    keys = np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)
    return values[np.argsort(keys)]


def _longest_row(texts: Any, offsets: npt.NDArray[np.int64]) -> int:
    ends = np.frombuffer(texts.buffers()[1], dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return int(np.diff(ends[offsets]).max(initial=0)) if len(texts) else 0
