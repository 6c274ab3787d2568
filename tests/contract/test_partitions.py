"""Rows are split by Pinot's partitioning: Pinot finds one partition in each segment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jpype
import pyarrow as pa
import pytest

from controller_client.models import Schema, TableConfig
from controller_client.segment_tar import unpack_tar
from jvm_bridge.builder import SegmentBuilder
from spark_connectors.write.partitioning import PartitionIds, Partitioning
from spark_connectors.write.splitting import split
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import schema_of, table_config

pytestmark = pytest.mark.jvm

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


def test_each_segment_holds_the_partition_that_it_was_split_off_as(
    child: SegmentChild, tmp_path: Path
) -> None:
    cases = child.call(parts_of_all, str(tmp_path))
    # Five types and five functions; Modulo is not defined for texts.
    assert len(cases) == 24
    for case in cases:
        assert sum(part["rows"] for part in case["parts"]) == case["given"], case
        for part in case["parts"]:
            assert part["in_segment"] == [part["partition"]], case
    murmur = next(case for case in cases if (case["type"], case["function"]) == ("LONG", "Murmur"))
    assert [part["partition"] for part in murmur["parts"]] == [0, 1, 2, 3, 4]


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


def parts_of_all(folder: str) -> list[dict[str, Any]]:
    """In the child: return the parts of each type and function, with the partitions in their segments."""
    return [
        {
            "type": data_type,
            "function": function,
            "given": len(COLUMNS[data_type]),
            "parts": parts(Path(folder), data_type, function),
        }
        for data_type in COLUMNS
        for function in FUNCTIONS
        if function != "Modulo" or data_type != "STRING"
    ]
