"""The columns of a sealed segment, in its file, where Pinot's own mapping of that file sees what is written.

A raw column without compression is, big-endian, in ``v3/columns.psf`` where ``v3/index_map`` has it::

    8 bytes marker
    7 ints: version, chunks, rows per chunk, bytes per value, rows, compression (0: none), start of the rest
    the chunks' offsets, 4 bytes each, 8 since version 3
    8 bytes a row
"""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from controller_client.errors import DataError, UnsupportedError
from controller_client.upsert.columns import NIL, OFFSET, VALID_FROM, VALID_UNTIL
from server_hooks.upsert.events import EventColumns
from server_hooks.upsert.first_versions import Told, VersionsOfRows, write_first
from server_hooks.upsert.offset_runs import OffsetRuns

__all__ = ["SealedRows", "map_column"]

_MARKER_BYTES = 8
_HEAD = struct.Struct(">7i")
_VALUE_BYTES = 8
_CHUNK_OFFSET_BYTES = 4
_TELLS_COMPRESSION_SINCE, _LARGE_OFFSETS_SINCE = 2, 3
"""Versions of the format."""
_PLACE = re.compile(
    r"^(?P<column>.+)\.forward_index\.(?P<what>startOffset|size)\s*=\s*(?P<value>\d+)\s*$", re.MULTILINE
)
_PAGE_ROWS = 1_000_000


class SealedRows:
    """A sealed segment's rows; see :class:`~server_hooks.upsert.partition.Rows`.

    Args:
        name: The segment's.
        folder: Its index directory.
        count: How many rows it has; one without rows has no columns.
        told: Is told of what is written.

    Raises:
        DataError: It is no segment of an upsert table.
        OSError: A file cannot be read.
    """

    def __init__(self, name: str, folder: Path, count: int, told: Told) -> None:
        self.name = name
        self.folder = folder
        self.is_dirty = False
        """Whether something was written since :meth:`flush`."""
        self._told = told
        self._runs = OffsetRuns()
        self._from: Any = np.empty(0, ">i8")
        self._until: Any = self._from
        if not count:
            return
        self._from = map_column(folder, VALID_FROM, mode="r+")
        self._until = map_column(folder, VALID_UNTIL, mode="r+")
        offsets = map_column(folder, OFFSET, mode="r")
        for start in range(0, len(offsets), _PAGE_ROWS):
            self._runs.extend(offsets[start : start + _PAGE_ROWS].astype(np.int64))

    @property
    def first(self) -> int:
        """Offset of the first row; -1 without rows."""
        return self._runs.first

    @property
    def last(self) -> int:
        """Offset of the last row; -1 without rows."""
        return self._runs.last

    def apply(self, events: EventColumns) -> NDArray[np.bool_]:
        """Write events; returns which of them are about rows of this segment."""
        rows = self._runs.rows(events.offsets)
        found = rows >= 0
        chosen = (found & ~events.deleted, found & events.deleted)
        self._write([(rows[each], events.versions[each]) for each in chosen])
        return found

    def take_over(
        self, offsets: NDArray[np.int64], froms: NDArray[np.int64], untils: NDArray[np.int64]
    ) -> None:
        """Write what another copy of the segment has; rows that only one of the two has stay as they are."""
        rows = self._runs.rows(offsets)
        chosen = [(rows >= 0) & (values != NIL) for values in (froms, untils)]
        self._write(
            [(rows[each], values[each]) for each, values in zip(chosen, (froms, untils), strict=True)]
        )

    def values(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return all rows' offsets, inserting and deleting versions."""
        return self._runs.offsets(), self._from.astype(np.int64), self._until.astype(np.int64)

    def flush(self) -> None:
        """Have the disk hold what was written; when this fails it is still dirty."""
        if not self._runs.count:
            return
        self.is_dirty = False
        try:
            self._from.flush()
            self._until.flush()
        except OSError:
            self.is_dirty = True
            raise

    def end(self) -> None:
        """Nothing more is written."""
        self._told.end()

    def _write(self, versions: list[VersionsOfRows]) -> None:
        changes = write_first((self._from, self._until), versions)
        if changes is not None:
            self.is_dirty = True
            self._told.wrote(changes)


def map_column(folder: Path, column: str, *, mode: str) -> Any:
    """Map a raw LONG column's values.

    Args:
        folder: The segment's index directory.
        column: Its name.
        mode: ``r``, or ``r+`` to write into the file.

    Raises:
        DataError: There is no such column, or it is stored in another way.
        OSError: A file cannot be read.
    """
    index_map, file = folder / "v3" / "index_map", folder / "v3" / "columns.psf"
    # Pinot escapes nothing but what Java's properties want escaped.
    places = {
        (found["column"].replace("\\", ""), found["what"]): int(found["value"])
        for found in _PLACE.finditer(index_map.read_text())
    }
    if (column, "startOffset") not in places:
        raise DataError(
            f"the segment has no plain column {column}",
            expected="a segment of an upsert table in format v3",
            where=str(index_map),
            remedy="check that the table was created with 'pinotctl upsert create'",
        )
    start = places[column, "startOffset"] + _MARKER_BYTES
    with file.open("rb") as stream:
        stream.seek(start)
        head = stream.read(_HEAD.size)
    version, chunks, _per_chunk, width, rows, compression, table = _HEAD.unpack(head)
    data = table + chunks * (
        _CHUNK_OFFSET_BYTES if version < _LARGE_OFFSETS_SINCE else 2 * _CHUNK_OFFSET_BYTES
    )
    is_whole = data + rows * _VALUE_BYTES <= places[column, "size"] - _MARKER_BYTES
    if version < _TELLS_COMPRESSION_SINCE or width != _VALUE_BYTES or compression or not is_whole:
        raise UnsupportedError(
            f"column {column} is stored in another way: version {version}, {width} bytes a value, "
            f"compression {compression}, {rows} rows from {data}",
            expected="LONG, raw, PASS_THROUGH",
            where=str(file),
        )
    return np.memmap(file, dtype=">i8", mode=mode, offset=start + data, shape=(rows,))  # type: ignore[call-overload]
