"""Rows and offsets, compared to a dictionary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.errors import DataError
from server_hooks.upsert.offset_runs import OffsetRuns


@given(
    offsets=st.lists(st.integers(0, 60), unique=True).map(sorted),
    cuts=st.lists(st.integers(0, 60)).map(sorted),
)
def test_exactly_the_rows_are_found_by_their_offsets(offsets: list[int], cuts: list[int]) -> None:
    runs = OffsetRuns()
    for begin, end in zip([0, *cuts], [*cuts, len(offsets)], strict=True):
        runs.extend(np.array(offsets[begin:end], np.int64))
    offsets_to_find = np.arange(62)
    expected = {offset: row for row, offset in enumerate(offsets)}
    assert runs.rows(offsets_to_find).tolist() == [
        expected.get(offset, -1) for offset in offsets_to_find.tolist()
    ]
    assert runs.offsets().tolist() == offsets
    assert (runs.first, runs.last) == ((offsets[0], offsets[-1]) if offsets else (-1, -1))


@pytest.mark.parametrize("offsets", [[5, 5], [5, 4], [-1, 0]])
def test_rows_that_are_not_of_an_upsert_table_are_refused(offsets: list[int]) -> None:
    with pytest.raises(DataError, match="do not ascend"):
        OffsetRuns().extend(np.array(offsets, np.int64))


def test_later_rows_follow_earlier_ones() -> None:
    runs = OffsetRuns()
    runs.extend(np.array([3, 4], np.int64))
    with pytest.raises(DataError, match="after 4"):
        runs.extend(np.array([4], np.int64))
