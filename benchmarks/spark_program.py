"""One Spark application of the benchmark, run as a process: JSON parameters on stdin, seconds on stdout."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from pyspark.sql import SparkSession


def main() -> None:
    """Write a Parquet folder to each of the tables, or read each of them."""
    request: dict[str, Any] = json.load(sys.stdin)
    cores = request["cores"]
    spark = (
        SparkSession.builder.master(f"local[{cores}]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "2g")
        # One task per file, like the other system.
        .config("spark.sql.files.maxPartitionBytes", "1g")
        .config("spark.sql.files.openCostInBytes", "1g")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "65536")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    seconds = []
    for table in request["tables"]:
        options = {"controller": request["controller"], "table": table, **request.get("options", {})}
        started = time.monotonic()
        if request["what"] == "write":
            frame = spark.read.parquet(request["parquet"])
            frame.write.format("pinot").mode("append").options(**options).save()
        else:
            frame = spark.read.format("pinot").options(**options).load()
            frame.write.format("noop").mode("overwrite").save()
        seconds.append(time.monotonic() - started)
    spark.stop()
    print(json.dumps(seconds))


if __name__ == "__main__":
    main()
