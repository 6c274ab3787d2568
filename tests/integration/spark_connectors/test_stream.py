"""A stream of files written with ``writeStream``."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from tests.integration.spark_connectors.conftest import IDS_ALONE, MakeTable, SparkTable
from tests.support.faulty_http import FaultyHttp
from tests.support.tiers import FULL


class Stream:
    """A query over the files of a folder, one file per epoch; each run continues from the checkpoint."""

    def __init__(self, spark: SparkSession, table: SparkTable, folder: Path) -> None:
        self._spark = spark
        self.table = table
        self.source, self.checkpoint = folder / "source", folder / "checkpoint"
        self.source.mkdir()

    def put(self, ids: Iterable[int]) -> None:
        text = "".join(f"{json.dumps({'id': each})}\n" for each in ids)
        (self.source / f"{uuid.uuid4().hex}.json").write_text(text)

    def run(self, **options: str) -> None:
        rows = (
            self._spark.readStream.schema("id long").option("maxFilesPerTrigger", "1").json(str(self.source))
        )
        query = (
            rows.where("id >= 0")
            .writeStream.format("pinot")
            .options(**{**self.table.options, **options})
            .option("checkpointLocation", str(self.checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination()
        finally:
            query.stop()

    def forget_last_commit(self) -> None:
        """Simulate that Spark was killed after the sink's commit and before recording its own."""
        last = max((self.checkpoint / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
        last.unlink()
        last.with_name(f".{last.name}.crc").unlink()


@pytest.fixture
def stream(spark: SparkSession, make_table: MakeTable, tmp_path: Path) -> Stream:
    return Stream(spark, make_table(IDS_ALONE), tmp_path)


def test_each_epoch_is_committed_once(stream: Stream) -> None:
    table = stream.table
    stream.put(range(10))
    stream.run()
    assert table.query("count(*), sum(id)") == [(10, 45.0)]
    stream.forget_last_commit()
    stream.put(range(10, 30))
    stream.run()
    # The first epoch was written again.
    assert table.query("count(*), sum(id)") == [(30, 435.0)]
    assert len(table.segments()) == 2


@FULL
def test_epochs_without_rows_and_epochs_that_fail(stream: Stream) -> None:
    table = stream.table
    stream.put([-1, -2])
    stream.put(range(10))
    with FaultyHttp(table.pinot.controller_url) as proxy:
        proxy.answer(500, "POST", f"segments/{table.name}/endReplaceSegments")
        with pytest.raises(StreamingQueryException):
            stream.run(controller=proxy.url)
    assert table.segments() == []
    stream.run()
    assert table.query("count(*), sum(id)") == [(10, 45.0)]
    assert len(table.segments()) == 1, "none for the epoch without rows"

    stream.put([40])
    with pytest.raises(StreamingQueryException, match="'writeId' cannot be set for streams"):
        stream.run(writeId="mine")


@FULL
def test_other_output_modes_are_refused(spark: SparkSession, stream: Stream) -> None:
    stream.put([1])
    counts = spark.readStream.schema("id long").json(str(stream.source)).groupBy("id").count()
    complete = counts.select("id").writeStream.outputMode("complete").format("pinot")
    options = {**stream.table.options, "checkpointLocation": str(stream.checkpoint)}
    with pytest.raises(StreamingQueryException, match="streams can only be written in output mode append"):
        complete.options(**options).start().awaitTermination()
