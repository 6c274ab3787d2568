from __future__ import annotations

import gzip
import io
from dataclasses import replace
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from controller_client.errors import ConfigError, DataError
from jvm_bridge.builder.model import SourceFile, check_custom_metadata, check_segment_name
from jvm_bridge.builder.planning import CsvPlan, Field, TableRequirements, Unsuitable
from jvm_bridge.builder.sources import csv_source
from jvm_bridge.builder.sources.arrow_source import arrow_columns, record_batches
from jvm_bridge.builder.sources.avro_file import check_avro
from jvm_bridge.builder.sources.csv_source import QuoteGuard, check_widths, open_csv
from jvm_bridge.builder.sources.file_columns import meant_type, planned
from jvm_bridge.builder.sources.json_source import open_json
from jvm_bridge.builder.sources.parquet_source import parquet_columns
from jvm_bridge.input_rules import FileFormat
from jvm_bridge.time_conversion import TimeConversion

TABLE = TableRequirements((Field("s", "STRING", True, 512), Field("mv", "INT", False, 512)), None, True)


def guarded(text: str, block: int) -> bytes:
    guard = QuoteGuard(io.BytesIO(text.encode()), ",")
    result = b""
    while data := guard.read(block):
        result += data
    return result


@pytest.mark.parametrize("block", [1, 2, 3, 100])
@pytest.mark.parametrize("text", ['a,"b"\n', '"a""b",""""\r\n"x\ny",1', "", '""', '"",""\n"a,b"'])
def test_quotes_at_the_edges_pass(text: str, block: int) -> None:
    assert guarded(text, block) == text.encode()


@pytest.mark.parametrize("block", [1, 2, 3, 100])
@pytest.mark.parametrize("text", ['a"b\n', '"a"b\n', '"a" ,b\n', ' "a"\n', 'a,"b', '"a"x', '"'])
def test_other_quotes_are_refused(text: str, block: int) -> None:
    with pytest.raises(Unsuitable, match="quote"):
        guarded(text, block)


def test_csv_batches(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b'x,s,mv\n1,"a,b",1;2\n2,,3\n'))
    source = open_csv(path, TABLE, CsvPlan())
    (batch,) = source.batches
    assert batch.columns["s"].to_pylist() == ["a,b", None]
    assert batch.columns["mv"].to_pylist() == [["1", "2"], ["3"]]


@pytest.mark.parametrize("block_bytes", [16, 4 << 20])
@pytest.mark.parametrize(
    ("text", "config", "row"),
    [
        ("id,word\n1,a\n2,b,c\n3,d\n", None, 2),
        ('id,word\r\n1,"a\r\nb"\r\n\r\n2,"b, c"\r\n3,x, y\r\n', None, 3),
        ("id;word\n1;a;b", {"delimiter": ";"}, 1),
        ("1,a\n2,b\n3,c,d", {"header": "id,word"}, 3),
        ("id,word\n1,a\n2\n\n3,b,\n", None, None),
        ("id,word\n1,a,,,\n", None, None),
        ('id,word\n1,a"b,c\n', None, None),  # only Pinot's reader can separate these values
        ("id,word\n1,a,b\n", {"escapeCharacter": "x"}, None),
        ("id,id\n1,a,b\n", None, 1),
        ("", None, None),
        ("id,word", None, None),
    ],
)
def test_rows_with_more_values_than_the_header_are_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    config: dict[str, str] | None,
    row: int | None,
    block_bytes: int,
) -> None:
    monkeypatch.setattr(csv_source, "_BLOCK_BYTES", block_bytes)
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode())
    file = SourceFile(path, FileFormat.CSV, config)
    if row is None:
        check_widths(file)
        return
    header = "recordReader.prop.header" if config and "header" in config else "the header"
    with pytest.raises(DataError, match=f"a.csv, row {row}: 3 values, but {header} has 2 names") as refused:
        check_widths(file)
    assert "in quotes" in str(refused.value.remedy)


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
    csv_path, json_path, parquet_path = (tmp_path / f"rows.{kind}" for kind in ("csv", "json", "parquet"))
    csv_path.write_text("mv,x\n1,\n,2\n")
    (batch,) = open_csv(csv_path, table, CsvPlan()).batches
    assert {name: column.to_pylist() for name, column in batch.arguments.items()} == {
        "mv": ["1", None],
        "x": [None, "2"],
    }
    assert batch.columns["mv"].to_pylist() == [["1"], None]
    assert batch.slice(1, 5).arguments["x"].to_pylist() == ["2"]
    json_path.write_text('{"mv": 1, "x": 0.5}\n{"mv": null}\n')
    source = open_json(json_path, table)
    assert source.has_any_width
    (batch,) = source.batches
    assert {name: column.to_pylist() for name, column in batch.arguments.items()} == {
        "mv": [1, None],
        "x": [0.5, None],
        "absent": [None, None],
    }
    days = TimeConversion(86_400 * 10**9, 10**6)
    pq.write_table(
        pa.table({"mv": pa.array([1, 2], pa.int32()), "x": pa.array([3, None], pa.date32())}), parquet_path
    )
    file = SourceFile(parquet_path, FileFormat.PARQUET, times={"x": days})
    (batch,) = planned(parquet_columns(file), table).batches
    assert batch.arguments["x"].to_pylist() == [3 * 86_400_000, None]
    assert batch.arguments["mv"].type == pa.int32()
    assert batch.columns.keys() == {"mv"}
