"""A table that is deleted and created again with the same name and topics is a different table."""

from __future__ import annotations

import pytest

from controller_client.upsert.generation import read_generation
from tests.integration.upsert.oracle.conftest import MakePlace
from tests.integration.upsert.oracle.history import Ends
from tests.integration.upsert.oracle.keys import KEY
from tests.integration.upsert.oracle.place import Place
from tests.support.deleting import create_again, delete_realtime
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.kafka, FULL]

_KEYS = 300
_TIMEOUT_S = 300.0


def test_a_table_recreated_with_another_key_shows_no_rows_of_the_old_one(make_place: MakePlace) -> None:
    place = make_place(50_000, "local")
    place.feed.insert(_KEYS)
    place.feed.update(_KEYS, 2_000)
    place.wait_answered()
    place.kill_coordinator()
    newest = place.reader.newest()
    assert newest is not None
    shown = newest.numbers
    former = read_generation(place.store, place.full_name)
    delete_realtime(place.client, place.full_name)
    place.reader.answers.clear()
    create_again(place.client, place.full_name, lambda: place.create([*KEY, "value"]))
    expected = _numbers(place, place.input.read_on())
    assert expected[0] > _KEYS
    place.start()

    def seen() -> bool:
        place.check_running()
        newest = place.reader.newest()
        return newest is not None and newest.numbers == expected

    wait_for(seen, f"{expected}", _TIMEOUT_S)
    generation = read_generation(place.store, place.full_name)
    assert former is not None
    assert generation is not None
    assert generation.since > former.base
    # A query in progress during the deletion sees the old table; until the new one's first version there
    # is no answer.
    place.reader.stop()
    right = {
        version: _numbers(place, ends)
        for version, ends in place.versions().items()
        if version >= generation.since
    }
    for answer in place.reader.answers:
        version = answer.versions[place.full_name]
        assert answer.numbers == (right[version] if version >= generation.since else shown)


def _numbers(place: Place, ends: Ends) -> tuple[int, int, int]:
    """What a query must show of the records before these offsets.

    Each record other than a tombstone has its own key; a tombstone's key has no value and matches no record.
    """
    triples = {
        (holder, account, value)
        for partition, end in enumerate(ends)
        for _, holder, account, _, value, tombstone in place.input.rows(partition, 0, end)
        if not tombstone
    }
    return (
        len(triples),
        sum(value for _, _, value in triples),
        sum(account for _, account, _ in triples),
    )
