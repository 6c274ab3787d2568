"""Spark's stateful operator over buckets of keys; runs in the Python workers of Spark's tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues

from key_coordinator.entries import Entries
from spark_connectors.upsert.bucket_state import BucketState, EntriesCache, advance

__all__ = ["COUNTS", "NO_BUCKET", "RESULT_SCHEMA", "BucketProcessor"]

NO_BUCKET = -1
"""The bucket of records without a key, which are only counted."""

COUNTS = -1
"""Used instead of a partition in the row with a bucket's counts."""

RESULT_SCHEMA = "partition int, inserted binary, deleted binary, rows long, unread long, growth long"
"""``inserted``, ``deleted``: offsets of one partition, 8 bytes each, little-endian. The row of counts has
``rows``, ``unread`` and ``growth``: the number of records, of records without a key, and of added keys."""

_STATE_SCHEMA = "value binary"
_KEYS_IN_MEMORY = 10_000_000
"""Per Python worker, of which Spark has one for each concurrent task: 450 MB."""

_cache = EntriesCache(_KEYS_IN_MEMORY)


class BucketProcessor(StatefulProcessor):
    """Resolves the records of a batch, bucket by bucket.

    Args:
        floors: See :func:`spark_connectors.upsert.bucket_state.advance`.
    """

    def __init__(self, floors: Sequence[int]) -> None:
        self._floors = tuple(floors)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Initialize the state; called by Spark at the start of each task, in its Python worker."""
        self._state = BucketState(
            handle.getValueState("head", _STATE_SCHEMA),
            handle.getListState("newer", _STATE_SCHEMA),
            handle.getValueState("base", _STATE_SCHEMA),
        )

    def handleInputRows(  # noqa: N802  # Spark's name
        self,
        key: Any,
        rows: Iterator[Any],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Resolve a bucket's records of a batch; called by Spark in the task's Python worker."""
        frames: list[pd.DataFrame] = list(rows)
        if key[0] == NO_BUCKET:
            unread = sum(len(frame) for frame in frames)
            yield _result([(COUNTS, b"", b"", unread, unread, 0)])
            return
        records = _records(pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0])
        done, growth = advance(self._state, _cache, records, self._floors)
        partitions = np.unique(np.concatenate([done.inserted.partition, done.deleted.partition]))
        yield _result(
            [
                (
                    int(partition),
                    done.inserted.offset[done.inserted.partition == partition].tobytes(),
                    done.deleted.offset[done.deleted.partition == partition].tobytes(),
                    0,
                    0,
                    0,
                )
                for partition in partitions
            ]
            + [(COUNTS, b"", b"", len(records), 0, growth)]
        )


def _records(frame: pd.DataFrame) -> Entries:
    return Entries(
        frame["high"].to_numpy(np.int64).view(np.uint64),
        frame["low"].to_numpy(np.int64).view(np.uint64),
        frame["partition"].to_numpy(np.int32),
        frame["offset"].to_numpy(np.int64),
        frame["order"].to_numpy(np.int64),
        frame["tombstone"].to_numpy(bool),
    )


def _result(rows: list[tuple[int, bytes, bytes, int, int, int]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["partition", "inserted", "deleted", "rows", "unread", "growth"])
