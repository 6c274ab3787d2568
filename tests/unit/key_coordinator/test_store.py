"""Compares the state on disk with a dictionary, across restarts and with damaged files."""

from __future__ import annotations

import random
import stat
from pathlib import Path

import numpy as np
import pytest

from key_coordinator.entries import Entries
from key_coordinator.state.store import KeyStore, StoredUpTo
from tests.support.tiers import FULL
from tests.support.wait import wait_for

# Few upper halves, so that both halves have to be compared; some at both ends of the range.
_HIGHS = [0, 1, 2**63, 2**64 - 1, *(each * 0x9E3779B97F4A7C15 % 2**64 for each in range(1, 40))]
_LOWS = [0, 1, 7, 2**64 - 1]
_Key = tuple[int, int]


def entries_of(offsets: dict[_Key, int]) -> Entries:
    keys = sorted(offsets)
    return Entries(
        np.array([high for high, _ in keys], np.uint64),
        np.array([low for _, low in keys], np.uint64),
        np.array([offsets[key] % 3 for key in keys], np.int32),
        np.array([offsets[key] for key in keys], np.int64),
        np.array([-offsets[key] for key in keys], np.int64),
        np.array([offsets[key] % 5 == 0 for key in keys], bool),
    )


def all_of(store: KeyStore, floors: tuple[int, ...] = ()) -> dict[_Key, int]:
    found = store.known(entries_of({(high, low): 0 for high in _HIGHS for low in _LOWS}), floors)
    assert (found.order == -found.offset).all()
    assert (found.tombstone == (found.offset % 5 == 0)).all()
    assert (found.partition == found.offset % 3).all()
    pairs = zip(found.high.tolist(), found.low.tolist(), strict=True)
    return dict(zip(pairs, found.offset.tolist(), strict=True))


def up_to(version: int, floors: tuple[int, ...] = ()) -> StoredUpTo:
    return StoredUpTo(1, version, {0: version, 1: 2 * version}, floors, keys=version, refused=3)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=FULL) for seed in range(2, 6))])
def test_it_returns_what_a_dictionary_returns(seed: int, tmp_path: Path) -> None:
    choose = random.Random(seed)
    store = KeyStore(tmp_path / "state", in_memory=choose.choice([1, 9, 40]))
    model: dict[_Key, int] = {}
    for version in range(120):
        batch = {
            (choose.choice(_HIGHS), choose.choice(_LOWS)): version * 100 + number
            for number in range(choose.randrange(12))
        }
        store.put(entries_of(batch), up_to(version), rows=len(batch))
        model |= batch
        assert all_of(store) == model
        if choose.random() < 0.2:
            store.write()
            assert store.up_to == up_to(version)
        if choose.random() < 0.1:
            store.write()
            store.close()
            store = KeyStore(tmp_path / "state", in_memory=choose.choice([1, 9, 40]))
            assert store.up_to == up_to(version)
            assert all_of(store) == model
    store.close()


def test_other_users_of_the_machine_do_not_read_it(tmp_path: Path) -> None:
    KeyStore(tmp_path / "state").close()
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700


def test_files_are_merged_in_the_background(tmp_path: Path) -> None:
    store = KeyStore(tmp_path, in_memory=1)
    for version in range(30):
        store.put(entries_of({(version, 0): version}), up_to(version), rows=1)

    def few() -> bool:
        store.put(Entries.empty(), up_to(30), rows=0)
        return len(list(tmp_path.glob("*.run"))) <= 3

    wait_for(few, "files to be merged", interval_s=0.01)
    store.close()
    found = KeyStore(tmp_path).known(entries_of({(version, 0): 0 for version in range(30)}))
    assert sorted(found.offset.tolist()) == [*range(30)]


def test_a_kill_loses_only_the_records_in_memory(tmp_path: Path) -> None:
    store = KeyStore(tmp_path)
    store.put(entries_of({(1, 1): 10}), up_to(1), rows=1)
    store.write()
    store.put(entries_of({(1, 1): 20, (2**63, 0): 21}), up_to(2), rows=2)
    again = KeyStore(tmp_path)
    assert again.up_to == up_to(1)
    assert all_of(again) == {(1, 1): 10}


def test_a_key_below_its_floor_is_not_returned_and_a_merge_drops_it(tmp_path: Path) -> None:
    store = KeyStore(tmp_path)
    old = {(0, 0): 3, (1, 0): 4, (2**63, 0): 5, (2**64 - 1, 7): 9}
    store.put(entries_of(old), up_to(4), rows=4)
    store.write()
    floors = (4, 4, 9)  # of partitions 0, 1 and 2
    store.put(entries_of({(1, 1): 12}), up_to(5, floors), rows=1)
    assert all_of(store, floors) == {(1, 0): 4, (2**64 - 1, 7): 9, (1, 1): 12}
    assert all_of(store).keys() > old.keys()
    store.write()

    def gone() -> bool:
        store.put(Entries.empty(), up_to(6, floors), rows=0)
        return all_of(store) == {(1, 0): 4, (2**64 - 1, 7): 9, (1, 1): 12}

    wait_for(gone, "keys to be dropped", interval_s=0.01)
    store.close()
    assert all_of(KeyStore(tmp_path)).keys() == {(1, 0), (2**64 - 1, 7), (1, 1)}


@pytest.mark.parametrize("name", ["manifest.json", "00000001.run"])
@pytest.mark.parametrize("wrong", [b"", b"{}", b"x" * 500])
def test_a_damaged_state_counts_as_empty(name: str, wrong: bytes, tmp_path: Path) -> None:
    store = KeyStore(tmp_path)
    store.put(entries_of({(1, 1): 10}), up_to(1), rows=1)
    store.close()
    (tmp_path / name).write_bytes(wrong)
    store = KeyStore(tmp_path)
    assert store.up_to is None
    assert all_of(store) == {}
    store.put(entries_of({(1, 1): 11}), up_to(0), rows=1)
    store.close()
    assert all_of(KeyStore(tmp_path)) == {(1, 1): 11}


def test_a_new_state_begins_empty(tmp_path: Path) -> None:
    store = KeyStore(tmp_path)
    store.put(entries_of({(1, 1): 10}), up_to(1), rows=1)
    store.write()
    store.begin(StoredUpTo(2, 7))
    assert all_of(store) == {}
    store.close()
    again = KeyStore(tmp_path)
    assert again.up_to == StoredUpTo(2, 7)
    assert all_of(again) == {}


def test_records_that_a_full_disk_refused_are_written_later(tmp_path: Path) -> None:
    store = KeyStore(tmp_path)
    store.put(entries_of({(1, 1): 10}), up_to(1), rows=1)
    full = tmp_path / "00000001.run"
    full.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        store.write()
    assert all_of(store) == {(1, 1): 10}
    assert KeyStore(tmp_path / "other").up_to is None
    store.put(entries_of({(2**63, 0): 11}), up_to(2), rows=1)
    store.write()
    assert all_of(store) == {(1, 1): 10, (2**63, 0): 11}
    store.close()
    again = KeyStore(tmp_path)
    assert again.up_to == up_to(2)
    assert all_of(again) == {(1, 1): 10, (2**63, 0): 11}
    assert not full.exists()
