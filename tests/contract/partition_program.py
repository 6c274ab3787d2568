"""Splits rows by partition, builds a segment from each part and prints which partitions Pinot finds in it.

Argument: a working folder. Prints a line of JSON for each case: the column's type, the function, and for each
part the partition assigned by the split, the partitions that Pinot found, and the rows.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jpype
import pyarrow as pa

from controller_client.models import Schema, TableConfig
from controller_client.segment_tar import unpack_tar
from jvm_bridge.builder import SegmentBuilder
from jvm_bridge.jvm import start_jvm
from spark_connectors.write.partitioning import PartitionIds, Partitioning
from spark_connectors.write.splitting import split
from tests.contract.tables import schema_of, table_config

COUNT = 5
BEGIN = datetime(1969, 12, 31, 23, 59, tzinfo=UTC)
COLUMNS: dict[str, Any] = {
    "INT": pa.array([None, -(2**31), 2**31 - 1, *range(-20, 60)], pa.int32()),
    "LONG": pa.array([None, -(2**63), 2**63 - 1, *range(-20, 60)], pa.int64()),
    "STRING": pa.array(["", "null", None, "ü🙂", "x" * 600, "a\0b", *map(str, range(60))], pa.string()),
    "BOOLEAN": pa.array([True, False, None, True]),
    "TIMESTAMP": pa.array(
        [None, *(BEGIN + timedelta(seconds=each, microseconds=1) for each in range(0, 600, 7))],
        pa.timestamp("us", "UTC"),
    ),
}
FUNCTIONS: dict[str, dict[str, str]] = {
    "Murmur": {},
    "Modulo": {},
    "HashCode": {},
    "ByteArray": {},
    "BoundedColumnValue": {"columnValues": "1|2|ü🙂|NULL", "columnValuesDelimiter": "|"},
}


def parts(folder: Path, data_type: str, function: str) -> list[dict[str, Any]]:
    partitions = {"c": {"functionName": function, "numPartitions": COUNT}}
    if FUNCTIONS[function]:
        partitions["c"]["functionConfig"] = FUNCTIONS[function]
    config = table_config(indexing={"segmentPartitionConfig": {"columnPartitionMap": partitions}})
    schema = schema_of({"c": data_type})
    partitioning = Partitioning.of(TableConfig.from_json(config), Schema.from_json(schema))
    assert partitioning is not None
    partition_of = PartitionIds(partitioning, schema)
    batch = pa.RecordBatch.from_arrays([COLUMNS[data_type]], names=["c"])
    found = []
    for partition, batches in split(iter([batch]), lambda each: partition_of(each.column("c")), folder):
        built = SegmentBuilder(config, schema, folder).from_arrow(
            batches, f"{data_type}_{function}_{partition}"
        )
        segment = unpack_tar(built.tar_path, folder, built.name)
        metadata = jpype.JClass("org.apache.pinot.segment.spi.index.metadata.SegmentMetadataImpl")(
            jpype.JClass("java.io.File")(str(segment))
        )
        in_segment = [int(str(each)) for each in metadata.getColumnMetadataFor("c").getPartitions()]
        found.append({"partition": partition, "in_segment": in_segment, "rows": built.rows})
    return found


def main() -> None:
    folder = Path(sys.argv[1])
    start_jvm(max_heap_mb=256)
    for data_type in COLUMNS:
        for function in FUNCTIONS:
            if function != "Modulo" or data_type != "STRING":
                case = {"type": data_type, "function": function, "given": len(COLUMNS[data_type])}
                print(json.dumps({**case, "parts": parts(folder, data_type, function)}))  # noqa: T201


if __name__ == "__main__":
    main()
