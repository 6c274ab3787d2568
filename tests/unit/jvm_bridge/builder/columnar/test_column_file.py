from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from jvm_bridge.builder.columnar.column_file import ColumnFileWriter
from jvm_bridge.builder.columnar.stored import FixedColumn, ListColumn, StoredColumn, store
from jvm_bridge.builder.planning import Field, plan_column
from jvm_bridge.builder.sources.source import Batch

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
def test_the_blocks_of_a_column_are_its_rows(rows: list[Any], cuts: set[int]) -> None:
    batch = batch_of(rows)
    bounds = [0, *sorted(cut for cut in cuts if cut < len(rows)), len(rows)]
    parts = [batch.slice(start, end - start) for start, end in pairwise(bounds)]
    assert [part.rows for part in parts] == [end - start for start, end in pairwise(bounds)]
    columns = [stored(part) for part in parts]
    with TemporaryDirectory() as folder, ColumnFileWriter(Path(folder, "columns"), len(FIELDS)) as writer:
        for part, of_part in zip(parts, columns, strict=True):
            writer.write(of_part, part.rows)
        assert writer.rows == len(rows)
        whole = stored(batch)
        for number, column in enumerate(whole):
            read = read_column(Path(folder, "columns"), writer.blocks(number), column)
            assert read == plain(column), list(FIELDS)[number]


def plain(column: StoredColumn) -> tuple[list[Any], list[int], list[int]]:
    """Return a column's values, their number by row, and the null rows."""
    nulls = [] if column.nulls is None else np.flatnonzero(column.nulls).tolist()
    values = column.values if isinstance(column, ListColumn) else column
    lengths = np.diff(column.offsets).tolist() if isinstance(column, ListColumn) else []
    found = values.values.tolist() if isinstance(values, FixedColumn) else values.values.to_pylist()
    return found, lengths, nulls


def read_column(path: Path, blocks: Any, like: StoredColumn) -> tuple[list[Any], list[int], list[int]]:
    """Read a column back as Java does."""
    data = path.read_bytes()
    values: list[Any] = []
    all_lengths: list[int] = []
    all_nulls: list[int] = []
    rows_before = 0
    kind = like.values if isinstance(like, ListColumn) else like
    for block in blocks.reshape(-1, 9).tolist():
        rows, at, count, lengths_at, nulls_at, nulls, ends_at, texts, text_at = block
        if isinstance(kind, FixedColumn):
            values += np.frombuffer(data, kind.values.dtype, count, at).tolist()
        else:
            ends = [0, *np.frombuffer(data, "<i4", texts, ends_at).tolist()]
            words = [data[text_at + start : text_at + end] for start, end in pairwise(ends)]
            values += [words[index] for index in np.frombuffer(data, "<i4", count, at).tolist()]
            assert len(set(words)) == len(words)
        if lengths_at >= 0:
            all_lengths += np.frombuffer(data, "<i4", rows, lengths_at).tolist()
        if nulls:
            all_nulls += (np.frombuffer(data, "<i4", nulls, nulls_at) + rows_before).tolist()
        rows_before += rows
    return values, all_lengths, all_nulls


def test_a_slice_ends_with_the_batch() -> None:
    batch = Batch({"a": pa.array([1, 2, 3])}, 3)
    assert (batch.slice(1, 10).rows, batch.slice(1, 10).columns["a"].to_pylist()) == (2, [2, 3])
    assert batch.slice(0, 0).rows == 0
