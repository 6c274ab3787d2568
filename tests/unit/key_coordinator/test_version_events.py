"""The events of a version, partition by partition."""

from __future__ import annotations

import numpy as np

from key_coordinator.entries import Entries
from key_coordinator.report import events_of
from key_coordinator.rules import Resolution


def entries_of(*positions: tuple[int, int]) -> Entries:
    rows = Entries.empty().take(np.zeros(0, np.intp)).rows()
    rows = np.zeros(len(positions), rows.dtype)
    rows["partition"], rows["offset"] = [p for p, _ in positions], [o for _, o in positions]
    return Entries.of_rows(rows)


def test_inserts_come_before_deletes_and_each_in_order_of_offset() -> None:
    one = Resolution(Entries.empty(), entries_of((1, 9), (1, 4), (0, 2)), entries_of((1, 2), (3, 8)))
    other = Resolution(Entries.empty(), entries_of((1, 5)), entries_of((1, 4)))
    found = {
        p: (e.version, e.offsets.tolist(), e.deleted.tolist()) for p, e in events_of([one, other], 7).items()
    }
    assert found == {
        0: (7, [2], [False]),
        1: (7, [4, 5, 9, 2, 4], [False, False, False, True, True]),
        3: (7, [8], [True]),
    }


def test_an_empty_batch_has_no_events() -> None:
    nothing = Resolution(Entries.empty(), Entries.empty(), Entries.empty())
    assert events_of([nothing], 7) == {}
