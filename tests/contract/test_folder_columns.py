"""Columns in the names of a file's folders are stored as texts of the file would be, by every reader."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.contract.meanings import Column, fits, is_stored_as
from tests.contract.random_files import FORMATS, RandomColumn, write_file
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import MULTI_VALUE_TYPES, TYPES, examples, schema_of, table_config

pytestmark = pytest.mark.jvm

_FILES = examples(30, 300)
_CONFIG = table_config()
_TEXT = next(kind for kind in FORMATS["json"] if kind.name == "string")
READERS = pytest.mark.parametrize("reader", ["auto", "pinot"])


def _write(path: Path, **columns: list[Any]) -> Path:
    kind = next(each for each in FORMATS[path.suffix[1:]] if each.name in ("string", "text"))
    write_file(path, [RandomColumn(name, kind, values) for name, values in columns.items()])
    return path


def _schema(column: Column) -> dict[str, Any]:
    types = {"x": column.data_type}
    if column.many:
        return schema_of({"word": "STRING"}, multi_values=types)
    if column.data_type == "BIG_DECIMAL":  # Pinot 0.11 takes it only as a metric
        return schema_of({"word": "STRING"}, metrics=types)
    return schema_of({"word": "STRING", **types})


@pytest.mark.parametrize("file_format", FORMATS)
@READERS
def test_values(
    child: SegmentChild, tmp_path: Path, file_format: str, reader: str, pytestconfig: pytest.Config
) -> None:
    random = Random(f"{pytestconfig.option.seed} {file_format} {reader}")
    path = _write(tmp_path / f"rows.{file_format}", word=["a", "b", "c"])
    outcomes: Counter[str] = Counter()
    for _ in range(_FILES):
        many = random.random() < 0.25
        column = Column(random.choice(MULTI_VALUE_TYPES if many else TYPES), many)
        text = _TEXT.make(random) if random.random() < 0.9 else None
        schema = _schema(column)
        reply = child.build(_CONFIG, schema, path, reader, folders={"x": text}, read_back=True)
        if fits(text, column):
            assert "error" not in reply, (text, column, reply)
            assert [row["word"] for row in reply["read"]] == ["a", "b", "c"]
            assert all(is_stored_as(text, column, row.get("x")) for row in reply["read"]), (
                text,
                column,
                reply,
            )
        else:
            assert "row 1, field x: found" in reply["message"], (text, column, reply)
            assert "from the name of its folder" in reply["message"]
        outcomes["refused" if "error" in reply else "stored"] += 1
    assert min(outcomes["stored"], outcomes["refused"]) >= _FILES // 10, outcomes


@pytest.mark.parametrize("file_format", FORMATS)
@READERS
def test_a_column_that_is_in_the_file_too_must_agree(
    child: SegmentChild, tmp_path: Path, file_format: str, reader: str
) -> None:
    schema = schema_of({"year": "INT", "word": "STRING"})
    same = _write(tmp_path / f"same.{file_format}", year=["2024", "02024"], word=["a", "b"])
    built = child.build(_CONFIG, schema, same, reader, folders={"year": "2024"}, read_back=True)
    assert [row["year"] for row in built["read"]] == [2024, 2024]
    other = _write(tmp_path / f"other.{file_format}", year=["2024", "2023"], word=["a", "b"])
    refused = child.build(_CONFIG, schema, other, reader, folders={"year": "2024"})
    assert "row 2, field year: found '2023'; the name of its folder has '2024'" in refused["message"]
    refused = child.build(_CONFIG, schema, other, reader, folders={"year": None})
    assert "row 1, field year: found '2024'; the name of its folder has null" in refused["message"]


@pytest.mark.every_pinot
@READERS
def test_nulls_in_the_file_are_filled(child: SegmentChild, tmp_path: Path, reader: str) -> None:
    schema = schema_of({"year": "INT", "word": "STRING"})
    path = tmp_path / "rows.json"
    path.write_text('{"word": "a"}\n{"word": "b", "year": null}\n{"word": "c", "year": 2024}\n')
    built = child.build(_CONFIG, schema, path, reader, folders={"year": "2024"}, read_back=True)
    assert [row["year"] for row in built["read"]] == [2024, 2024, 2024]


@pytest.mark.every_pinot
@READERS
def test_functions_and_filters_read_them(child: SegmentChild, tmp_path: Path, reader: str) -> None:
    ingestion = {
        "transformConfigs": [{"columnName": "place", "transformFunction": "concat(city, word, '-')"}],
        "filterConfig": {"filterFunction": "strcmp(word, 'b') = 0"},
    }
    config = {**_CONFIG, "ingestionConfig": ingestion}
    schema = schema_of({"place": "STRING", "word": "STRING"})
    path = _write(tmp_path / "rows.parquet", word=["a", "b", "c"])
    built = child.build(config, schema, path, reader, folders={"city": "Zürich"}, read_back=True)
    assert [row["place"] for row in built["read"]] == ["Zürich-a", "Zürich-c"]


@READERS
def test_files_of_several_folders_in_one_segment(child: SegmentChild, tmp_path: Path, reader: str) -> None:
    schema = schema_of(
        {"word": "STRING", "city": "STRING"}, times={"day": "1:DAYS:SIMPLE_DATE_FORMAT:yyyyMMdd"}
    )
    config = table_config(time_column="day")
    paths = [_write(tmp_path / f"{name}.csv", word=[name]) for name in "abc"]
    folders = [
        {"day": "20240101", "city": "Bern"},
        {"day": "2024-01-02", "city": "Basel"},
        {"day": "20240103", "city": None, "unread": "1"},
    ]
    built = child.build_files(config, schema, paths, reader, folders=folders, read_back=True)
    (segment,) = built["segments"]
    rows = [(row["word"], row.get("city"), row["day"]) for row in segment["read"]]
    assert rows == [("a", "Bern", 20240101), ("c", None, 20240103)]
    assert built["failures"].keys() == {1}
    assert "field day: found '2024-01-02'" in built["failures"][1]["message"]
    assert built["mismatches"][2]["extra"] == ["unread"]
