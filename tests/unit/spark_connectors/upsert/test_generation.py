"""Generations and requests for them, as ZooKeeper keeps them."""

from __future__ import annotations

from controller_client.common.names import TableName
from controller_client.upsert.columns import NIL
from spark_connectors.upsert.generation import (
    Generation,
    RebuildRequest,
    following,
    next_request,
    read_generation,
    read_request,
    request_rebuild,
    write_generation,
)
from tests.unit.memory_zookeeper import memory_store

_TABLE = TableName("t_REALTIME")


def test_a_request_names_the_generation_that_is_wanted() -> None:
    store, _ = memory_store()
    assert read_generation(store, _TABLE) is None
    assert read_request(store, _TABLE) is None
    assert next_request(store, _TABLE, partitions=2) == RebuildRequest(1, 2, None)
    assert read_request(store, _TABLE) is None, "asking what would be requested requests nothing"
    assert request_rebuild(store, _TABLE).number == 1
    generation = Generation(3, 17, 2, 64, "folder", {0: 5, 11: 0})
    write_generation(store, _TABLE, generation)
    assert read_generation(store, _TABLE) == generation
    # Asked twice before it began: one generation, with what was asked last.
    request_rebuild(store, _TABLE, partitions=4)
    assert request_rebuild(store, _TABLE, buckets=128) == RebuildRequest(4, None, 128)
    assert read_request(store, _TABLE) == RebuildRequest(4, None, 128)
    write_generation(store, _TABLE, Generation(4, 20, 2, 128, "other"))
    assert request_rebuild(store, _TABLE).number == 5


def test_ends_are_held_back_for_partitions_that_are_not_read_yet() -> None:
    generation = Generation(2, 1, 1, 1, "folder", {0: 5, 1: 0})
    assert generation.holds_back({0: 4, 1: 9})
    assert generation.holds_back({1: 9})
    assert not generation.holds_back({0: 5})


def test_a_generation_begins_after_all_versions_and_keeps_its_size_unless_told() -> None:
    sizes = {"partitions": 2, "buckets": 64}
    offsets = {0: 7, 1: 0}
    first = following(None, None, NIL, offsets, folder="a", **sizes)
    assert first == Generation(1, 0, 2, 64, "a")
    asked = following(None, RebuildRequest(1, partitions=5), NIL, offsets, folder="a", **sizes)
    assert asked == Generation(1, 0, 5, 64, "a")
    now = Generation(3, 17, 4, 32, "a")
    # The request of the present generation is met; its checkpoint was lost.
    again = following(now, RebuildRequest(3, 9, 9), 20, offsets, folder="b", **sizes)
    assert again == Generation(4, 21, 4, 32, "b", offsets)
    rebuilt = following(now, RebuildRequest(4, None, 128), 20, offsets, folder="b", **sizes)
    assert rebuilt == Generation(4, 21, 4, 128, "b", offsets)


def test_a_checkpoint_that_is_behind_what_was_sent_is_not_the_generations() -> None:
    now = Generation(3, 17, 4, 32, "a")
    assert now.has_sent(16, None)  # killed before its first batch
    assert now.has_sent(16, 0)
    assert now.has_sent(20, 3)
    assert not now.has_sent(20, 2)
    assert not now.has_sent(17, None)
