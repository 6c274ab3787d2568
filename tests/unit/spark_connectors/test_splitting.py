from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_connectors.write.splitting import split


def batch_of(rows: list[tuple[int, int]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            "partition": pa.array([row[0] for row in rows], pa.int32()),
            "n": pa.array([row[1] for row in rows], pa.int64()),
        }
    )


def ids_of(batch: pa.RecordBatch) -> npt.NDArray[np.int32]:
    return np.asarray(batch["partition"].to_numpy())


@given(st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers()))))
def test_each_partition_has_its_rows_in_order(given_rows: list[list[tuple[int, int]]]) -> None:
    rows = [[(partition, number % 2**60) for partition, number in each] for each in given_rows]
    everything = [row for each in rows for row in each]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = {
            partition: [(row["partition"], row["n"]) for batch in batches for row in batch.to_pylist()]
            for partition, batches in split(iter(map(batch_of, rows)), ids_of, folder)
        }
        assert not list(folder.iterdir())
    assert list(found) == sorted({partition for partition, _ in everything})
    for partition, own in found.items():
        assert own == [row for row in everything if row[0] == partition]


def test_nothing_is_yielded_before_all_rows_were_checked(tmp_path: Path) -> None:
    def refuse_three(batch: pa.RecordBatch) -> npt.NDArray[np.int32]:
        ids = ids_of(batch)
        if (ids == 3).any():
            raise ValueError("three")
        return ids

    batches = [batch_of([(1, 1), (2, 2)]), batch_of([(3, 3)])]
    with pytest.raises(ValueError, match="three"):
        next(split(iter(batches), refuse_three, tmp_path))
