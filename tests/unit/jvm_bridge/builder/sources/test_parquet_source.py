"""Parquet files are read in bounded memory, whatever the size of their row groups."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from jvm_bridge.builder.model import SourceFile
from jvm_bridge.builder.planning import Field, TableRequirements
from jvm_bridge.builder.sources.file_columns import planned
from jvm_bridge.builder.sources.parquet_source import parquet_columns
from jvm_bridge.input_rules import FileFormat

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
