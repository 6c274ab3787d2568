"""Parquet files are read in bounded memory, whatever the size of their row groups, and times as asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jvm_bridge.builder.model import SourceFile
from jvm_bridge.builder.planning import Field, TableRequirements
from jvm_bridge.builder.sources.file_columns import planned
from jvm_bridge.builder.sources.parquet_source import parquet_columns
from jvm_bridge.input_rules import FileFormat
from jvm_bridge.time_conversion import TimeConversion

_COLUMNS, _ROWS = 8, 1_000_000


def test_a_large_row_group_is_not_read_as_a_whole(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    names = [f"c{number}" for number in range(_COLUMNS)]
    path = tmp_path / "rows.parquet"
    table = pa.table({name: random.integers(-(2**63), 2**63 - 1, _ROWS) for name in names})
    pq.write_table(table, path, row_group_size=_ROWS, use_dictionary=False)
    del table
    fields = tuple(Field(name, "LONG", single_value=True, max_length=512) for name in names)
    source = planned(
        parquet_columns(SourceFile(path, FileFormat.PARQUET)), TableRequirements(fields, None, True)
    )
    before = pa.total_allocated_bytes()
    rows, peak = 0, 0
    for batch in source.batches:
        rows += batch.rows
        peak = max(peak, pa.total_allocated_bytes() - before)
    assert rows == _ROWS
    assert peak < path.stat().st_size / 3


@pytest.mark.parametrize("keeps_times", [False, True])
def test_times_come_as_such_or_as_stored_numbers(tmp_path: Path, keeps_times: bool) -> None:
    path = tmp_path / "times.parquet"
    columns: dict[str, tuple[Any, pa.DataType]] = {
        "day": (pa.array([-1, None], pa.date32()), pa.int32()),
        "ms": (pa.array([5, None], pa.timestamp("ms")), pa.int64()),
        "us": (pa.array([5, None], pa.timestamp("us")), pa.int64()),
        "ns": (pa.array([5, None], pa.timestamp("ns")), pa.int64()),
        "clock": (pa.array([5, None], pa.time64("us")), pa.int64()),
        "time": (pa.array([1_000, None], pa.timestamp("us")), pa.int64()),
    }
    table = pa.table({name: column for name, (column, _) in columns.items()})
    zoned = table["us"].cast(pa.timestamp("us", "Europe/Berlin"))
    lists = pa.array([[5], None], pa.list_(pa.timestamp("us")))
    table = table.append_column("zoned", zoned).append_column("lists", lists)
    pq.write_table(table.append_column("span", pa.array([5, None], pa.duration("us"))), path)
    times = {"time": TimeConversion(1_000, 1_000_000)}
    read = parquet_columns(SourceFile(path, FileFormat.PARQUET, times=times, keeps_times=keeps_times))
    (batch,) = read.batches(list(read.types))
    assert read.types == {name: column.type for name, column in batch.columns.items()}
    for name, (column, number_type) in columns.items():
        if name == "time":
            assert batch.columns[name] == pa.array([1, None])
        else:
            assert batch.columns[name] == (column if keeps_times else column.view(number_type))
    micros = pa.timestamp("us") if keeps_times else pa.int64()
    assert batch.columns["zoned"] == pa.array([5, None], micros)
    assert batch.columns["lists"] == pa.array([[5], None], pa.large_list(micros))
    assert batch.columns["span"] == pa.array([5, None])
