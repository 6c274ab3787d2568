"""Splits a task's rows by partition through files, so that only one batch is in memory."""

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
