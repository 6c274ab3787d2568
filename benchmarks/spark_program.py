"""One Spark application of the benchmark, run as a process: JSON parameters on stdin, seconds on stdout."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from spark_connectors.session import start_spark


def main() -> None:
    """Write a Parquet folder to each of the tables, or read each of them."""
    request: dict[str, Any] = json.load(sys.stdin)
    spark = start_spark(
        "benchmark",
        {
            "spark.master": f"local[{request['cores']}]",
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "2g",
            # One task per file, like the other system.
            "spark.sql.files.maxPartitionBytes": "1g",
            "spark.sql.files.openCostInBytes": "1g",
            "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        },
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
