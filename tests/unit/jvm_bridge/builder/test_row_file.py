from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from jvm_bridge.builder.planning import Field, plan_column
from jvm_bridge.builder.row_file import RowFileWriter
from jvm_bridge.builder.stored import StoredColumn, store


def column(data_type: str, values: Any, default: Any, *, single_value: bool = True) -> StoredColumn:
    plan = plan_column(Field("c", data_type, single_value, 512), values.type)
    return store(plan, values, len(values), default)


def written(folder: Path, batches: list[list[StoredColumn]], rows: int, *, with_nulls: bool) -> list[bytes]:
    offsets, data = folder / "offsets", folder / "data"
    with RowFileWriter(offsets, data, with_nulls=with_nulls) as writer:
        for batch in batches:
            writer.write(batch, rows)
    starts = [*np.frombuffer(offsets.read_bytes(), dtype=">i8").tolist(), data.stat().st_size]
    content = data.read_bytes()
    return [content[start:end] for start, end in pairwise(starts)]


def test_the_bytes_of_a_row(tmp_path: Path) -> None:
    columns = [
        column("INT", pa.array([1, None], pa.int32()), -1),
        column("DOUBLE", pa.array([0.5, 2.5]), 0.0),
        column("STRING", pa.array(["ü", None]), "null"),
        column("LONG", pa.array([[7, 8], [9]], pa.list_(pa.int64())), 0, single_value=False),
        column("STRING", pa.array([["a", "bc"], None]), "x", single_value=False),
    ]
    first = struct.pack("<id", 1, 0.5) + struct.pack("<i", 2) + "ü".encode()
    first += struct.pack("<iqq", 2, 7, 8) + struct.pack("<i", 2)
    first += struct.pack("<i", 1) + b"a" + struct.pack("<i", 2) + b"bc"
    second = struct.pack("<id", -1, 2.5) + struct.pack("<i", 4) + b"null"
    second += struct.pack("<iq", 1, 9) + struct.pack("<ii", 1, 1) + b"x"
    no_nulls = struct.pack("<i", 0)
    three_nulls = struct.pack("<iiii", 3, 0, 2, 4)
    rows = written(tmp_path, [columns, columns], 2, with_nulls=True)
    assert rows == [first + no_nulls, second + three_nulls] * 2
    assert written(tmp_path, [columns], 2, with_nulls=False) == [first, second]


def test_no_rows(tmp_path: Path) -> None:
    assert written(tmp_path, [], 0, with_nulls=True) == []
