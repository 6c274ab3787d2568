"""Generations and requests for them in ZooKeeper."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from controller_client.common.names import TableName
from controller_client.errors import DataError
from controller_client.stream.offsets import OffsetRange
from controller_client.upsert.columns import NIL
from controller_client.upsert.generation import (
    Generation,
    Incarnation,
    RebuildRequest,
    beside,
    following,
    new_folder,
    next_request,
    read_generation,
    read_request,
    request_rebuild,
    why_new,
    write_generation,
)
from key_coordinator.state.store import delete_leftovers
from tests.unit.memory_zookeeper import memory_store

_TABLE = TableName("t_REALTIME")
_CLUSTER, _OTHER_CLUSTER = "0f" * 16, "0e" * 16
_TABLE_1 = Incarnation(41, "topic", "rules")
_TABLE_2 = Incarnation(52, "topic", "rules")


def test_a_request_contains_the_number_of_the_generation() -> None:
    store, _ = memory_store()
    assert read_generation(store, _TABLE) is None
    assert read_request(store, _TABLE) is None
    assert next_request(store, _TABLE, partitions=2) == RebuildRequest(1, 2, None)
    assert read_request(store, _TABLE) is None, "next_request must not write a request"
    assert request_rebuild(store, _TABLE).number == 1
    generation = Generation(
        3, 17, "spark", 2, 64, new_folder(_CLUSTER), _TABLE_1, 3, (4, 0), {0: 5, 11: 0}, 17, {0: 2}
    )
    write_generation(store, _TABLE, generation)
    assert read_generation(store, _TABLE) == generation
    # Two requests before it begins: one generation, with the settings of the last request.
    request_rebuild(store, _TABLE, partitions=4)
    assert request_rebuild(store, _TABLE, buckets=128) == RebuildRequest(4, None, 128)
    assert read_request(store, _TABLE) == RebuildRequest(4, None, 128)
    write_generation(store, _TABLE, Generation(4, 20, "spark", 2, 128, new_folder(_CLUSTER)))
    assert request_rebuild(store, _TABLE).number == 5


@pytest.mark.parametrize(
    "folder",
    [
        *("", ".", "..", "../../other", "/etc", "generation-", "generation-0f/..", "generation-0f\n"),
        *("generation-0F", "generation-" + "0" * 33, "s3://bucket/generation-0f", "generation-0f/../../x"),
    ],
)
def test_a_record_that_names_another_folder_is_refused(folder: str) -> None:
    store, _ = memory_store()
    generation = Generation(3, 17, "local", 0, 0, new_folder(_CLUSTER))
    write_generation(store, _TABLE, generation)
    assert read_generation(store, _TABLE) == generation
    write_generation(store, _TABLE, replace(generation, folder=folder))
    with pytest.raises(DataError, match="names the folder") as refused:
        read_generation(store, _TABLE)
    assert repr(folder) in refused.value.message


def test_only_folders_of_generations_of_the_same_cluster_are_deleted(tmp_path: Path) -> None:
    current, other = new_folder(_CLUSTER), new_folder(_CLUSTER)
    earlier, foreign = f"generation-{'0f' * 6}", new_folder(_OTHER_CLUSTER)
    kept = {earlier, foreign, "home", "generation-x", "generation-0f.bak", "generation-0a", "generation-0b"}
    for name in (current, other, earlier, foreign, "home", "generation-x", "generation-0f.bak"):
        (tmp_path / name).mkdir()
    (tmp_path / "generation-0a").write_text("a file")
    (tmp_path / "generation-0b").symlink_to(tmp_path / "home")
    delete_leftovers(tmp_path, current, _CLUSTER)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {current, *kept}


def test_ends_are_held_back_until_all_partitions_are_read() -> None:
    generation = Generation(2, 1, "spark", 1, 1, "folder", until={0: 5, 1: 0})
    assert generation.holds_back({0: 4, 1: 9})
    assert generation.holds_back({1: 9})
    assert not generation.holds_back({0: 5})


def test_a_generation_begins_after_all_versions_and_keeps_its_size_by_default() -> None:
    on_spark = partial(following, engine="spark", incarnation=_TABLE_1, partitions=2, buckets=64)
    offsets = {0: OffsetRange(3, 7), 1: OffsetRange(0, 0)}
    begins = {0: 3, 1: 0}
    first = on_spark(None, None, NIL, offsets, folder="a")
    assert first == Generation(1, 0, "spark", 2, 64, "a", _TABLE_1, resent_from=0, begins=begins)
    asked = on_spark(None, RebuildRequest(1, partitions=5), NIL, offsets, folder="a")
    assert asked == Generation(1, 0, "spark", 5, 64, "a", _TABLE_1, resent_from=0, begins=begins)
    now = Generation(3, 17, "spark", 4, 32, "a", _TABLE_1, since=9)
    # What all that follow the third have in common.
    begun = partial(Generation, resent_from=21, begins=begins, until={0: 7, 1: 0})
    # The request for the current generation is met; its checkpoint was lost.
    again = on_spark(now, RebuildRequest(3, 9, 9), 20, offsets, folder="b")
    assert again == begun(4, 21, "spark", 4, 32, "b", _TABLE_1, 9)
    rebuilt = on_spark(now, RebuildRequest(4, None, 128), 20, offsets, folder="b")
    assert rebuilt == begun(4, 21, "spark", 4, 128, "b", _TABLE_1, 9)
    moved = following(now, None, 20, offsets, engine="local", incarnation=_TABLE_1, folder="b")
    assert moved == begun(4, 21, "local", 0, 0, "b", _TABLE_1, 9)


def test_a_new_table_of_the_same_name_begins_after_the_versions_of_the_old_one() -> None:
    now = Generation(3, 17, "local", 0, 0, "a", _TABLE_1, since=9)
    offsets = {0: OffsetRange(0, 7)}
    new = following(now, None, 20, offsets, engine="local", incarnation=_TABLE_2, folder="b")
    # Queries see no rows of the new table yet, so its first version becomes visible at once.
    assert new == Generation(
        4, 21, "local", 0, 0, "b", _TABLE_2, since=21, until={}, resent_from=21, begins={0: 0}
    )


def test_one_that_is_built_beside_sends_its_events_before_it_takes_over() -> None:
    now = Generation(3, 17, "local", 0, 0, "a", _TABLE_1, since=9, until={0: 4}, resent_from=17)
    new = beside(now, 4, 30, {0: OffsetRange(2, 7)}, "b")
    assert new == Generation(
        4, 17, "local", 0, 0, "b", _TABLE_1, since=9, until={}, resent_from=31, begins={0: 2}
    )


def test_why_a_generation_begins() -> None:
    now = Generation(3, 17, "local", 0, 0, "a", _TABLE_1)
    assert why_new(None, "local", None, _TABLE_1) == "it is the first generation"
    assert why_new(now, "local", RebuildRequest(3), _TABLE_1) is None
    assert why_new(now, "local", RebuildRequest(4), _TABLE_1) == "a rebuild was requested"
    assert why_new(now, "spark", None, _TABLE_1) == "the current generation belongs to the engine local"
    assert why_new(now, "local", None, _TABLE_2) == "the table was recreated"


def test_a_checkpoint_behind_the_sent_versions_does_not_belong_to_the_generation() -> None:
    now = Generation(3, 17, "spark", 4, 32, "a")
    assert now.has_sent(16, None)  # killed before its first batch
    assert now.has_sent(16, 0)
    assert now.has_sent(20, 3)
    assert not now.has_sent(20, 2)
    assert not now.has_sent(17, None)
