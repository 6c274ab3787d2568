"""Writes the GenericRow file that pinot-core's ``GenericRowFileReader`` reads, whole columns at a time.

The format, as ``GenericRowSerializer`` has it at 0.11.0 (there is no version number in it): per row the
fields in a
given order, INT 4, LONG 8, FLOAT 4, DOUBLE 8 bytes in the machine's byte order, STRING and BYTES an int32
length and
the bytes, a multi-value an int32 count and then its values, and, if nulls are included, an int32 count of
null fields
and their positions as int32. A second file has each row's offset as a *big-endian* long.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from controller_client.common.closing import Closing
from controller_client.errors import SetupError
from jvm_bridge.builder.planning import Unsuitable
from jvm_bridge.builder.stored import FixedColumn, ListColumn, StoredColumn, TextColumn

__all__ = ["MAX_BYTES", "RowFileFull", "RowFileWriter"]

MAX_BYTES = 2**31 - 1
"""What one ByteBuffer maps; beyond it Pinot maps in a way that newer JDKs do not allow."""

_NOTHING = pa.scalar(b"", pa.large_binary())


class RowFileFull(Unsuitable):
    """The file would be larger than what Pinot maps."""


class RowFileWriter(Closing):
    """Writes batches of columns as rows; a context manager.

    Args:
        offsets_path: The file of row offsets.
        data_path: The file of rows.
        with_nulls: Write which fields are null, as ``GenericRowFileReader(..., includeNullFields=True)``
            wants it.
    """

    def __init__(self, offsets_path: Path, data_path: Path, *, with_nulls: bool) -> None:
        if sys.byteorder != "little":
            raise SetupError("The arrow path needs a little-endian machine", remedy='use reader="pinot"')
        self.rows = 0
        self.size_bytes = 0
        self._with_nulls = with_nulls
        self._offsets = offsets_path.open("wb")
        self._data = data_path.open("wb")

    def close(self) -> None:
        """Close both files; a second call does nothing."""
        self._offsets.close()
        self._data.close()

    def write(self, columns: Sequence[StoredColumn], rows: int) -> None:
        """Write one batch.

        Args:
            columns: In the order of the reader's field specs, each of that many rows.
            rows: Rows in the batch.

        Raises:
            RowFileFull: The file would be larger than what Pinot maps; nothing of the batch was written.
        """
        if rows == 0:
            return
        offsets, data = _joined(_parts(columns, rows, self._with_nulls))
        if self.size_bytes + len(data) > MAX_BYTES:
            raise RowFileFull(f"the rows take more than {MAX_BYTES} bytes")
        self._offsets.write((offsets[:-1] + self.size_bytes).astype(">i8").data)
        self._data.write(data.data)
        self.size_bytes += len(data)
        self.rows += rows


def _parts(columns: Sequence[StoredColumn], rows: int, with_nulls: bool) -> list[Any]:
    """Return pieces (large_binary arrays) that joined row by row are the rows."""
    parts: list[Any] = []
    pending: list[npt.NDArray[Any]] = []

    def flush(*variable: Any) -> None:
        if pending:
            parts.append(_packed(pending, rows))
            pending.clear()
        parts.extend(variable)

    for column in columns:
        if isinstance(column, FixedColumn):
            pending.append(column.values)
        elif isinstance(column, TextColumn):
            pending.append(_lengths(column.values))
            flush(column.values)
        else:
            pending.append(np.diff(column.offsets).astype("<i4"))
            flush(_list_bytes(column))
    if with_nulls:
        counts, positions = _null_positions(columns, rows)
        pending.append(counts)
        flush(*([] if positions is None else [positions]))
    flush()
    return parts


def _packed(columns: list[npt.NDArray[Any]], rows: int) -> Any:
    record = np.empty(rows, dtype=[(f"f{number}", column.dtype) for number, column in enumerate(columns)])
    for number, column in enumerate(columns):
        record[f"f{number}"] = column
    offsets = np.arange(rows + 1, dtype=np.int64) * record.dtype.itemsize
    return _binary(offsets, record.view(np.uint8))


def _binary(offsets: npt.NDArray[np.int64], data: Any) -> Any:
    buffers = [None, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def _lengths(texts: Any) -> npt.NDArray[np.int32]:
    return np.diff(_text_buffers(texts)[0]).astype("<i4")


def _text_buffers(texts: Any) -> tuple[npt.NDArray[np.int64], Any]:
    _, offsets, data = texts.buffers()
    if offsets is None or len(texts) == 0:
        return np.zeros(len(texts) + 1, dtype=np.int64), np.zeros(0, dtype=np.uint8)
    taken = np.frombuffer(offsets, dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return taken, np.frombuffer(data or b"", dtype=np.uint8)


def _list_bytes(column: ListColumn) -> Any:
    if isinstance(column.values, FixedColumn):
        values = np.ascontiguousarray(column.values.values)
        return _binary(column.offsets * values.dtype.itemsize, values.view(np.uint8))
    texts = column.values.values
    prefixed = _join([_packed([_lengths(texts)], len(texts)), texts])
    starts, data = _text_buffers(prefixed)
    return _binary(starts[column.offsets], data)


def _null_positions(columns: Sequence[StoredColumn], rows: int) -> tuple[npt.NDArray[np.int32], Any | None]:
    nulls = {number: column.nulls for number, column in enumerate(columns) if column.nulls is not None}
    if not nulls:
        return np.zeros(rows, dtype="<i4"), None
    mask = np.stack(list(nulls.values()), axis=1)
    counts = mask.sum(axis=1)
    positions = np.asarray(list(nulls), dtype="<i4")[np.nonzero(mask)[1]]
    offsets = np.zeros(rows + 1, dtype=np.int64)
    np.cumsum(counts * 4, out=offsets[1:])
    return counts.astype("<i4"), _binary(offsets, positions.view(np.uint8))


def _join(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, _NOTHING)


def _joined(parts: list[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    offsets, data = _text_buffers(_join(parts))
    return offsets - offsets[0], data[offsets[0] : offsets[-1]]
