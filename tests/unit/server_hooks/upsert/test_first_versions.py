"""The first version of each row counts, in whichever order versions arrive."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from controller_client.upsert.columns import NIL
from server_hooks.upsert.first_versions import write_first

_ROWS = 6
_PAIRS = st.lists(st.tuples(st.integers(0, _ROWS - 1), st.integers(0, 4)), max_size=12)


@given(
    before=st.lists(st.integers(NIL, 4), min_size=2 * _ROWS, max_size=2 * _ROWS),
    written=st.tuples(_PAIRS, _PAIRS),
    kind=st.sampled_from(["<i8", ">i8"]),
)
def test_the_lowest_version_of_each_row_stays(
    before: list[int], written: tuple[list[tuple[int, int]], list[tuple[int, int]]], kind: str
) -> None:
    columns = np.array(before, kind).reshape(2, _ROWS)
    parts = [np.array(pairs, np.int64).reshape(-1, 2) for pairs in written]
    expected = columns.tolist()
    for column, pairs in zip(expected, written, strict=True):
        for row, version in pairs:
            if column[row] == NIL or version < column[row]:
                column[row] = version
    was = columns.tolist()
    changes = write_first(list(columns), [(part[:, 0], part[:, 1]) for part in parts])
    assert columns.tolist() == expected
    changed = [
        (number, row, expected[number][row])
        for number in (0, 1)
        for row in range(_ROWS)
        if expected[number][row] != was[number][row]
    ]
    if changes is None:
        assert not changed
        return
    halves = [0] * changes.inserted + [1] * (len(changes.rows) - changes.inserted)
    assert list(zip(halves, changes.rows.tolist(), changes.versions.tolist(), strict=True)) == changed
    assert changes.lower == any(was[number][row] != NIL for number, row, _ in changed)
