"""Failing tasks: their rows are added once or not at all, and nothing is left behind."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tests.faults.spark_connectors.place import assert_clean, state_of, sweep_much_later, watched
from tests.integration.spark_connectors.conftest import ID_COLUMN, IDS_ALONE, Connector, MakeTable, with_ids
from tests.support.tiers import FULL
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


def test_a_task_that_is_tried_again_adds_its_rows_once(spark: SparkSession, make_table: MakeTable) -> None:
    """Both attempts stage segments, and the commit gets only those of the second."""
    table = make_table(IDS_ALONE)
    table.write(failing(spark.range(0, 12_000, 1, 2), 1), "append", maxNumRecordsPerSegment="3000")
    assert table.query("count(*), sum(id)") == [state_of(range(12_000))]
    assert len(table.segments()) == 4
    assert_clean(table)


@FULL
def test_a_job_whose_task_fails_changes_nothing(
    spark: SparkSession, connector: Connector, make_table: MakeTable
) -> None:
    """The abort does not get what the failed attempts have staged.

    The job's other task may outlive the job: what it stages then belongs to a dead write.
    """
    table = make_table(IDS_ALONE)
    connector.write(table.options, "append", ID_COLUMN, with_ids([7]))
    before = table.segments()
    with watched(table, state_of(range(7, 8))), pytest.raises(PySparkException, match="the task is to fail"):
        table.write(failing(spark.range(0, 8_000, 1, 2), 2), "overwrite", maxNumRecordsPerSegment="3000")
    assert table.segments() == before

    def swept() -> bool:
        sweep_much_later(table)
        return table.staged() == []

    wait_for(swept, "what is staged to be deleted")
    assert_clean(table)
