"""A server that lacks the first messages of the topic is right about every version that it calls complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from controller_client.upsert.columns import NIL
from controller_client.upsert.generation import Generation
from controller_client.upsert.update_message import Events, VersionEnd
from server_hooks.upsert.lost_messages import Hole, first_whole_version, lost

_SINCE = 3
"""The first version of the table: there was another one with its name."""
_NEVER = 1 << 40


@dataclass(frozen=True)
class Row:
    """A row of the input; of the rows of a key, the one with the greatest rank, then offset, is visible."""

    key: int
    rank: int


@dataclass
class Keys:
    """The state of a generation: the newest row of each key."""

    position: int = 0
    newest: dict[int, int] = field(default_factory=dict)

    def read(
        self, rows: list[Row], end: int, floors: Sequence[int] | None = None
    ) -> tuple[list[int], list[int]]:
        """Read rows up to an offset; return the inserted and the deleted ones.

        Args:
            rows: The input.
            end: The offset.
            floors: For each row, the first one that the table had when it was read: keys with earlier
                rows are forgotten then.
        """
        inserted, deleted = list(range(self.position, end)), []
        for offset in inserted:
            self.forget(floors[offset] if floors else 0)
            before = self.newest.setdefault(rows[offset].key, offset)
            if before != offset:
                loser, winner = sorted((before, offset), key=lambda each: (rows[each].rank, each))
                deleted.append(loser)
                self.newest[rows[offset].key] = winner
        self.position = end
        return inserted, deleted

    def forget(self, floor: int) -> None:
        """Forget the keys whose rows are gone."""
        self.newest = {key: offset for key, offset in self.newest.items() if offset >= floor}


class Coordinator:
    """One partition of the topics, and versions of it with all kinds of rebuilds."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.messages: list[Events | VersionEnd] = []
        self.version = NIL
        self.now = Keys()
        self.floor = 0
        self.floors: list[int] = []
        """For each row, the floor when it was read."""
        self.first_record = 0
        """The end of the first version whose record a rebuild found."""
        self.ended = 0
        self.generation = Generation(1, 0, "local", 0, 0, "a", since=_SINCE, resent_from=_SINCE)
        for _ in range(_SINCE):  # of the other table
            self.version += 1
            self._send([7, 9], [5], 100)

    def _send(self, inserted: list[int], deleted: list[int], end: int | None) -> None:
        for offsets, gone in ((inserted, False), (deleted, True)):
            if offsets:
                flags = np.full(len(offsets), gone, np.bool_)
                self.messages.append(Events(self.version, np.array(offsets, np.int64), flags))
        if end is not None:
            self.messages.append(VersionEnd(self.version, self.ended, end, 0))
            self.ended = end

    def expire(self, floor: int) -> None:
        """Pinot deletes the first segments."""
        self.floor = max(self.floor, min(floor, len(self.rows)))

    def send(self, rows: list[Row], again: tuple[list[int], list[int]] = ([], [])) -> None:
        """Make a version of new rows, with a rebuild's events."""
        self.rows += rows
        self.floors += [self.floor] * len(rows)
        self.version += 1
        inserted, deleted = self.now.read(self.rows, len(self.rows), self.floors)
        self._send([*inserted, *again[0]], [*deleted, *again[1]], len(self.rows))

    def rebuild_beside(self, begin: int, first_record: int, rows: list[Row]) -> None:
        """Build a new state while versions continue."""
        new, resent_from = Keys(begin), self.version + 1
        self.first_record = max(self.first_record, min(first_record, len(self.rows)))

        def again(count: int) -> tuple[list[int], list[int]]:
            floors = None if self.first_record else self.floors
            return new.read(self.rows, min(new.position + count, len(self.rows)), floors)

        for row in rows:
            self.send([row], again(2))
        self.send([], again(len(self.rows)))
        self.now = new
        self._take_over(self.version + 1, resent_from, begin)

    def rebuild_alone(self, begin: int, _first_record: int, rows: list[Row]) -> None:
        """Begin with a new state, without ends until it has caught up."""
        self._take_over(self.version + 1, self.version + 1, begin)
        self.now, until = Keys(begin), len(self.rows)
        while self.now.position < until:
            self.version += 1
            inserted, deleted = self.now.read(self.rows, min(self.now.position + 2, until))
            self._send(inserted, deleted, until if self.now.position == until else None)
        self.send(rows)

    def _take_over(self, base: int, resent_from: int, begin: int) -> None:
        number = self.generation.number + 1
        self.generation = Generation(
            number, base, "local", 0, 0, "a", since=_SINCE, resent_from=resent_from, begins={0: begin}
        )


def _hole(messages: list[Events | VersionEnd], cut: int) -> Hole | None:
    """What a server finds that begins with this message; None while no version has ended."""
    left = messages[cut:]
    ends = (message.end for message in left if isinstance(message, VersionEnd))
    end = next(ends, None)
    return None if end is None else Hole(0, cut, left[0].version, end)


def _versions_of_rows(messages: list[Events | VersionEnd]) -> dict[int, tuple[int, int]]:
    """The versions that inserted and deleted each row, for a server with these messages."""
    found: dict[int, list[int]] = {}
    for message in messages:
        if isinstance(message, Events) and message.version >= _SINCE:
            for row, gone in zip(message.offsets.tolist(), message.deleted.tolist(), strict=True):
                versions = found.setdefault(row, [_NEVER, _NEVER])
                versions[gone] = min(versions[gone], message.version)
    return {row: (begin, end) for row, (begin, end) in found.items()}


