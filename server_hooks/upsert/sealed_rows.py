"""The columns of a sealed segment in its file; Pinot's own mapping of that file sees what is written.

A raw column without compression is stored in ``v3/columns.psf``, big-endian, at its offset in
``v3/index_map``::

    8 bytes marker
    7 ints: version, chunks, rows per chunk, bytes per value, rows, compression (0: none), start of the rest
    the chunks' offsets, 4 bytes each, 8 since version 3
    8 bytes per row
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from controller_client.errors import DataError, UnsupportedError
from controller_client.upsert.columns import OFFSET, VALID_FROM, VALID_UNTIL
from server_hooks.upsert.first_versions import VersionedRows, VersionsListener, VersionsOfRows, write_first

__all__ = ["SealedRows", "map_column"]

_MARKER_BYTES = 8
_HEAD = struct.Struct(">7i")
_VALUE_BYTES = 8
_CHUNK_OFFSET_BYTES = 4
_COMPRESSION_FIELD_SINCE, _LARGE_OFFSETS_SINCE = 2, 3
"""Versions of the format."""
_LOCATION = re.compile(
    r"^(?P<column>.+)\.forward_index\.(?P<what>startOffset|size)\s*=\s*(?P<value>[0-9]{1,19})\s*$",
    re.MULTILINE,
)
_PAGE_ROWS = 1_000_000


class SealedRows(VersionedRows):
    """The rows of a sealed segment; see :class:`~server_hooks.upsert.partition.Rows`.

    Args:
        name: Name of the segment.
        folder: Its index directory.
        count: Number of its rows; a segment without rows has no columns.
        listener: Receives the changes that are written.

    Raises:
        DataError: It is not a segment of an upsert table.
        OSError: A file cannot be read.
    """

    def __init__(self, name: str, folder: Path, count: int, listener: VersionsListener) -> None:
        super().__init__()
        self.name = name
        self.folder = folder
        self.is_dirty = False
        """Whether something was written since :meth:`flush`."""
        self._listener = listener
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
        """Offset of the first row; -1 if there are no rows."""
        return self._runs.first

    def values(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return all rows' offsets, inserting and deleting versions."""
        return self._runs.offsets(), self._from.astype(np.int64), self._until.astype(np.int64)

    def flush(self) -> None:
        """Flush the changes to the disk; if that fails, the segment stays dirty."""
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
        """Stop writing."""
        self._listener.end()

    def _write(self, versions: Sequence[VersionsOfRows]) -> None:
        changes = write_first((self._from, self._until), versions)
        if changes is not None:
            self.is_dirty = True
            self._listener.wrote(changes)


def map_column(folder: Path, column: str, *, mode: str) -> Any:
    """Map a raw LONG column's values.

    Args:
        folder: The segment's index directory.
        column: Its name.
        mode: ``r``, or ``r+`` to write into the file.

    Raises:
        DataError: There is no such column.
        UnsupportedError: The column is stored in another format.
        OSError: A file cannot be read.
    """
    index_map, file = folder / "v3" / "index_map", folder / "v3" / "columns.psf"
    # Pinot escapes only the characters that Java properties files require.
    locations = {
        (found["column"].replace("\\", ""), found["what"]): int(found["value"])
        for found in _LOCATION.finditer(index_map.read_text())
    }
    if (column, "startOffset") not in locations:
        raise DataError(
            f"the segment has no raw column {column}",
            expected="a segment of an upsert table, in format v3",
            where=str(index_map),
            remedy="check that the table was created with 'pinotctl upsert create'",
        )
    start = locations[column, "startOffset"] + _MARKER_BYTES
    with file.open("rb") as stream:
        stream.seek(start)
        head = stream.read(_HEAD.size)
    version, chunks, _per_chunk, width, rows, compression, table = _HEAD.unpack(head)
    data = table + chunks * (
        _CHUNK_OFFSET_BYTES if version < _LARGE_OFFSETS_SINCE else 2 * _CHUNK_OFFSET_BYTES
    )
    is_whole = data + rows * _VALUE_BYTES <= locations[column, "size"] - _MARKER_BYTES
    if version < _COMPRESSION_FIELD_SINCE or width != _VALUE_BYTES or compression or not is_whole:
        raise UnsupportedError(
            f"column {column} is stored in an unsupported format: version {version}, {width} bytes per "
            f"value, compression {compression}, {rows} rows at byte {data}",
            expected="a raw LONG column with PASS_THROUGH compression",
            where=str(file),
        )
    return np.memmap(file, dtype=">i8", mode=mode, offset=start + data, shape=(rows,))  # type: ignore[call-overload]
