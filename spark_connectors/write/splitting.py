"""Splits a task's rows by partition, by way of files: memory holds one batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["split"]


def split(
    batches: Iterator[pa.RecordBatch],
    ids_of: Callable[[pa.RecordBatch], npt.NDArray[np.int32]],
    folder: Path,
) -> Iterator[tuple[int, Iterator[pa.RecordBatch]]]:
    """Yield each partition that occurs, with its batches; take one partition's wholly before the next.

    The rows of a partition keep their order.

    Args:
        batches: All of one schema.
        ids_of: Batch -> the partition of each row; raises to refuse rows, before anything is yielded.
        folder: For the rows; about as large as they are in memory. A partition's file goes when it was read.
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