def _wrong_rows(coordinator: Coordinator, cut: int) -> dict[int, set[int]]:
    """For each version that ends after a cut: rows that are visible only with, or only without the rest."""
    whole, part = (_versions_of_rows(coordinator.messages[begin:]) for begin in (0, cut))
    wrong = {}
    for message in coordinator.messages[cut:]:
        if isinstance(message, VersionEnd):
            seen, expected = (
                {row for row, (begin, end) in found.items() if begin <= message.version < end}
                for found in (part, whole)
            )
            wrong[message.version] = seen ^ expected
    return wrong


def _replaced_by_unread(coordinator: Coordinator) -> set[int]:
    """Rows that were replaced by one that has left both the table and the input."""
    rows, begin = coordinator.rows, coordinator.generation.begins.get(0, 0)
    return {
        offset
        for offset, row in enumerate(rows)
        if any(each.key == row.key and each.rank > row.rank for each in rows[:begin])
    }


_ROWS = st.lists(st.builds(Row, st.integers(0, 3), st.integers(0, 9)), min_size=1, max_size=4)
_ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["send", "send", "expire", "beside", "alone"]),
        _ROWS,
        st.integers(0, 30),
        st.integers(0, 20),
    ),
    max_size=6,
)


@given(first=_ROWS, actions=_ACTIONS)
def test_versions_after_a_hole_are_those_of_a_server_that_read_everything(
    first: list[Row], actions: list[tuple[str, list[Row], int, int]]
) -> None:
    coordinator = Coordinator()
    coordinator.send(first)
    for action, rows, place, first_record in actions:
        if action == "expire":
            coordinator.expire(place // 3)
        if action in ("expire", "send"):
            coordinator.send(rows)
            continue
        # Kafka may have deleted the first rows of the input.
        rebuild = coordinator.rebuild_beside if action == "beside" else coordinator.rebuild_alone
        rebuild(max(0, min(place - 15, len(coordinator.rows))), first_record, rows)
    unread = _replaced_by_unread(coordinator)
    accepted = refused = 0
    for cut in range(1, len(coordinator.messages)):
        hole = _hole(coordinator.messages, cut)
        if hole is None:
            continue
        wrong = _wrong_rows(coordinator, cut)
        for floor in range(coordinator.floor, len(coordinator.rows) + 1):
            begins_at = first_whole_version(0, hole, {0: floor}, coordinator.generation)
            if begins_at is None:
                refused += 1
                assert floor < hole.row, "rows that Pinot has deleted are not needed"
                assert hole.version >= _SINCE, "messages of another table are not needed"
            else:
                accepted += 1
                is_rebuilt = floor < hole.row and hole.version >= _SINCE
                if is_rebuilt and hole.row < coordinator.first_record:
                    continue  # these messages had been deleted before the rebuild
                shown = {
                    (version, row)
                    for version, rows in wrong.items()
                    for row in rows - (unread if is_rebuilt else set())
                    if version >= begins_at and row >= floor
                }
                assert not shown, (hole, floor)
    assert accepted
    event(f"refused sometimes: {refused > 0}, rebuilt: {coordinator.generation.number > 1}")


_GENERATION = Generation(2, 90, "local", 0, 0, "a", since=10, resent_from=70, begins={0: 500, 1: 0})


@pytest.mark.parametrize(
    ("hole", "floor", "generation", "expected"),
    [
        # A new server of a table whose topic has lost the first events of rows that are there.
        (Hole(0, 40, 30, 600), 0, None, None),
        (Hole(0, 40, 30, 600), 599, Generation(1, 10, "local", 0, 0, "a", since=10, resent_from=10), None),
        # All rows whose events were deleted are gone.
        (Hole(0, 40, 30, 600), 600, _GENERATION, 10),
        (Hole(0, 40, 30, 600), 600, None, 0),
        # A rebuild has sent them again, from its first row on.
        (Hole(0, 40, 69, 600), 500, _GENERATION, 90),
        (Hole(0, 40, 69, 600), 499, _GENERATION, None),
        # Some of its messages were deleted too.
        (Hole(0, 40, 70, 600), 500, _GENERATION, None),
        # A release that did not record since when.
        (Hole(0, 40, 30, 600), 500, Generation(2, 90, "local", 0, 0, "a"), None),
        # They belong to an earlier table.
        (Hole(0, 40, 9, 600), 0, _GENERATION, 10),
        # Another topic.
        (Hole(40, 0, NIL, NIL), 600, _GENERATION, None),
    ],
)
def test_when_a_server_continues(
    hole: Hole, floor: int, generation: Generation | None, expected: int | None
) -> None:
    assert first_whole_version(0, hole, {0: floor, 1: 0}, generation) == expected


def test_a_rebuild_helps_only_if_it_has_read_all_rows_that_the_table_has() -> None:
    hole = Hole(0, 40, 69, 600)
    both = replace(_GENERATION, begins={0: 500, 1: 30})
    # A row of partition 1 that was not read again may replace one of partition 0.
    assert first_whole_version(0, hole, {0: 500, 1: 29}, both) is None
    assert first_whole_version(0, hole, {0: 500}, both) is None
    assert first_whole_version(0, hole, {0: 500, 1: 30}, both) == 90


def test_the_error_names_messages_rows_and_the_way_out() -> None:
    text = str(lost("t_REALTIME", 1, Hole(7, 40, 30, 600), {1: 500}))
    assert "partition 1: messages 7 to 39 were deleted before this server read them" in text
    assert "events of the rows 500 to 599" in text
    assert "pinotctl upsert rebuild t_REALTIME" in text
    text = str(lost("t_REALTIME", 1, Hole(40, 7, NIL, NIL), {}))
    assert "starts at offset 7, but this server has already read it up to 40" in text
