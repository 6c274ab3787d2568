"""A text that is not UTF-8, or that UTF-8 cannot store, is refused with file and row, wherever it stands."""

from __future__ import annotations

import io
import re
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from tests.contract.avro_files import avro_block, avro_header, varint
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import schema_of, table_config

pytestmark = pytest.mark.jvm

_STRING, _LIST, _JSON = "STRING", "list of STRING", "JSON"
_GOOD, _BAD = "go😀d".encode(), b"b\xffd"


def _schema(column: str) -> dict[str, Any]:
    return schema_of({}, multi_values={"s": "STRING"}) if column == _LIST else schema_of({"s": column})


def _texts(texts: Sequence[bytes]) -> pa.StringArray:
    ends = [sum(map(len, texts[:number])) for number in range(len(texts) + 1)]
    return pa.StringArray.from_buffers(
        len(texts), pa.py_buffer(array("i", ends).tobytes()), pa.py_buffer(b"".join(texts))
    )


def _of_arrow(shape: str, texts: Sequence[bytes]) -> pa.Table:
    column: Any = _texts(texts)
    ones = pa.array(range(len(texts) + 1), pa.int32())
    match shape:
        case "list":
            column = pa.ListArray.from_arrays(ones, column)
        case "struct":
            column = pa.StructArray.from_arrays([column], ["x"])
        case "map key":
            column = pa.MapArray.from_arrays(ones, column, pa.array(range(len(texts))))
        case "dictionary":
            column = pa.DictionaryArray.from_arrays(pa.array(range(len(texts))), column)
    return pa.table({"s": column})


_AVRO_TYPES: Mapping[str, Any] = {
    "text": "string",
    "list": {"type": "array", "items": "string"},
    "struct": {"type": "record", "name": "inner", "fields": [{"name": "x", "type": "string"}]},
    "map key": {"type": "map", "values": "string"},
    "union": ["string", "long"],
}


def _avro_value(shape: str, text: bytes) -> bytes:
    value = varint(len(text)) + text
    match shape:
        case "list":
            return varint(1) + value + varint(0)
        case "map key":
            return varint(1) + value + varint(1) + b"v" + varint(0)
        case "union":
            return varint(0) + value
    return value


def _write(path: Path, shape: str, texts: Sequence[bytes]) -> None:
    if path.suffix == ".avro":
        header = avro_header([{"name": "s", "type": _AVRO_TYPES[shape]}])
        path.write_bytes(
            header + avro_block(len(texts), b"".join(_avro_value(shape, text) for text in texts))
        )
    elif path.suffix == ".orc":
        orc.write_table(_of_arrow(shape, texts), str(path))
    else:
        pq.write_table(_of_arrow(shape, texts), path)


@pytest.mark.parametrize(
    ("suffix", "shape", "column"),
    [
        *((".parquet", "text", column) for column in (_STRING, _JSON)),
        *((".parquet", "list", column) for column in (_STRING, _LIST, _JSON)),
        *((".parquet", shape, column) for shape in ("struct", "map key") for column in (_STRING, _JSON)),
        *((".orc", "text", column) for column in (_STRING, _JSON)),
        *((".orc", shape, _STRING) for shape in ("list", "struct", "map key")),
        *((".avro", "text", column) for column in (_STRING, _JSON)),
        *((".avro", "list", column) for column in (_STRING, _LIST, _JSON)),
        *(
            (".avro", shape, column)
            for shape in ("struct", "map key", "union")
            for column in (_STRING, _JSON)
        ),
    ],
)
def test_bytes_that_are_not_utf_8(
    child: SegmentChild, tmp_path: Path, suffix: str, shape: str, column: str
) -> None:
    path = tmp_path / f"file{suffix}"
    for reader in ("pinot", "auto"):
        _write(path, shape, [_GOOD, _GOOD])
        assert child.build(table_config(), _schema(column), path, reader)["rows"] == 2
        _write(path, shape, [_GOOD, _BAD])
        refused = child.build(table_config(), _schema(column), path, reader)
        assert refused["error"] == "DataError", refused
        assert f"{path.name}, row 2" in refused["message"]


def test_a_dictionary_with_bytes_that_are_not_utf_8(child: SegmentChild, tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    _write(path, "dictionary", [_GOOD, _BAD])
    refused = child.build(table_config(), _schema(_STRING), path, "auto")
    assert refused["error"] == "UnreadableFileError"  # Arrow checks the dictionary before it returns a row
    assert "file.parquet cannot be read as PARQUET: Invalid UTF8" in refused["message"]


@pytest.mark.parametrize("column", [_STRING, _JSON])
@pytest.mark.parametrize("shape", ["text", "list", "struct"])
def test_a_dataframe_with_bytes_that_are_not_utf_8(child: SegmentChild, shape: str, column: str) -> None:
    refused = child.build(table_config(), _schema(column), _of_arrow(shape, [_GOOD, _BAD]), "auto")
    assert refused["error"] == "DataError", refused
    assert re.search("(column|field) s.*: Invalid UTF8", refused["message"]), refused


@pytest.mark.parametrize("half", ["\\ud83d", "\\ude00", "\\ude00\\ud83d", "\\ud83dx"])
@pytest.mark.parametrize(
    ("value", "column"),
    [
        *(('"a{}"', column) for column in (_STRING, _LIST, _JSON)),
        *(('["a", "b{}"]', column) for column in (_STRING, _LIST, _JSON)),
        *(('{{"x": ["{}"]}}', column) for column in (_STRING, _JSON)),
        *(('{{"{}": 1}}', column) for column in (_STRING, _JSON)),
    ],
)
def test_half_a_character_in_json(
    child: SegmentChild, tmp_path: Path, value: str, column: str, half: str
) -> None:
    path = tmp_path / "half.json"
    for reader in ("pinot", "auto"):
        lines = io.StringIO()
        for text in ("\\ud83d\\ude00", "😀", half):
            lines.write(f'{{"s": {value.format(text)}}}\n')
        path.write_text(lines.getvalue(), encoding="utf-8")
        refused = child.build(table_config(), _schema(column), path, reader)
        assert refused["error"] == "DataError", refused
        assert "half.json, row 3, field s" in refused["message"]
        assert "is half of a character" in refused["message"]
        path.write_text("".join(lines.getvalue().splitlines(keepends=True)[:2]), encoding="utf-8")
        assert child.build(table_config(), _schema(column), path, reader)["rows"] == 2
