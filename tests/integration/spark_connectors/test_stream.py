"""A stream of files written with ``writeStream``."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from tests.integration.spark_connectors.conftest import MakeTable, SparkTable
from tests.support.cluster import PinotCluster
from tests.support.faulty_http import FaultyHttp

SCHEMA = {"dimensionFieldSpecs": [{"name": "id", "dataType": "LONG"}]}


class Stream:
    """A query over the files of a folder, one file per epoch; each run continues from the checkpoint."""

    def __init__(self, spark: SparkSession, table: SparkTable, folder: Path) -> None:
        self._spark = spark
        self._table = table
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
            .options(**{**self._table.options, **options})
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


def test_each_epoch_is_committed_once(
    spark: SparkSession, make_table: MakeTable, pinot: PinotCluster, tmp_path: Path
) -> None:
    table = make_table(SCHEMA)
    stream = Stream(spark, table, tmp_path)
    stream.put(range(10))
    stream.put(range(10, 30))
    stream.run()
    assert table.query("count(*), sum(id)") == [(30, 435.0)]
    assert len(table.segments()) == 2

    stream.forget_last_commit()
    stream.put([-1, -2])
    stream.run()
    # The epoch was written again, and the one after it has no rows.
    assert table.query("count(*), sum(id)") == [(30, 435.0)]
    assert len(table.segments()) == 2

    stream.put(range(30, 40))
    with FaultyHttp(pinot.controller_url) as proxy:
        proxy.answer(500, "POST", f"segments/{table.name}/endReplaceSegments")
        with pytest.raises(StreamingQueryException):
            stream.run(controller=proxy.url)
    assert table.query("count(*)") == [(30,)]
    stream.run()
    assert table.query("count(*), sum(id)") == [(40, 780.0)]

    stream.put([40])
    with pytest.raises(StreamingQueryException, match="'writeId' cannot be set for streams"):
        stream.run(writeId="mine")
    counts = spark.readStream.schema("id long").json(str(stream.source)).groupBy("id").count()
    complete = counts.select("id").writeStream.outputMode("complete").format("pinot").options(**table.options)
    with pytest.raises(StreamingQueryException, match="streams can only be written in output mode append"):
        complete.option("checkpointLocation", str(tmp_path / "complete")).start().awaitTermination()
