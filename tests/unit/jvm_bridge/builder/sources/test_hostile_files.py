"""Source files that are small, but take memory, disk or time out of proportion, or break a parser."""

from __future__ import annotations

import codecs
import gzip
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from controller_client.errors import SetupError
from controller_client.segment_tar import TarLimits
from jvm_bridge.builder.model import SourceFile, UnreadableFileError
from jvm_bridge.builder.planning import Unsuitable
from jvm_bridge.builder.sources.avro_file import check_avro
from jvm_bridge.builder.sources.csv_header import read_header, write_with_header
from jvm_bridge.builder.sources.json_source import first_keys
from jvm_bridge.builder.sources.orc_source import orc_columns, orc_times
from jvm_bridge.builder.sources.parquet_source import parquet_columns, parquet_times
from jvm_bridge.builder.sources.text_input import check_text
from jvm_bridge.input_rules import FileFormat

_SYNC = b"s" * 16


def varint(number: int) -> bytes:
    number = (number << 1) ^ (number >> 63)
    data = b""
    while number > 0x7F:
        data += bytes([number & 0x7F | 0x80])
        number >>= 7
    return data + bytes([number])


def avro_file(schema: str, *, more: bytes = b"", blocks: bytes = b"") -> bytes:
    """An Avro file; ``more`` is a value in its header."""
    entries = {b"avro.schema": schema.encode(), b"more": more}
    header = b"".join(varint(len(part)) + part for entry in entries.items() for part in entry)
    return b"Obj\x01" + varint(len(entries)) + header + b"\0" + _SYNC + blocks


def checked(tmp_path: Path, content: bytes) -> dict[str, int | None]:
    path = tmp_path / "a.avro"
    path.write_bytes(content)
    return dict(check_avro(SourceFile(path, FileFormat.AVRO)))


_ROW = json.dumps({"type": "record", "name": "R", "fields": [{"name": "s", "type": "string"}]})
_RECURSIVE = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}


def test_an_avro_header_of_any_length_is_not_kept(tmp_path: Path) -> None:
    content = gzip.compress(avro_file(_ROW, more=bytes(64 << 20)), 1)
    assert len(content) < 1 << 20
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableFileError, match="its header has more than 16,777,216 bytes"):
            checked(tmp_path, content)
        assert tracemalloc.get_traced_memory()[1] < 40 << 20
    finally:
        tracemalloc.stop()
    assert checked(tmp_path, avro_file(_ROW, more=bytes(1 << 20))) == {"s": None}


def test_a_header_of_many_empty_entries_ends_too(tmp_path: Path) -> None:
    begin = b"Obj\x01"
    for header in (varint(2**40), (varint(6_000) + bytes(12_000)) * 2):
        with pytest.raises(UnreadableFileError, match="its header has more than 10,000 entries"):
            checked(tmp_path, begin + header)


@pytest.mark.parametrize(
    "schema",
    ["{", "[" * 100_000, '{"type": "record", "name": "R", "fields": [{"type": "int"}]}',
     '{"type": "record", "name": "R", "fields": ["text"]}', '{"type": "record", "name": "R", "fields": 7}',
     '{"type": "record", "name": "R", "fields": {"a": 1}}', '{"type": "nothing"}', "\ud800\x1b[31m"[1:]],
)  # fmt: skip
def test_an_invalid_schema_is_a_fault_of_the_file(tmp_path: Path, schema: str) -> None:
    with pytest.raises(UnreadableFileError, match=r"a\.avro cannot be read as AVRO: its schema is invalid"):
        checked(tmp_path, avro_file(schema))


def test_rows_without_bytes_are_limited(tmp_path: Path) -> None:
    schema = json.dumps({"type": "record", "name": "R", "fields": [{"name": "n", "type": "null"}]})
    few, many = (varint(rows) + varint(0) + _SYNC for rows in (1_000, 2**50))
    assert checked(tmp_path, avro_file(schema, blocks=few)) == {"n": None}
    with pytest.raises(UnreadableFileError, match="rows, which take no bytes"):
        checked(tmp_path, avro_file(schema, blocks=many))


