"""JSON messages of the input topic of an upsert table, and message keys of tombstones."""

from __future__ import annotations

import numpy as np

from key_coordinator.reading.columns import CheckedColumn, KeyColumn, TimeColumn
from key_coordinator.reading.recipe import Recipe
from key_coordinator.reading.records import Messages, RecordReader
from key_coordinator.reading.values import ALWAYS_STORED

_KEY = (
    KeyColumn("k", "STRING"),
    KeyColumn("n", "INT"),
    KeyColumn("b", "BOOLEAN"),
    KeyColumn("t", "TIMESTAMP"),
)
_CHECKED = tuple(
    CheckedColumn(f"{kind[:3].lower()}{single:d}", kind, single=single)
    for kind in ALWAYS_STORED
    for single in (True, False)
)
_READER = RecordReader(Recipe(_KEY, TimeColumn("ts", "LONG"), _CHECKED))


def parse(data: bytes) -> None:
    """Read a message and a tombstone, without the boundary that counts any fault as an unread message."""
    places = np.zeros(2, np.int32), np.arange(2, dtype=np.int64)
    read = _READER._read(Messages(*places, [data, None], [1, 2], [None, data]))
    assert read.refused + len(read.records) == 2
