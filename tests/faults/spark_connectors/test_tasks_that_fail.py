"""Failing tasks: their rows are added once or not at all, and nothing is left behind."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tests.faults.spark_connectors.place import SCHEMA, assert_clean, state_of, sweep_much_later, watched
from tests.integration.spark_connectors.conftest import MakeTable
from tests.support.wait import wait_for

pytestmark = pytest.mark.cluster


def failing(frame: DataFrame, attempts: int) -> DataFrame:
    """Let the first attempts at the second task fail after staging most of its rows."""

    def fail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        yield from batches
        if context.partitionId() == 1 and context.attemptNumber() < attempts:
            raise RuntimeError("the task is to fail")

    return frame.mapInArrow(fail, frame.schema)


def test_tasks_that_fail(spark: SparkSession, make_table: MakeTable) -> None:
    """Both attempts at a task stage segments, and the commit gets only those of the second.

    If a task finally fails, the job is aborted; the abort does not get what the failed attempts have staged.
    The job's other task may outlive the job: what it stages then belongs to a dead write.
    """
    table = make_table(SCHEMA)
    frame = spark.range(0, 12_000, 1, 2)
    small = {"maxNumRecordsPerSegment": "3000"}
    table.write(failing(frame, 1), "append", **small)
    whole = state_of(range(12_000))
    assert table.query("count(*), sum(id)") == [whole]
    assert len(table.segments()) == 4
    assert_clean(table)

    before = table.segments()
    with watched(table, whole), pytest.raises(PySparkException, match="the task is to fail"):
        table.write(failing(spark.range(0, 8_000, 1, 2), 2), "overwrite", **small)
    assert table.segments() == before

    def swept() -> bool:
        sweep_much_later(table)
        return table.staged() == []

    wait_for(swept, "what is staged to be deleted")
    assert_clean(table)
