"""Writes a DataFrame and runs FileIngestionTask on a Spark cluster; run by spark-submit.

Arguments: controller, ZooKeeper, cluster name, the table for the DataFrame, the one with the task.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import SparkSession

from controller_client.client import ControllerClient
from controller_client.clock import SystemClock
from controller_client.config import ControllerConfig
from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.engine.minion import EngineContext
from minion_tasks.file_ingestion.run.trigger import RunTools, run_task
from spark_connectors.file_ingestion import open_engine


def place(_number: int) -> tuple[str, str, str]:
    """Return where a Spark task finds this project, its executor's folder, and the one for local files."""
    import spark_connectors
    from spark_connectors.work_dir import work_dir

    return spark_connectors.__file__, str(Path.cwd()), str(work_dir())


def first_attempt_hangs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield all rows; the first attempt at one task never ends, so that Spark must start a second one."""
    context = TaskContext.get()
    assert context is not None
    yield from batches
    if context.partitionId() == 1 and context.attemptNumber() == 0:
        threading.Event().wait()


def main() -> None:
    controller, zookeeper, cluster, table, files_table = sys.argv[1:]
    spark = SparkSession.builder.getOrCreate()
    places = sorted(set(spark.sparkContext.parallelize(range(20), 20).map(place).collect()))
    frame = spark.range(0, 1000, 1, 4).selectExpr("id", "concat('n', id % 7) name", "id * 0.5D x")
    (
        frame.mapInArrow(first_attempt_hangs, frame.schema)
        .write.format("pinot")
        .mode("append")
        .option("controller", controller)
        .option("table", table)
        # The task stages segments before it hangs.
        .option("maxNumRecordsPerSegment", "100")
        .save()
    )
    with (
        ControllerClient(ControllerConfig(controller)) as client,
        PropertyStore(zookeeper, cluster) as store,
    ):
        clock = SystemClock()
        engine = open_engine(EngineContext(client, store, clock))
        report = run_task(RunTools(client, store, engine, clock), files_table)
    result = {"python": sys.executable, "places": places, "files": report.files, "outcome": report.outcome}
    print(json.dumps(result))  # noqa: T201  # read by the test
    spark.stop()


if __name__ == "__main__":
    main()
