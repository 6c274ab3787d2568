"""Splits a task's stream of record batches into the rows of consecutive segments."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

__all__ = ["cut"]


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
