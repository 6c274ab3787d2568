"""The state of a bucket over many batches, compared with a state in one value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from key_coordinator.entries import Entries
from key_coordinator.rules import Resolution, resolve
from spark_connectors.upsert.bucket_state import BucketState, EntriesCache, advance

_KEYS = 4_000


class Value:
    """A state variable that counts the bytes read and written."""

    def __init__(self) -> None:
        self.value: bytes | None = None
        self.read = self.written = 0

    def get(self) -> tuple[bytes] | None:
        if self.value is None:
            return None
        self.read += len(self.value)
        return (self.value,)

    def update(self, newValue: tuple[bytes]) -> None:  # noqa: N803  # Spark's name
        (self.value,) = newValue
        self.written += len(self.value)


class Log:
    """A list that counts the bytes read and written."""

    def __init__(self) -> None:
        self.values: list[bytes] = []
        self.read = self.written = 0

    def get(self) -> Iterator[tuple[bytes]]:
        for value in self.values:
            self.read += len(value)
            yield (value,)

    def appendValue(self, newState: tuple[bytes]) -> None:  # noqa: N802, N803  # Spark's names
        self.values.append(newState[0])
        self.written += len(newState[0])

    def clear(self) -> None:
        self.values.clear()


class Bucket:
    """One bucket with the worker's cache."""

    def __init__(self) -> None:
        self.head, self.newer, self.base = Value(), Log(), Value()
        self.cache = EntriesCache(1_000_000)
        self.floors: tuple[int, ...] = ()
        self.keys = 0

    def advance(self, records: Entries) -> Resolution:
        state = BucketState(self.head, self.newer, self.base)
        result, growth = advance(state, self.cache, records, self.floors)
        self.keys += growth
        return result

    @property
    def content(self) -> tuple[bytes | None, tuple[bytes, ...], bytes | None]:
        """The state that Spark stores."""
        return self.head.value, tuple(self.newer.values), self.base.value

    @content.setter
    def content(self, content: tuple[bytes | None, tuple[bytes, ...], bytes | None]) -> None:
        self.head.value, self.newer.values, self.base.value = content[0], list(content[1]), content[2]


def batch(random: np.random.Generator, number: int, size: int) -> Entries:
    """Records with random keys and times; offsets continue from batch to batch."""
    keys = random.integers(0, _KEYS, size).astype(np.uint64)
    return Entries(
        keys * np.uint64(2**50 + 1),
        keys,
        np.zeros(size, np.int32),
        np.arange(size, dtype=np.int64) + number * size,
        random.integers(0, 10**6, size),
        random.random(size) < 0.1,
    )


def same(left: Entries, right: Entries) -> bool:
    def rows(entries: Entries) -> list[tuple[object, ...]]:
        return sorted(zip(*(column.tolist() for column in entries.columns()), strict=True))

    return rows(left) == rows(right)


def test_the_state_equals_a_single_value_and_writes_much_less() -> None:
    random, bucket, whole = np.random.default_rng(1), Bucket(), Entries.empty()
    written = 0
    for number in range(150):
        records = batch(random, number, 100)
        expected = resolve(whole, records)
        whole = whole.merged(expected.entries)
        found = bucket.advance(records)
        assert same(found.inserted, expected.inserted)
        assert same(found.deleted, expected.deleted)
        assert bucket.keys == len(whole)
        written += len(whole.pack())
    assert bucket.newer.written + bucket.base.written < written / 4
    assert bucket.base.read == bucket.newer.read == 0  # the worker has cached what it wrote itself


def test_a_repeated_task_has_the_same_effect_with_any_cache() -> None:
    random, bucket = np.random.default_rng(2), Bucket()
    for number in range(40):
        records = batch(random, number, 100)
        before = bucket.content
        bucket.advance(batch(random, number, 100))  # a run whose state Spark discarded
        bucket.content = before
        again = Bucket()
        again.content = before
        shuffled = records.take(random.permutation(len(records)))
        mine, other = bucket.advance(records), again.advance(shuffled)
        assert same(mine.inserted, other.inserted)
        assert same(mine.deleted, other.deleted)
        assert bucket.content == again.content


@pytest.mark.parametrize("floor", [0, 1])
def test_a_key_is_known_while_its_row_exists(floor: int) -> None:
    """Afterwards its old record is no longer deleted, and an older record counts like that of a new key."""
    random, bucket = np.random.default_rng(3), Bucket()
    first = replace(batch(random, 0, 1), tombstone=np.array([False]))
    bucket.advance(first)
    bucket.floors = (floor,)
    later = replace(first, offset=first.offset + 1, order=first.order - 1)
    result = bucket.advance(later)
    assert len(result.inserted) == 1
    assert result.deleted.offset.tolist() == ([] if floor else [1])


def test_keys_without_rows_are_forgotten_when_the_base_is_rewritten() -> None:
    random, bucket = np.random.default_rng(4), Bucket()
    for number in range(60):
        bucket.floors = (max(0, (number - 10) * 100),)
        bucket.advance(batch(random, number, 100))
    assert bucket.base.value is not None
    assert len(Entries.unpack(bucket.base.value)) < 1_200 < _KEYS
    assert bucket.keys < _KEYS


def test_the_cache_keeps_the_most_recently_used_entries() -> None:
    cache = EntriesCache(25)
    bases = {name: batch(np.random.default_rng(5), 0, 10) for name in (b"a", b"b", b"c")}
    cache.put(b"a", bases[b"a"])
    cache.put(b"b", bases[b"b"])
    assert cache.get(b"a") is bases[b"a"]
    cache.put(b"c", bases[b"c"])
    assert cache.get(b"b") is None
    assert cache.get(b"a") is bases[b"a"]
