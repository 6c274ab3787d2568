"""The checks before a reader gets a file: its columns, its name, its time units."""

from __future__ import annotations

import csv as stdlib_csv
import gzip
import io
import json
import os
import random
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jvm_bridge.builder.columns import SourceColumns
from jvm_bridge.builder.driver import PinotTable
from jvm_bridge.builder.model import SourceFile, UnreadableFileError
from jvm_bridge.builder.planning import Field, TableRequirements
from jvm_bridge.builder.sources.files import open_file
from jvm_bridge.builder.sources.prepare import Prepared, prepare
from jvm_bridge.input_rules import (
    ColumnMismatch,
    FileFormat,
    InputRules,
    MissingLimit,
    derived_columns,
    near_miss,
)
from jvm_bridge.time_conversion import TimeConversion

FIELDS = ("id", "word", "amount", "day")
PLAN = TableRequirements(tuple(Field(name, "STRING", True, 512) for name in FIELDS), None, True)


def table(
    *expected: str,
    read: Sequence[str] = (),
    steps: dict[str, int] | None = None,
    plan: TableRequirements = PLAN,
) -> PinotTable:
    names = expected or FIELDS
    columns = SourceColumns(frozenset([*names, *read]), frozenset(names))
    return PinotTable(None, None, plan, columns, steps or {})


def made_ready(
    path: Path,
    of: PinotTable | None = None,
    *,
    config: dict[str, str] | None = None,
    rules: InputRules = InputRules(),  # noqa: B008
) -> Prepared:
    folder = path.parent / f"ready-{len(list(path.parent.iterdir()))}"
    folder.mkdir()
    file_format = FileFormat.parse([suffix for suffix in path.suffixes if suffix != ".gz"][-1][1:])
    return prepare(of or table(), SourceFile(path, file_format, config), rules, folder)


def csv(tmp_path: Path, header: str, *rows: str, name: str = "a.csv") -> Path:
    path = tmp_path / name
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def refusal(path: Path, of: PinotTable | None = None, **more: Any) -> str:
    with pytest.raises(UnreadableFileError) as refused:
        made_ready(path, of, **more)
    return str(refused.value)


def test_columns_that_are_missing_or_not_read_are_reported(tmp_path: Path) -> None:
    path = csv(tmp_path, "id,Word,amount,day,else", "1,a,2,3,4")
    assert made_ready(path).mismatch == ColumnMismatch(("word",), ("Word", "else"))
    assert not made_ready(csv(tmp_path, "day,amount,word,id")).mismatch
    assert near_miss("word", ("Word", "else")) == "Word"
    assert near_miss("word", ("word", "words")) is None


def test_arguments_of_transforms_are_columns_of_the_source(tmp_path: Path) -> None:
    derives = table("id", "raw", read=("day",))
    assert not made_ready(csv(tmp_path, "id,raw"), derives).mismatch
    assert made_ready(csv(tmp_path, "id"), derives).mismatch == ColumnMismatch(("raw",))
    # A file may contain a column that would otherwise be derived.
    assert not made_ready(csv(tmp_path, "id,raw,day"), derives).mismatch
    assert "none of the table's columns; it has x" in refusal(csv(tmp_path, "x"), derives)


def test_which_columns_are_derived() -> None:
    config = {
        "ingestionConfig": {
            "transformConfigs": [{"columnName": "day", "transformFunction": "x"}],
            "aggregationConfigs": [{"columnName": "total", "aggregationFunction": "SUM(x)"}],
        }
    }
    schema = {
        "dimensionFieldSpecs": [{"name": "a"}, {"name": "b", "transformFunction": "x"}, {"name": "m__KEYS"}],
        "dateTimeFieldSpecs": [{"name": "t"}],
        "timeFieldSpec": {
            "incomingGranularitySpec": {"name": "in"},
            "outgoingGranularitySpec": {"name": "out"},
        },
    }
    assert derived_columns(config, schema) == {"day", "total", "b", "m__KEYS", "out"}
    assert derived_columns({}, {"timeFieldSpec": {"incomingGranularitySpec": {"name": "in"}}}) == frozenset()


