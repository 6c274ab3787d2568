"""Writes whole columns, batch by batch, to one file, which Java then reads column by column.

There is no header: only the writer knows the positions of the blocks, one for each column and batch. Numbers
are little-endian. Each block of texts has its own dictionary.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from controller_client.common.closing import Closing
from controller_client.errors import SetupError
from jvm_bridge.builder.columnar.stored import FixedColumn, ListColumn, StoredColumn, text_bytes
from jvm_bridge.builder.planning import Unsuitable

__all__ = ["FULL_BYTES", "ColumnFileWriter"]

FULL_BYTES = 1 << 30
"""A segment without a fixed number of rows ends with the batch that reaches this many bytes."""

_ABSENT = -1


class ColumnFileWriter(Closing):
    """Writes batches of columns; a context manager.

    Args:
        path: The file to create.
        columns: Number of columns in each batch.
    """

    def __init__(self, path: Path, columns: int) -> None:
        if sys.byteorder != "little":
            raise SetupError("the arrow reader requires a little-endian machine", remedy='use reader="pinot"')
        self.rows = 0
        self.size_bytes = 0
        self._blocks: list[list[int]] = [[] for _ in range(columns)]
        self._file = path.open("wb")

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._file.close()

    def blocks(self, number: int) -> npt.NDArray[np.int64]:
        """Flush the file, and return the positions of a column's blocks, in the order of ``Block.java``."""
        self._file.flush()
        return np.asarray(self._blocks[number], dtype=np.int64)

    def write(self, columns: Sequence[StoredColumn], rows: int) -> None:
        """Write one batch.

        Args:
            columns: The columns, each with this number of rows.
            rows: Rows in the batch.

        Raises:
            Unsuitable: The texts are too long.
        """
        if rows == 0:
            return
        for blocks, column in zip(self._blocks, columns, strict=True):
            blocks += self._block(column, rows)
        self.rows += rows

    def _block(self, column: StoredColumn, rows: int) -> list[int]:
        nulls_at, null_count = _ABSENT, 0
        if column.nulls is not None:
            nulls = np.flatnonzero(column.nulls).astype("<i4")
            nulls_at, null_count = self._put(nulls), len(nulls)
        lengths_at = _ABSENT
        if isinstance(column, ListColumn):
            lengths_at = self._put(np.diff(column.offsets).astype("<i4"))
        values = column.values if isinstance(column, ListColumn) else column
        if isinstance(values, FixedColumn):
            at, count = self._put(np.ascontiguousarray(values.values)), len(values.values)
            return [rows, at, count, lengths_at, nulls_at, null_count, _ABSENT, 0, _ABSENT]
        encoded = values.values.dictionary_encode()
        offsets, text = text_bytes(encoded.dictionary)
        if offsets[-1] > np.iinfo(np.int32).max:
            raise Unsuitable("the texts of one column take more than 2 GiB in a batch")
        at, count = self._put(encoded.indices.to_numpy()), len(encoded)
        ends_at, text_at = self._put(offsets[1:].astype("<i4")), self._put(text)
        return [rows, at, count, lengths_at, nulls_at, null_count, ends_at, len(encoded.dictionary), text_at]

    def _put(self, values: npt.NDArray[Any]) -> int:
        at = self.size_bytes
        self._file.write(values.data)
        self.size_bytes += values.nbytes
        return at
