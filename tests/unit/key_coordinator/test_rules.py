"""Compares resolution with a model that keeps everything in dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.errors import DataError
from key_coordinator.entries import Entries
from key_coordinator.rules import live, resolve


@dataclass(frozen=True, order=True)
class Record:
    """A record; the greatest record of a key wins."""

    order: int
    offset: int
    partition: int
    tombstone: bool
    key: int


Position = tuple[int, int]
"""Partition and offset."""

# Keys whose hashes have one half in common, so that both halves have to be compared.
_HASHES = [(high, low) for high in (0, 7, 2**64 - 1) for low in (0, 1, 2**64 - 1)]


def entries_of(records: Sequence[Record]) -> Entries:
    return Entries(
        np.array([_HASHES[r.key][0] for r in records], np.uint64),
        np.array([_HASHES[r.key][1] for r in records], np.uint64),
        np.array([r.partition for r in records], np.int32),
        np.array([r.offset for r in records], np.int64),
        np.array([r.order for r in records], np.int64),
        np.array([r.tombstone for r in records], bool),
    )


def positions_of(entries: Entries) -> list[Position]:
    return list(zip(entries.partition.tolist(), entries.offset.tolist(), strict=True))


@st.composite
def streams(draw: st.DrawFn) -> list[list[Record]]:
    """Draw batches: each position has one record; batches may repeat records."""
    positions = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), unique=True, max_size=24))
    records = [
        Record(
            order=draw(st.integers(-2, 3)),
            offset=offset,
            partition=partition,
            tombstone=draw(st.booleans()),
            key=draw(st.integers(0, len(_HASHES) - 1)),
        )
        for partition, offset in positions
    ]
    records += draw(st.lists(st.sampled_from(records), max_size=6)) if records else []
    order = draw(st.permutations(records))
    cuts = sorted(draw(st.lists(st.integers(0, len(order)), max_size=5)))
    return [list(order[a:b]) for a, b in zip([0, *cuts], [*cuts, len(order)], strict=True)]


@given(streams())
def test_the_visible_rows_are_the_models_at_every_version(batches: list[list[Record]]) -> None:
    state = Entries.empty()
    inserted: dict[Position, int] = {}
    deleted: dict[Position, int] = {}
    seen_so_far: list[Record] = []
    for version, batch in enumerate(batches):
        records = entries_of(batch)
        positions = state.positions(records)
        result = resolve(state.take(np.unique(positions[positions >= 0])), records)
        state = Entries.unpack(state.merged(result.entries).pack())
        events = positions_of(result.inserted)
        assert len(events) == len(set(events))
        for position in events:
            inserted.setdefault(position, version)  # first wins
        for position in positions_of(result.deleted):
            deleted.setdefault(position, version)
        seen_so_far += batch

        newest: dict[int, Record] = {}
        for record in seen_so_far:
            newest[record.key] = max(newest.get(record.key, record), record)
        visible = {position for position in inserted if position not in deleted}
        assert visible == {(r.partition, r.offset) for r in newest.values() if not r.tombstone}
        assert inserted.keys() == {(r.partition, r.offset) for r in seen_so_far if not r.tombstone}
        assert set(positions_of(state)) == {(r.partition, r.offset) for r in newest.values()}


@given(streams())
def test_a_stream_that_is_sent_again_changes_nothing(batches: list[list[Record]]) -> None:
    """As in a rebuild: resend everything, split differently."""
    inserted: set[Position] = set()
    deleted: set[Position] = set()

    def run(parts: Sequence[Sequence[Record]]) -> None:
        state = Entries.empty()
        for part in parts:
            result = resolve(state, entries_of(part))
            state = state.merged(result.entries)
            inserted.update(positions_of(result.inserted))
            deleted.update(positions_of(result.deleted))

    run(batches)
    before = set(inserted), set(deleted)
    run([[record] for batch in batches for record in batch])
    assert (inserted - deleted) == (before[0] - before[1])
    assert inserted == before[0]


def test_a_key_is_kept_until_the_first_segment_begins_after_its_row() -> None:
    state = entries_of(
        [
            Record(0, offset, partition, False, key)
            for key, (offset, partition) in enumerate([(4, 0), (5, 0), (0, 1), (3, 2)])
        ]
    )
    assert live(state, [5, 0]).tolist() == [False, True, True, True]
    assert live(state, []).all()


def test_invalid_data_are_refused() -> None:
    whole = entries_of([Record(0, 1, 0, False, 1)]).pack()
    for wrong in (b"", b"PPK2x", whole[:-1], b"x" + whole[1:]):
        with pytest.raises(DataError, match="state of a bucket"):
            Entries.unpack(wrong)