def test_a_file_that_lacks_more_than_half_of_the_columns_is_refused(tmp_path: Path) -> None:
    made_ready(csv(tmp_path, "id,word,x"))
    message = refusal(csv(tmp_path, "id,Amount,x"))
    assert "a.csv lacks 3 of the table's 4 columns: amount, day, word; it has id, Amount, x" in message
    assert "at most 50% missing, as set by maxMissingColumns" in message
    assert "'Amount' is not 'amount'" in message
    made_ready(csv(tmp_path, "id,x"), rules=InputRules(max_missing=MissingLimit.parse("100%")))
    assert "at most 0 missing" in refusal(
        csv(tmp_path, "id,word,day"), rules=InputRules(max_missing=MissingLimit.parse("0"))
    )


def test_columns_that_are_not_read_may_be_refused(tmp_path: Path) -> None:
    strict = InputRules(refuse_unknown=True)
    assert not made_ready(csv(tmp_path, "id,word,amount,day"), rules=strict).mismatch
    message = refusal(csv(tmp_path, "id,word,amount,day,Else"), rules=strict)
    assert "columns that the table does not read: Else" in message
    assert "failOnUnknownColumns" in message
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"id": 1, "Else": 2}))
    assert "does not read: Else" in refusal(path, rules=strict)


@pytest.mark.parametrize(
    ("text", "allowed", "refused"),
    [("0", (0, 4), (1, 4)), ("2", (2, 100), (3, 3)), ("50%", (2, 4), (3, 5)), ("100%", (9, 9), None)],
)
def test_limits(text: str, allowed: tuple[int, int], refused: tuple[int, int] | None) -> None:
    limit = MissingLimit.parse(f" {text} ")
    assert str(limit) == text
    assert limit.allows(*allowed)
    assert refused is None or not limit.allows(*refused)


@pytest.mark.parametrize("text", ["", "half", "-1", "101%", "5 %%", "1.5", "50 percent", "9999999999"])
def test_invalid_limits(text: str) -> None:
    with pytest.raises(ValueError, match="a number of columns, such as 3, or a percentage"):
        MissingLimit.parse(text)


def test_keys_of_json_lines_may_be_absent(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"id": 1, "Word": "a"}\n{"id": 2, "amount": 1}\n')
    assert made_ready(path).mismatch == ColumnMismatch(("day", "word"), ("Word",))
    strict = InputRules(max_missing=MissingLimit.parse("1"))
    assert "lacks 2 of the table's 4 columns: day, word" in refusal(path, rules=strict)
    path.write_text('{"Id": 1}\n{"x": 2}\n')
    message = refusal(path)
    assert "a.json has none of the table's columns; it has Id, x" in message
    assert "'Id' is not 'id'" in message
    for none in ("", "\n", "{}\n{}\n"):
        path.write_text(none)
        assert made_ready(path).mismatch.extra == ()
    path.write_text("[1, 2]")  # the reader reports the error
    made_ready(path)


@pytest.mark.parametrize("name", ["a.avro", "a.parquet"])
def test_columns_of_files_with_a_schema(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for names, expected in (
        (["id", "word", "amount", "DAY"], ColumnMismatch(("day",), ("DAY",))),
        (["id", "x"], None),
        (["x"], None),
    ):
        row = dict.fromkeys(names, "v")
        if name == "a.avro":
            fields = [{"name": each, "type": "string"} for each in names]
            with path.open("wb") as file:
                fastavro.writer(file, {"type": "record", "name": "r", "fields": fields}, [row])
        else:
            pq.write_table(pa.Table.from_pylist([row]), path)
        if expected is None:
            refusal(path)
        else:
            assert made_ready(path).mismatch == expected


def test_tables_whose_columns_cannot_be_determined_are_not_checked(tmp_path: Path) -> None:
    nested = PinotTable(None, None, PLAN, None, {})
    assert not made_ready(csv(tmp_path, "x,y"), nested).mismatch


# --- real-life CSV files ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "delimiter"),
    [("id;word;amount;day", ";"), ("id\tword\tamount\tday", r"\t"), ('"id"|"word"|"amount"|"day"', "|")],
)
def test_another_delimiter_is_named(tmp_path: Path, header: str, delimiter: str) -> None:
    message = refusal(csv(tmp_path, header, "1;a;2;3"))
    assert f"separated by {delimiter!r}: set recordReader.prop.delimiter" in message
    actual = delimiter.replace(r"\t", "\t")
    made_ready(csv(tmp_path, header), config={"delimiter": actual})
    assert "separated by ','" in refusal(csv(tmp_path, "id,word,amount,day"), config={"delimiter": ";"})


