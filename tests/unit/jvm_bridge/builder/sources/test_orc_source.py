"""ORC files are read with times in the table's unit; corrupt ones are refused."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import orc

from controller_client.models.epoch_format import UNIT_NS
from jvm_bridge.builder.columns import SourceColumns
from jvm_bridge.builder.driver import PinotTable
from jvm_bridge.builder.model import SourceFile, UnreadableFileError
from jvm_bridge.builder.planning import Field, TableRequirements
from jvm_bridge.builder.sources.files import open_file
from jvm_bridge.builder.sources.orc_source import orc_columns, orc_times
from jvm_bridge.builder.sources.prepare import prepare
from jvm_bridge.input_rules import ColumnMismatch, FileFormat, InputRules
from jvm_bridge.time_conversion import TimeConversion

# Never freed: Arrow's own threads and caches may return memory to it after a test.
POOL = pa.proxy_memory_pool(pa.default_memory_pool())
MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
MILLIS = int(MOMENT.timestamp() * 1000)
DAYS = (date(2026, 1, 2) - date(1970, 1, 1)).days


def written(path: Path, columns: dict[str, Any], **options: Any) -> SourceFile:
    orc.write_table(pa.table(columns), path, **options)
    return SourceFile(path, FileFormat.ORC)


def read(path: Path, columns: dict[str, Any], steps: dict[str, int] | None = None) -> dict[str, list[Any]]:
    file = written(path, columns)
    times = {name: TimeConversion(1, step_ns) for name, step_ns in (steps or {}).items()}
    return read_all(replace(file, times=times))


def read_all(file: SourceFile, *names: str) -> dict[str, list[Any]]:
    found = orc_columns(file)
    rows: dict[str, list[Any]] = {name: [] for name in names or found.types}
    for batch in found.batches(list(rows)):
        for name, column in batch.columns.items():
            rows[name] += column.to_pylist()
    return rows


def test_times_come_as_pinots_reader_gives_them_or_in_the_time_columns_unit(
    tmp_path: Path,
) -> None:
    moments = pa.array([MOMENT, None], pa.timestamp("ms"))
    days = pa.array([date(2026, 1, 2), None])
    columns = {"t": moments, "d": days, "time": moments, "day": days}
    found = read(tmp_path / "a.orc", columns, {"time": UNIT_NS["SECONDS"], "day": UNIT_NS["HOURS"]})
    assert found == {
        "t": [MILLIS, None],
        "d": [DAYS, None],
        "time": [MILLIS // 1000, None],
        "day": [DAYS * 24, None],
    }


def test_times_that_are_kept(tmp_path: Path) -> None:
    moments, days = pa.array([MOMENT, None], pa.timestamp("ns")), pa.array([date(2026, 1, 2), None])
    lists = pa.array([[date(2026, 1, 2)], None], pa.list_(pa.date32()))
    file = written(tmp_path / "a.orc", {"t": moments, "d": days, "time": moments, "lists": lists})
    seconds = TimeConversion(1, UNIT_NS["SECONDS"])
    columns = orc_columns(replace(file, keeps_times=True, times={"time": seconds}))
    kinds = [columns.types[name] for name in ("t", "d", "time", "lists")]
    assert kinds == [moments.type, days.type, pa.int64(), pa.large_list(days.type)]
    (batch,) = columns.batches(list(columns.types))
    assert [batch.columns[name] for name in ("t", "d")] == [moments, days]
    assert batch.columns["time"].to_pylist() == [MILLIS // 1000, None]
    assert batch.columns["lists"].to_pylist() == lists.to_pylist()


def test_times_in_lists_come_in_the_same_units(tmp_path: Path) -> None:
    moments = pa.array([[MOMENT, None], None, []], pa.list_(pa.timestamp("ns")))
    days = pa.array([[date(2026, 1, 2)], None, []], pa.list_(pa.date32()))
    columns = {"t": moments, "d": days, "time": moments, "day": days}
    found = read(tmp_path / "a.orc", columns, {"time": UNIT_NS["SECONDS"], "day": UNIT_NS["HOURS"]})
    assert found == {
        "t": [[MILLIS, None], None, []],
        "d": [[DAYS], None, []],
        "time": [[MILLIS // 1000, None], None, []],
        "day": [[DAYS * 24], None, []],
    }


def test_times_deeper_inside_come_as_texts(tmp_path: Path) -> None:
    kind = pa.struct([("t", pa.timestamp("ns")), ("d", pa.list_(pa.date32()))])
    rows = pa.array([{"t": MOMENT, "d": [date(2026, 1, 2)]}, None], kind)
    assert read(tmp_path / "a.orc", {"x": rows}) == {
        "x": ['{"t":"2026-01-02T03:04:05.678000000","d":["2026-01-02"]}', None]
    }


def test_unused_columns_are_not_read(tmp_path: Path) -> None:
    unreachable = pa.array([datetime(9999, 12, 31, tzinfo=UTC)], pa.timestamp("us"))
    file = written(tmp_path / "a.orc", {"n": [1], "t": unreachable, "o": [2]})
    assert orc_times(file) == {"n": None, "t": 1, "o": None}
    assert read_all(file, "n") == {"n": [1]}


@given(
    st.lists(
        st.tuples(
            st.none() | st.integers(-(2**63), 2**63 - 1),
            st.none() | st.text(st.characters(codec="utf-8"), max_size=5),
            st.none() | st.booleans(),
            st.none() | st.lists(st.integers(-9, 9), max_size=3),
        ),
        max_size=20,
    )
)
def test_all_rows_are_returned_in_order(rows: list[Any]) -> None:
    kinds = {"n": pa.int64(), "s": pa.string(), "b": pa.bool_(), "l": pa.list_(pa.int64())}
    columns = {
        name: pa.array([row[at] for row in rows], kind) for at, (name, kind) in enumerate(kinds.items())
    }
    with TemporaryDirectory() as folder:
        found = read(Path(folder, "a.orc"), columns)
    assert [*zip(*found.values(), strict=True)] == rows


def test_a_file_without_rows_has_its_columns(tmp_path: Path) -> None:
    assert read(tmp_path / "a.orc", {"n": pa.array([], pa.int64())}) == {"n": []}


def test_a_file_of_many_stripes(tmp_path: Path) -> None:
    values = list(range(200_000))
    file = written(tmp_path / "a.orc", {"n": values}, stripe_size=1000, batch_size=1000)
    assert orc.ORCFile(file.path).nstripes > 1
    assert read_all(file) == {"n": values}


def test_a_large_stripe_is_not_read_at_once(tmp_path: Path) -> None:
    texts = pa.array([f"some text that is long enough, and ends with {number}" for number in range(100)])
    values = texts.take(pa.array(np.arange(1_000_000) % 100))
    file = written(tmp_path / "a.orc", {"s": values}, stripe_size=1 << 30)
    assert orc.ORCFile(file.path).nstripes == 1
    usual = pa.default_memory_pool()
    pa.set_memory_pool(POOL)
    try:
        rows = sum(batch.rows for batch in orc_columns(file).batches(["s"]))
    finally:
        pa.set_memory_pool(usual)
    assert POOL.max_memory() < 32 << 20
    assert rows == len(values)


@pytest.mark.parametrize("damage", ["cut", "empty", "other"])
def test_a_damaged_file_is_named(tmp_path: Path, damage: str) -> None:
    file = written(tmp_path / "a.orc", {"n": list(range(1000))})
    content = file.path.read_bytes()
    file.path.write_bytes({"cut": content[: len(content) // 2], "empty": b"", "other": b"n\n1\n"}[damage])
    with pytest.raises(UnreadableFileError, match=r"a\.orc cannot be read as ORC"):
        read_all(file)


def test_a_timestamp_outside_arrows_range_is_refused(tmp_path: Path) -> None:
    file = written(
        tmp_path / "a.orc", {"t": pa.array([datetime(9999, 12, 31, tzinfo=UTC)], pa.timestamp("us"))}
    )
    with pytest.raises(UnreadableFileError, match="out of range"):
        read_all(file)


def test_a_prepared_file_is_read_like_the_others(tmp_path: Path) -> None:
    plan = TableRequirements(
        (Field("id", "STRING", True, 512), Field("none", "STRING", True, 512)), None, True
    )
    columns = SourceColumns(frozenset(["id", "none"]), frozenset(["id", "none"]))
    file = written(tmp_path / "a.orc", {"id": ["x", "y"], "extra": [1, 2]})
    (tmp_path / "ready").mkdir()
    ready = prepare(PinotTable(None, None, plan, columns, {}), file, InputRules(), tmp_path / "ready")
    assert ready.mismatch == ColumnMismatch(("none",), ("extra",))
    assert (ready.file.name, ready.file.file_format) == ("a.orc", FileFormat.ORC)
    assert ready.file.where == str(tmp_path / "a.orc")
    batches = list(open_file(ready.file, plan).batches)
    assert [batch.columns["id"].to_pylist() for batch in batches] == [["x", "y"]]
