"""The task of a write, in a Python worker of an executor: builds record batches into staged segments."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from controller_client.clock import Clock, SystemClock
from controller_client.common.folders import scratch_folder
from controller_client.publishing.staged_segment import StagedSegment, stage_segment
from jvm_bridge.builder import SegmentBuilder
from jvm_bridge.jvm import start_jvm
from spark_connectors.types import arrow_schema, cast_batch
from spark_connectors.work_dir import work_dir
from spark_connectors.write.partitioning import PartitionIds
from spark_connectors.write.plan import WritePlan
from spark_connectors.write.scope import PartitionScope, TimeScope
from spark_connectors.write.splitting import cut, split
from spark_connectors.write.staged import StagedByTask

__all__ = ["stage", "stage_empty_segment"]


def stage(
    plan: WritePlan, batches: Iterator[pa.RecordBatch], partition: int, clock: Clock | None = None
) -> StagedByTask:
    """Build segments from a task's rows and upload them to the staging folder.

    Two attempts at the same partition write files with different names; only those of the attempt whose
    message reaches the commit are published. If the write was already committed, no rows are read.

    Args:
        plan: The write.
        batches: The task's rows.
        partition: Number of the task's Spark partition.
        clock: The clock.

    Raises:
        DataError: A value cannot be stored; the error names the column.
    """
    if plan.committed_before:
        return StagedByTask(partition, (), 0.0, 0.0)
    casts, options = plan.casts(), plan.options
    sort_by = _sorted_column(plan)
    fitting: Iterator[pa.RecordBatch] = (cast_batch(each, casts) for each in batches if each.num_rows)
    first = next(fitting, None)
    if first is None:  # without rows, no JVM is needed
        return StagedByTask(partition, (), 0.0, 0.0)
    fitting = chain([first], fitting)
    with _stager(plan, partition, clock or SystemClock()) as stager:
        for part in _parts(plan, fitting, stager.folder):
            for rows in cut(part, max_rows=options.segment_rows, max_bytes=options.segment_bytes):
                stager.add(pa.Table.from_batches(rows).sort_by(sort_by) if sort_by else rows)
        return stager.message()


def _parts(
    plan: WritePlan, batches: Iterator[pa.RecordBatch], folder: Path
) -> Iterator[Iterator[pa.RecordBatch]]:
    """Yield sets of rows that may share segments; rows outside the scope are rejected."""
    scope, partitioning = plan.scope(), plan.partitioning()
    if isinstance(scope, TimeScope):
        batches = _checked(batches, scope)
    if partitioning is None:
        yield batches
        return
    partition_of = PartitionIds(partitioning, plan.schema_document)
    column = partitioning.column

    def ids_of(batch: pa.RecordBatch) -> npt.NDArray[np.int32]:
        ids = partition_of(batch.column(column))
        if isinstance(scope, PartitionScope):
            for partition in np.unique(ids).tolist():
                scope.check_partition(partition)
        return ids

    for _, rows in split(batches, ids_of, folder):
        yield rows


def _checked(batches: Iterator[pa.RecordBatch], scope: TimeScope) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        scope.check_rows(batch)
        yield batch


def stage_empty_segment(plan: WritePlan, clock: Clock) -> StagedByTask:
    """Stage an empty segment, since Pinot replaces segments with at least one."""
    schema = arrow_schema(plan.frame)
    columns = [pa.array([], field.type) for field in schema]
    rows = cast_batch(pa.RecordBatch.from_arrays(columns, schema=schema), plan.casts())
    with _stager(plan, 0, clock) as stager:
        stager.add(pa.Table.from_batches([rows]))
        return stager.message()


class _Stager:
    """Builds segments in a folder one after the other, and uploads each."""

    def __init__(self, plan: WritePlan, partition: int, folder: Path, clock: Clock) -> None:
        self.folder = folder
        self._plan = plan
        self._partition = partition
        self._clock = clock
        self._attempt = uuid.uuid4().hex[:8]
        self._builder = SegmentBuilder(plan.config_document, plan.schema_document, folder)
        self._store = plan.staging_store
        self._staged: list[StagedSegment] = []
        self._build_s = self._upload_s = 0.0

    def add(self, rows: pa.Table | Iterator[pa.RecordBatch]) -> None:
        plan, started = self._plan, self._clock.monotonic()
        name = plan.segment_name(self._partition, len(self._staged))
        built = self._builder.from_arrow(rows, name, custom_metadata=plan.custom_metadata())
        built_at = self._clock.monotonic()
        stem_uri = f"{plan.staging_uri}/{name}.{self._attempt}"
        segment = stage_segment(self._store, built, stem_uri, built_at - started)
        built.tar_path.unlink()
        built.metadata_tar_path.unlink()
        self._staged.append(segment)
        self._build_s += built_at - started
        self._upload_s += self._clock.monotonic() - built_at

    def message(self) -> StagedByTask:
        return StagedByTask(self._partition, tuple(self._staged), self._build_s, self._upload_s)


@contextmanager
def _stager(plan: WritePlan, partition: int, clock: Clock) -> Iterator[_Stager]:
    start_jvm(is_short_lived=True)
    with scratch_folder("pinot-write-", work_dir(plan.options.work_dir)) as folder:
        yield _Stager(plan, partition, folder, clock)


def _sorted_column(plan: WritePlan) -> str | None:
    """Return the column by which segments are sorted, which Pinot's builder does not do itself."""
    columns = plan.table_config.table_index_config.get("sortedColumn") or []
    return columns[0] if columns and columns[0] in plan.frame.fieldNames() else None
