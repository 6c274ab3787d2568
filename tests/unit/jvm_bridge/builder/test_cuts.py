from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jvm_bridge.builder import row_file
from jvm_bridge.builder.planning import Field, plan_column
from jvm_bridge.builder.row_file import RowFileFull, RowFileWriter
from jvm_bridge.builder.source import Batch
from jvm_bridge.builder.stored import StoredColumn, store

FIELDS: dict[str, tuple[str, pa.DataType, Any]] = {
    "i": ("INT", pa.int32(), -1),
    "d": ("DOUBLE", pa.string(), 0.5),
    "o": ("BOOLEAN", pa.bool_(), 0),
    "s": ("STRING", pa.string(), "none"),
    "b": ("BYTES", pa.string(), b"\xff"),
    "mi": ("LONG", pa.list_(pa.int64()), 7),
    "ms": ("STRING", pa.large_list(pa.large_string()), "x"),
}
_NUMBERS = st.integers(-(2**31), 2**31 - 1)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "i": st.none() | _NUMBERS,
            "d": st.none() | _NUMBERS.map(str),
            "o": st.none() | st.booleans(),
            "s": st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
            "b": st.none() | st.binary(max_size=4).map(bytes.hex),
            "mi": st.none() | st.lists(st.none() | _NUMBERS, max_size=3),
            "ms": st.none() | st.lists(st.none() | st.sampled_from(["", "a", "ü"]), max_size=3),
        }
    ),
    min_size=1,
    max_size=12,
)
PLANS = {
    name: plan_column(Field(name, kind, not name.startswith("m"), 512), source)
    for name, (kind, source, _) in FIELDS.items()
}


def stored(batch: Batch) -> list[StoredColumn]:
    return [store(PLANS[name], batch.columns[name], batch.rows, FIELDS[name][2]) for name in FIELDS]


def batch_of(rows: list[dict[str, Any]]) -> Batch:
    columns = {name: pa.array([row[name] for row in rows], kind) for name, (_, kind, _) in FIELDS.items()}
    return Batch(columns, len(rows))


@given(rows=ROWS, cuts=st.sets(st.integers(1, 11)))
def test_the_parts_of_a_batch_are_its_rows(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], cuts: set[int]
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    batch = batch_of(rows)
    bounds = [0, *sorted(cut for cut in cuts if cut < len(rows)), len(rows)]
    parts = [batch.slice(start, end - start) for start, end in pairwise(bounds)]
    assert [part.rows for part in parts] == [end - start for start, end in pairwise(bounds)]
    files = []
    for name, batches in (("whole", [batch]), ("parts", parts)):
        with RowFileWriter(folder / f"{name}.offsets", folder / name, with_nulls=True) as writer:
            for each in batches:
                writer.write(stored(each), each.rows)
        files.append((folder / name).read_bytes() + (folder / f"{name}.offsets").read_bytes())
    assert files[0] == files[1]


def test_a_slice_ends_with_the_batch() -> None:
    batch = Batch({"a": pa.array([1, 2, 3])}, 3)
    assert (batch.slice(1, 10).rows, batch.slice(1, 10).columns["a"].to_pylist()) == (2, [2, 3])
    assert batch.slice(0, 0).rows == 0


def test_a_full_row_file_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_file, "MAX_BYTES", 20)
    plan = plan_column(Field("l", "LONG", True, 512), pa.int64())
    two_rows = [store(plan, pa.array([1, 2]), 2, 0)]
    with RowFileWriter(tmp_path / "offsets", tmp_path / "data", with_nulls=False) as writer:
        writer.write(two_rows, 2)
        with pytest.raises(RowFileFull, match="more than 20 bytes"):
            writer.write(two_rows, 2)
        assert (writer.rows, writer.size_bytes) == (2, 16)
    assert (tmp_path / "data").stat().st_size == (tmp_path / "offsets").stat().st_size == 16
