"""Splits a task's rows into consecutive segments, and by partition through files, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["cut", "split"]


def cut(
    batches: Iterator[pa.RecordBatch], *, max_rows: int, max_bytes: int
) -> Iterator[Iterator[pa.RecordBatch]]:
    """Yield the batches of each segment; consume one segment completely before the next.

    Only the batch at a boundary is kept in memory. A segment ends exactly at ``max_rows``, or with the batch
    that reaches ``max_bytes``. Empty batches are dropped, so no segment is empty.
    """
    rest: list[pa.RecordBatch] = []

    def following() -> pa.RecordBatch | None:
        return rest.pop() if rest else next((batch for batch in batches if batch.num_rows), None)

    def segment(first: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        rows, size = 0, 0
        batch: pa.RecordBatch | None = first
        while batch is not None:
            free = max_rows - rows
            part = batch.slice(0, free)
            if batch.num_rows > free:
                rest.append(batch.slice(free))
            rows += part.num_rows
            size += part.nbytes
            yield part
            if rows >= max_rows or size >= max_bytes:
                return
            batch = following()

    while (first := following()) is not None:
        yield segment(first)


def split(
    batches: Iterator[pa.RecordBatch],
    ids_of: Callable[[pa.RecordBatch], npt.NDArray[np.int32]],
    folder: Path,
) -> Iterator[tuple[int, Iterator[pa.RecordBatch]]]:
    """Yield each occurring partition with its batches; consume one partition completely before the next.

    The rows of a partition keep their order.

    Args:
        batches: Batches with the same schema.
        ids_of: Returns the partition of each row of a batch; may reject rows by raising an error, before
            anything is yielded.
        folder: Stores the rows, at about their size in memory. A partition's file is deleted after reading.
    """
    paths: dict[int, Path] = {}
    with ExitStack() as stack:
        writers: dict[int, Any] = {}
        for batch in batches:
            ids = ids_of(batch)
            for partition in np.unique(ids).tolist():
                if partition not in writers:
                    paths[partition] = folder / f"partition-{partition}.arrow"
                    sink = stack.enter_context(pa.OSFile(str(paths[partition]), "wb"))
                    writers[partition] = stack.enter_context(pa.ipc.new_stream(sink, batch.schema))
                own = ids == partition
                writers[partition].write_batch(batch if own.all() else batch.filter(pa.array(own)))
    for partition in sorted(paths):
        yield partition, _read(paths[partition])


def _read(path: Path) -> Iterator[pa.RecordBatch]:
    with pa.OSFile(str(path)) as source, pa.ipc.open_stream(source) as stream:
        yield from stream
    path.unlink()
