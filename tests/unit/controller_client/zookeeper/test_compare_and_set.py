"""The compare-and-set loop: no update is lost, nothing is written twice, and it ends."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.common.retry import RetryPolicy
from controller_client.errors import (
    ConflictError,
    NotAppliedError,
    OutcomeUnknownError,
    UnreachableError,
)
from controller_client.zookeeper import Changed, ZNRecord
from controller_client.zookeeper.compare_and_set import change_record
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import MemoryZooKeeper

PATH = "/c/IDEALSTATES/t"
POLICY = RetryPolicy(attempts=20, deadline_s=1000.0, first_wait_s=0.01, max_wait_s=1.0)


def adding(name: str, zookeeper: MemoryZooKeeper, clock: FakeClock | None = None) -> Changed:
    """Add a name to the list ``names`` of the record."""

    def change(present: ZNRecord | None) -> ZNRecord:
        names = present.list_fields.get("names", []) if present else []
        if present and name in names:
            return present
        return ZNRecord("t", list_fields={"names": [*names, name]})

    return change_record(
        zookeeper, PATH, change, clock=clock or FakeClock(), rng=random.Random(0), policy=POLICY
    )


def names_in(zookeeper: MemoryZooKeeper) -> list[str]:
    return ZNRecord.from_bytes(zookeeper.znodes[PATH][0]).list_fields["names"]


class FaultyZooKeeper(MemoryZooKeeper):
    """Each write meets the next of the given faults; after the last one, writes succeed."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__()
        self.faults = faults
        self.is_away = False
        self.own_writes = 0

    def get_many(self, paths: object) -> list[tuple[bytes, int] | None]:
        if self.is_away:
            raise UnreachableError("ZooKeeper is away")
        return super().get_many([PATH])

    def create(self, path: str, data: bytes) -> None:
        self._faulty(lambda: super(FaultyZooKeeper, self).create(path, data))

    def set(self, path: str, data: bytes, expected_version: int) -> int:
        self._faulty(lambda: super(FaultyZooKeeper, self).set(path, data, expected_version))
        return self.znodes[path][1]

    def _faulty(self, write: object) -> None:
        fault = self.faults.pop(0) if self.faults else "none"
        if fault == "other":
            self._other()
        if fault == "lost before":
            raise OutcomeUnknownError("the reply was lost")
        assert callable(write)
        write()
        self.own_writes += 1
        if fault == "lost after, and another":
            self._other()
        if fault.startswith("lost after"):
            self.is_away = fault == "lost after, and away"
            raise OutcomeUnknownError("the reply was lost")

    def _other(self) -> None:
        data, version = self.znodes.get(PATH, (ZNRecord("t").to_bytes(), -1))
        record = ZNRecord.from_bytes(data)
        names = [*record.list_fields.get("names", []), f"other {version}"]
        self.znodes[PATH] = (ZNRecord("t", list_fields={"names": names}).to_bytes(), version + 1)


FAULTS = st.lists(
    st.sampled_from(["other", "lost before", "lost after", "lost after, and another"]), max_size=8
)


@given(faults=FAULTS, is_there=st.booleans())
def test_a_change_is_applied_once_whatever_happens_to_its_writes(faults: list[str], is_there: bool) -> None:
    zookeeper = FaultyZooKeeper([])
    if is_there:
        adding("first", zookeeper)
    zookeeper.own_writes, zookeeper.faults = 0, list(faults)

    changed = adding("ours", zookeeper)

    names = names_in(zookeeper)
    assert names.count("ours") == 1
    assert changed.was_needed
    assert changed.current.record.list_fields["names"] == names
    assert changed.current.version == zookeeper.znodes[PATH][1]
    assert zookeeper.own_writes == 1
    met = faults[: len(faults) - len(zookeeper.faults)]
    # None of the other clients' changes is lost.
    assert len([name for name in names if name.startswith("other")]) == sum("other" in each for each in met)


def test_an_up_to_date_record_is_not_written() -> None:
    zookeeper = FaultyZooKeeper([])
    adding("a", zookeeper)
    before = dict(zookeeper.znodes)
    changed = adding("a", zookeeper)
    assert not changed.was_needed
    assert zookeeper.znodes == before


def test_a_writer_that_is_always_first_ends_the_loop_after_growing_pauses() -> None:
    zookeeper, clock = FaultyZooKeeper(["other"] * 100), FakeClock()
    with pytest.raises(ConflictError, match="other clients kept changing the record") as caught:
        adding("ours", zookeeper, clock)
    assert isinstance(caught.value, NotAppliedError)
    assert "ours" not in names_in(zookeeper)
    assert len(clock.sleeps) == POLICY.attempts - 1
    assert clock.sleeps[0] <= POLICY.first_wait_s
    assert max(clock.sleeps) <= POLICY.max_wait_s
    assert sum(clock.sleeps[-5:]) > sum(clock.sleeps[:5])


def test_an_unknown_outcome_is_reported_even_if_zookeeper_then_becomes_unreachable() -> None:
    with pytest.raises(OutcomeUnknownError):
        adding("ours", FaultyZooKeeper(["lost after, and away"]))


def test_an_unknown_outcome_is_reported_even_if_others_then_change_the_record_each_time() -> None:
    with pytest.raises(OutcomeUnknownError) as caught:
        adding("ours", FaultyZooKeeper(["lost before", *["other"] * 100]))
    assert isinstance(caught.value.__cause__, ConflictError)


def test_an_error_of_the_change_after_a_lost_reply_does_not_claim_that_nothing_was_applied() -> None:
    zookeeper = FaultyZooKeeper(["lost after, and another"])
    answers = iter([ZNRecord("t", simple_fields={"paused": "true"})])

    def change(_present: ZNRecord | None) -> ZNRecord:
        wanted = next(answers, None)
        if wanted is None:
            raise ConflictError("somebody else has paused it")
        return wanted

    with pytest.raises(OutcomeUnknownError) as caught:
        change_record(zookeeper, PATH, change, clock=FakeClock(), rng=random.Random(0), policy=POLICY)
    assert isinstance(caught.value.__cause__, ConflictError)


def test_with_zookeeper_unreachable_from_the_start_nothing_is_applied() -> None:
    zookeeper = FaultyZooKeeper([])
    zookeeper.is_away = True
    with pytest.raises(UnreachableError):
        adding("ours", zookeeper)


def test_an_error_of_the_change_ends_the_loop() -> None:
    zookeeper = FaultyZooKeeper([])

    def refuse(_present: ZNRecord | None) -> ZNRecord:
        raise ConflictError("the table is not paused")

    with pytest.raises(ConflictError, match="not paused"):
        change_record(zookeeper, PATH, refuse, clock=FakeClock(), rng=random.Random(0))
    assert zookeeper.znodes == {}


def test_a_record_is_deleted_only_at_the_version_read() -> None:
    zookeeper = FaultyZooKeeper([])
    adding("a", zookeeper)
    changed = change_record(zookeeper, PATH, lambda _present: None, clock=FakeClock(), rng=random.Random(0))
    assert zookeeper.znodes == {}
    assert changed.found is None
    with pytest.raises(LookupError):
        changed.current  # noqa: B018 - it raises