def test_fields_without_bytes_are_limited(tmp_path: Path) -> None:
    doubled: Any = "null"
    for level in range(20):
        fields = [{"name": name, "type": doubled if name == "a" else f"R{level - 1}"} for name in "ab"]
        fields = fields if level else [{"name": "a", "type": "null"}]
        doubled = {"type": "record", "name": f"R{level}", "fields": fields}
    with pytest.raises(UnreadableFileError, match="more than 10,000 fields that take no bytes"):
        checked(tmp_path, avro_file(json.dumps(doubled), blocks=varint(1) + varint(0) + _SYNC))


def test_recursive_records_are_left_to_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    with path.open("wb") as file:
        fastavro.writer(file, _RECURSIVE, [{"next": {"next": None}}])
    assert check_avro(SourceFile(path, FileFormat.AVRO)) == {"next": None}


def test_deep_json_is_not_read_by_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}\n")
    with pytest.raises(Unsuitable, match="not JSON lines"):
        first_keys(path)


def test_a_copy_of_packed_text_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TarLimits, "unpacked_bytes", lambda _self, tar_bytes: 100 * tar_bytes + 1_000)
    path, copy = tmp_path / "a.csv.gz", tmp_path / "copy"
    file = SourceFile(path, FileFormat.CSV)
    path.write_bytes(gzip.compress(codecs.BOM_UTF8 + b"id,id\n" + b"1,2\n" * 1_000_000))
    with pytest.raises(UnreadableFileError, match="when it is unpacked"):
        check_text(file, "utf-8", copy)
    assert copy.stat().st_size <= 100 * path.stat().st_size + 1_000
    path.write_bytes(gzip.compress(b"id,id\n" + b"1,2\n" * 1_000_000))
    with pytest.raises(UnreadableFileError, match="when it is unpacked"):
        write_with_header(file, read_header(path, ","), ["id", "$unread0"], ",", copy)
    path.write_bytes(gzip.compress(codecs.BOM_UTF8 + b"id\n1\n"))
    assert check_text(file, "utf-8", copy).copied
    assert copy.read_bytes() == b"id\n1\n"


@pytest.mark.parametrize("file_format", [FileFormat.PARQUET, FileFormat.ORC])
def test_a_name_that_is_no_utf8_is_a_fault_of_the_file(tmp_path: Path, file_format: FileFormat) -> None:
    path, table = tmp_path / "a", pa.table({"name": [1]})
    if file_format is FileFormat.PARQUET:
        pq.write_table(table, path, store_schema=False)
    else:
        orc.write_table(table, path)
    path.write_bytes(path.read_bytes().replace(b"name", b"\xffame"))
    for read in (
        (parquet_times, parquet_columns) if file_format is FileFormat.PARQUET else (orc_times, orc_columns)
    ):
        with pytest.raises(UnreadableFileError, match=f"cannot be read as {file_format}"):
            read(SourceFile(path, file_format))


@pytest.mark.parametrize("read", [parquet_times, parquet_columns, orc_times, orc_columns])
def test_a_pyarrow_that_changes_values_reads_no_file(
    read: Callable[[SourceFile], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file_format = FileFormat.PARQUET if read in (parquet_times, parquet_columns) else FileFormat.ORC
    write = pq.write_table if file_format is FileFormat.PARQUET else orc.write_table
    path = tmp_path / "a"
    write(pa.table({"a": [1]}), path)
    read(SourceFile(path, file_format))
    monkeypatch.setattr(pa, "__version__", "24.0.1")
    with pytest.raises(SetupError, match=r"pyarrow 24\.0\.1 changes some times"):
        read(SourceFile(path, file_format))


def test_planning_a_wide_parquet_file_reads_its_schema_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.parquet"
    nested = pa.array([{"x": 1, "y": [1]}])
    columns: dict[str, Any] = {f"c{at}": pa.array([at]) for at in range(300)}
    pq.write_table(pa.table({"n": nested, **columns, "t": pa.array([5], pa.timestamp("ms"))}), path)
    read = 0
    whole = pq.ParquetFile.schema

    def schema(self: Any) -> Any:
        nonlocal read
        read += 1
        return whole.fget(self)

    monkeypatch.setattr(pq.ParquetFile, "schema", property(schema))
    file = SourceFile(path, FileFormat.PARQUET)
    times = parquet_times(file)
    assert (times["c299"], times["t"]) == (None, 10**6)
    assert parquet_columns(file).types["t"] == pa.int64()
    assert read == 2