def test_a_file_without_a_header_is_recognized(tmp_path: Path) -> None:
    message = refusal(csv(tmp_path, "1,a,2,3", "4,b,5,6"))
    assert "none of the table's columns; it has 1, a, 2, 3" in message
    assert "set recordReader.prop.header to the names of its columns" in message
    made_ready(csv(tmp_path, "1,a,2,3"), config={"header": "id,word,amount,day"})


def test_a_header_from_the_properties_is_not_called_the_files(tmp_path: Path) -> None:
    header = "recordReader.prop.header"
    path = csv(tmp_path, "1,a,2,3")
    for names, words, remedy in (
        ("a,b,c,e", "has none of the table's columns; it has a, b, c, e", "names of the file's columns"),
        ("id,b,c,e", "lacks 3 of the table's 4 columns: amount, day, word", "names of the file's columns"),
        ("id,Word,c,e", "lacks 3 of the table's 4 columns", f"change the name in {header} or in the schema"),
    ):
        message = refusal(path, config={"header": names})
        assert f"a.csv: {header} {words}" in message
        assert remedy in message
    strict = InputRules(refuse_unknown=True)
    message = refusal(path, rules=strict, config={"header": "id,word,day,amount,x"})
    assert f"a.csv: {header} has columns that the table does not read: x" in message
    # Other formats have no such property.
    keys = tmp_path / "a.json"
    keys.write_text('{"x": 1}')
    assert "a.json has none" in refusal(keys, config={"header": "id"})


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_a_header_in_the_file_and_in_the_properties(tmp_path: Path, delimiter: str) -> None:
    names = delimiter.join(("id", "word", "amount", "day"))
    config = {"header": names, "delimiter": delimiter}
    message = refusal(csv(tmp_path, names, delimiter.join("1a23")), config=config)
    assert "a.csv has the names of recordReader.prop.header in its first line" in message
    assert "remove recordReader.prop.header" in message
    made_ready(csv(tmp_path, delimiter.join("1a23")), config=config)
    assert made_ready(csv(tmp_path, ""), config={"header": "id,word,day"}).mismatch.missing == ("amount",)


def test_spaces_around_names_are_refused_or_trimmed_with_any_reader_property(tmp_path: Path) -> None:
    path = csv(tmp_path, "id, word, amount,day", "1, a, 2,3")
    message = refusal(path)
    assert "spaces around a name in its header: ' amount', but the table's column is 'amount'" in message
    assert "set recordReader.prop.delimiter" in message
    assert not made_ready(path, config={"delimiter": ","}).mismatch


