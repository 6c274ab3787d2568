from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from controller_client.errors import ConfigError, DataError
from jvm_bridge.builder.model import SourceFile, check_custom_metadata, check_segment_name
from jvm_bridge.builder.planning import Field, TableRequirements
from jvm_bridge.builder.sources.arrow_source import arrow_columns, record_batches
from jvm_bridge.builder.sources.avro_file import check_avro
from jvm_bridge.builder.sources.file_columns import meant_type, planned
from jvm_bridge.builder.sources.parquet_source import parquet_columns
from jvm_bridge.input_rules import FileFormat
from jvm_bridge.time_conversion import TimeConversion

TABLE = TableRequirements((Field("s", "STRING", True, 512), Field("mv", "INT", False, 512)), None, True)


def test_avro_blocks(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    schema = {"type": "record", "name": "r", "fields": [{"name": "s", "type": "string"}]}
    with path.open("wb") as file:
        fastavro.writer(file, schema, [{"s": "x" * 100}] * 500, sync_interval=1000)
    whole = path.read_bytes()
    assert check_avro(SourceFile(path, FileFormat.AVRO)) == {"s": None}
    for end in (0, 3, 30, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:end])
        with pytest.raises(DataError, match=r"a\.avro cannot be read as AVRO"):
            check_avro(SourceFile(path, FileFormat.AVRO))
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(DataError, match="does not end where it should"):
        check_avro(SourceFile(path, FileFormat.AVRO))
    empty = b"\0\0" + whole[-16:]
    path.write_bytes(whole + empty * 2)
    assert check_avro(SourceFile(path, FileFormat.AVRO)) == {"s": None}
    path.write_bytes(whole + empty + b"\2\2\0" + whole[-16:])
    with pytest.raises(DataError, match="the block after row 500 is empty, but more blocks follow"):
        check_avro(SourceFile(path, FileFormat.AVRO))


def test_arrow_batches() -> None:
    table = pa.table({"s": pa.array(["a", "b"]).dictionary_encode(), "other": [1, 2]})
    schema, batches = record_batches(table)
    data = SourceFile(Path("Arrow data"), FileFormat.PARQUET)
    (batch,) = planned(arrow_columns(schema, batches, {}, data), TABLE).batches
    assert batch.columns["s"].to_pylist() == ["a", "b"]
    assert meant_type(pa.list_(pa.dictionary(pa.int8(), pa.string()))) == pa.large_list(pa.large_string())
    first, second = pa.record_batch({"s": ["a"]}), pa.record_batch({"s": [1]})
    _, batches = record_batches([first, second])
    with pytest.raises(DataError, match="batch 2 has a different schema"):
        list(batches)
    for wrong in ([], ["x"], 5):
        with pytest.raises(DataError):
            record_batches(wrong)


def test_formats_and_names() -> None:
    assert FileFormat.parse(" json") is FileFormat.JSON
    with pytest.raises(ConfigError, match="did you mean 'parquet'"):
        FileFormat.parse("parket")
    check_segment_name("flights_2020-01-01_0")
    for name in ("", "a/b", "a b", "..", "a,b", "ü" * 256, "a\n"):
        with pytest.raises(ConfigError):
            check_segment_name(name)
    check_custom_metadata({"input.uri": "czM6Ly9iL2s=", "empty": ""})
    refused = ("x,y", "${x}", "b\\", " x", "x ", "ü", "\n")
    for custom in ({"": "x"}, {"a b": "x"}, *({"a": value} for value in refused)):
        with pytest.raises(ConfigError):
            check_custom_metadata(custom)


def test_arguments_are_passed_unchanged(tmp_path: Path) -> None:
    table = replace(TABLE, arguments=frozenset(["mv", "x", "absent"]))
    parquet_path = tmp_path / "rows.parquet"
    days = TimeConversion(86_400 * 10**9, 10**6)
    pq.write_table(
        pa.table({"mv": pa.array([1, 2], pa.int32()), "x": pa.array([3, None], pa.date32())}), parquet_path
    )
    file = SourceFile(parquet_path, FileFormat.PARQUET, times={"x": days})
    (batch,) = planned(parquet_columns(file), table).batches
    assert batch.arguments["x"].to_pylist() == [3 * 86_400_000, None]
    assert batch.arguments["mv"].type == pa.int32()
    assert batch.slice(1, 5).arguments["mv"].to_pylist() == [2]
    assert batch.columns.keys() == {"mv"}
