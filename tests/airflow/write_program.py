"""Writes a row to a table as a Spark job would, but without Spark, with the methods that Spark calls.

Reads the options of the write from stdin. It is a separate program since segments are built in a JVM.
"""

from __future__ import annotations

import json
import sys

import pyarrow as pa
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from spark_connectors.data_source import PinotDataSource

_FRAME = StructType(
    [StructField("id", IntegerType()), StructField("at", LongType()), StructField("day", StringType())]
)


def main() -> None:
    writer = PinotDataSource(json.load(sys.stdin)).writer(_FRAME, overwrite=False)
    rows = pa.RecordBatch.from_pydict(
        {
            "id": pa.array([3], pa.int32()),
            "at": pa.array([1_700_000_000], pa.int64()),
            "day": pa.array(["2023-11-14"], pa.string()),
        }
    )
    writer.commit([writer.write(iter([rows]))])
    json.dump("written", sys.stdout)


if __name__ == "__main__":
    main()