@pytest.mark.parametrize("content", ["", "\n\n", '"' + "x" * 200_000, "id,word,amount,day"])
def test_inconclusive_headers_are_left_to_the_reader(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(content)
    assert not made_ready(path).mismatch


def test_a_duplicate_column_name_of_the_table_is_refused(tmp_path: Path) -> None:
    # Pinot's reader refuses it in 0.11.0; later versions use one of the two.
    twice = csv(tmp_path, "id,word,amount,day,id", "1,a,2,3,4")
    assert "a.csv has the name 'id' twice in its header" in refusal(twice)
    spaced = csv(tmp_path, "id,word,amount,day, id", "1,a,2,3,4")
    with pytest.raises(UnreadableFileError, match="'id' twice"):
        made_ready(spaced, config={"delimiter": ","})
    made_ready(csv(tmp_path, "id,word,amount,day,x,x", "1,a,2,3,4,5"))


NAMES_OF_COLUMNS = st.lists(
    st.sampled_from(["", " ", "x", "x", "y,z", 'q"', "line\nbreak", "ü", "Id", "$unread0"]), max_size=6
)


@given(others=NAMES_OF_COLUMNS, order=st.randoms(), packed=st.booleans(), data=st.data())
def test_only_names_of_columns_that_are_read_matter(
    others: list[str], order: random.Random, packed: bool, data: st.DataObject
) -> None:
    names = [*FIELDS, *others]
    order.shuffle(names)
    delimiter = data.draw(st.sampled_from([",", "|"]))
    rows = [[f"{name}-{row}-{place}" for place, name in enumerate(names)] for row in range(3)]
    text = io.StringIO()
    writer = stdlib_csv.writer(
        text, delimiter=delimiter, lineterminator=data.draw(st.sampled_from(["\n", "\r\n"]))
    )
    writer.writerows([names, *rows])
    content = (data.draw(st.sampled_from(["", "\n", "\r\n\n"])) + text.getvalue()).encode()
    with TemporaryDirectory() as name:
        path = Path(name) / ("a.csv.gz" if packed else "a.csv")
        path.write_bytes(gzip.compress(content) if packed else content)
        ready = made_ready(path, config={"delimiter": delimiter})
        assert set(ready.mismatch.extra) == {other.strip() for other in others}
        assert ready.mismatch.missing == ()
        (batch,) = open_file(ready.file, PLAN).batches
        for field in FIELDS:
            assert batch.columns[field].to_pylist() == [row[names.index(field)] for row in rows]


def test_a_header_that_is_too_long_is_left_to_the_reader(tmp_path: Path) -> None:
    path = csv(tmp_path, "id,word,amount,day,,," + "x" * (1 << 20), "1,a,2,3")
    assert made_ready(path).file.path == path


def test_line_ends_and_empty_lines_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    for content in (
        "id,word,amount,day\r\n1,a,2,3\r\n\r\n",
        "\r\nid,word,amount,day",
        "id,word,amount,day\r1,a,2,3",
    ):
        path.write_bytes(content.encode())
        assert not made_ready(path).mismatch


def test_an_empty_gzip_file_is_damaged(tmp_path: Path) -> None:
    for name in ("a.csv.gz", "a.json.gz", "a.avro.gz"):
        (tmp_path / name).touch()
        assert f"{name} is empty: gzip data always has a header" in refusal(tmp_path / name)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b""))
    made_ready(tmp_path / "a.csv.gz")


# --- names --------------------------------------------------------------------------------------------------

_NAME = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]) | st.sampled_from("\n\t#?% \x1b'\"\\"),
    max_size=20,
)


@given(name=_NAME)
def test_java_gets_a_name_that_it_can_open(name: str) -> None:
    with TemporaryDirectory() as folder:
        path = csv(Path(folder), "id,word,amount,day", "1,a,2,3", name=f"a{name}.csv")
        file = made_ready(path).file
        assert str(file.path).isascii()
        assert "\n" not in str(file.path)
        assert file.path.read_text() == path.read_text()
        assert file.original in (None, path)
        assert file.name.isprintable() or not path.name.isprintable()


def test_a_name_that_is_not_utf_8(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\xff.csv"))
    path.write_text("id,x,y,z\n")
    message = refusal(path)
    assert r"a\xff.csv lacks 3" in message
    assert message.encode()


# --- points in time -----------------------------------------------------------------------------------------

STEPS = {"ms": 10**6, "s": 10**9, "day": 86_400 * 10**9, "us": 10**3, "quarter": 900 * 10**9}
COLUMNS = (*STEPS, "stored")
TIMES = TableRequirements(tuple(Field(name, "LONG", True, 512) for name in COLUMNS), None, True)
TIME_TABLE = table(*COLUMNS, steps=STEPS, plan=TIMES)
# 2024-02-29 12:30:45.678901 and the last microsecond before 1970.
MICROS = pa.array([1_709_209_845_678_901, -1, None], pa.timestamp("us"))


def read_times(path: Path) -> dict[str, list[int | None]]:
    batches = list(open_file(made_ready(path, TIME_TABLE).file, TIMES).batches)
    return {name: [v for batch in batches for v in batch.columns[name].to_pylist()] for name in COLUMNS}


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_parquet_timestamps_come_in_the_unit_of_the_column(
    tmp_path: Path, unit: str, zone: str | None
) -> None:
    path = tmp_path / "a.parquet"
    column = MICROS.cast(pa.timestamp(unit), safe=False).cast(pa.timestamp(unit, zone))
    pq.write_table(pa.table(dict.fromkeys(COLUMNS, column)), path)
    stored = column.view(pa.int64()).to_pylist()
    source_ns = {"ms": 10**6, "us": 10**3, "ns": 1}[unit]
    read = read_times(path)
    for name, step_ns in STEPS.items():
        assert read[name] == [None if n is None else n * source_ns // step_ns for n in stored]
    assert read["stored"] == stored, "a column that is not a time column keeps the number"
    if unit != "ms":
        assert read["day"] == [19782, -1, None]
        assert read["ms"] == [1_709_209_845_678, -1, None]


def test_parquet_dates_come_in_the_unit_of_the_column(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(dict.fromkeys(COLUMNS, pa.array([19782, -1, None], pa.date32()))), path)
    read = read_times(path)
    assert read["ms"] == [19782 * 86_400_000, -86_400_000, None]
    assert (read["day"], read["stored"]) == ([19782, -1, None], [19782, -1, None])
    assert read["quarter"] == [19782 * 96, -96, None]


def test_int96_comes_as_milliseconds_or_in_the_unit_of_the_column(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    far = pa.array(
        [1_709_209_845_678_901, -1, None, -62_135_596_800_000_000, 253_402_300_799_000_000],
        pa.timestamp("us"),
    )
    pq.write_table(pa.table(dict.fromkeys(COLUMNS, far)), path, use_deprecated_int96_timestamps=True)
    read = read_times(path)
    assert read["stored"] == read["ms"]
    assert read["ms"] == [1_709_209_845_678, -1, None, -62_135_596_800_000, 253_402_300_799_000]
    assert read["day"] == [19782, -1, None, -719162, 2932896]


def test_the_time_units_of_avro_fields(tmp_path: Path) -> None:
    path = tmp_path / "a.avro"
    micros = {"type": "long", "logicalType": "timestamp-micros"}
    kinds: dict[str, Any] = {
        "ms": ["null", micros],
        "s": {"type": "long", "logicalType": "timestamp-millis"},
        "day": {"type": "int", "logicalType": "date"},
        "us": "long",
        "quarter": {"type": "array", "items": {"type": "long", "logicalType": "local-timestamp-micros"}},
        "stored": micros,
    }
    fields = [{"name": name, "type": kind} for name, kind in kinds.items()]
    with path.open("wb") as file:
        fastavro.writer(file, {"type": "record", "name": "r", "fields": fields}, [])
    assert made_ready(path, TIME_TABLE).file.times == {
        "ms": TimeConversion(10**3, 10**6),
        "s": TimeConversion(10**6, 10**9),
        "day": TimeConversion(86_400 * 10**9, 86_400 * 10**9),
        "quarter": TimeConversion(10**3, 900 * 10**9),
    }


def test_columns_of_folders_are_the_files(tmp_path: Path) -> None:
    def checked(path: Path, folders: dict[str, str | None], **rules: Any) -> ColumnMismatch:
        own = tmp_path / f"ready-{len(list(tmp_path.iterdir()))}"
        own.mkdir()
        file = SourceFile(path, FileFormat.parse(path.suffix[1:]), folders=folders)
        return prepare(table(), file, InputRules(**rules), own).mismatch

    lines = tmp_path / "a.json"
    lines.write_text('{"id": 1, "word": "a"}\n')
    for path in (csv(tmp_path, "id,word", "1,a"), lines):
        both = {"day": "1", "amount": None, "region": "eu"}
        assert checked(path, both) == ColumnMismatch(extra=("region",))
        assert checked(path, {"day": "1", "word": "a"}) == ColumnMismatch(("amount",))
        with pytest.raises(UnreadableFileError, match="columns that the table does not read: region"):
            checked(path, both, refuse_unknown=True)
        assert checked(path, {**both, "region": "\udcff"})
        with pytest.raises(UnreadableFileError, match="a value of 'day' that is not UTF-8"):
            checked(path, {"day": "\udcff"})
