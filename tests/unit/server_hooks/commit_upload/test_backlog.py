"""The backlog: transitions, bounds, reports, and messages that are logged once."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from server_hooks.commit_upload.backlog import Backlog, BacklogEntry, BacklogLimits, KeptTar
from server_hooks.commit_upload.upload_state import (
    FINAL,
    LEVEL_CHANGES,
    UPLOAD_CHANGES,
    BacklogLevel,
    UploadState,
)
from tests.unit.fake_clock import FakeClock

LIMITS = BacklogLimits(max_bytes=100, max_age_s=3600.0, min_free_bytes=50, retry_s=5.0, max_retry_s=60.0)


class Disk:
    def __init__(self) -> None:
        self.free = 1_000


def tar(number: int, clock: FakeClock, size: int = 10) -> KeptTar:
    name = f"t__0__{number}__x"
    return KeptTar(Path(f"/kept/{name}"), "t", name, f"s3://b/{name}.tmp", size, int(clock.now() * 1e9))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def backlog(clock: FakeClock, disk: Disk) -> Backlog:
    return Backlog(clock, LIMITS, lambda: disk.free)


def the_only(backlog: Backlog, state: UploadState) -> BacklogEntry:
    (entry,) = backlog.due(state)
    return entry


def test_every_state_is_in_the_table_and_ends() -> None:
    assert UPLOAD_CHANGES.keys() == set(UploadState)
    assert LEVEL_CHANGES.keys() == set(BacklogLevel)
    assert {UploadState.REGISTERED, UploadState.NOT_NEEDED, UploadState.DISCARDED} == FINAL
    for state in set(UploadState) - FINAL:
        assert {UploadState.NOT_NEEDED, UploadState.DISCARDED} <= UPLOAD_CHANGES[state]


def test_the_reported_figures(backlog: Backlog, clock: FakeClock) -> None:
    assert (backlog.bytes, backlog.segments, backlog.oldest_built_s) == (0, 0, None)
    built_s = clock.now()
    backlog.add(tar(1, clock, 30), UploadState.WAITING)
    clock.advance(7.0)
    backlog.add(tar(2, clock, 40), UploadState.UPLOADING)
    assert (backlog.bytes, backlog.segments) == (70, 2)
    assert backlog.oldest_built_s == pytest.approx(built_s, abs=1e-3)


def test_the_same_content_is_kept_once(backlog: Backlog, clock: FakeClock) -> None:
    first = tar(1, clock)
    other_file = replace(first, file=Path("/kept/2"))
    assert backlog.add(first, UploadState.WAITING)
    assert not backlog.add(other_file, UploadState.WAITING)
    found = backlog.find(other_file)
    assert found is not None
    assert found.tar == first


def test_a_pause_doubles_up_to_its_maximum(backlog: Backlog, clock: FakeClock) -> None:
    backlog.add(tar(1, clock), UploadState.WAITING)
    pauses = []
    for _ in range(6):
        while not backlog.due(UploadState.WAITING):
            clock.advance(1.0)
        begun = backlog.change(the_only(backlog, UploadState.WAITING), UploadState.UPLOADING)
        assert begun is not None
        failed = backlog.change(begun, UploadState.WAITING)
        assert failed is not None
        pauses.append(failed.due_s - clock.monotonic())
    # A new attempt does not reset the pause: repeated failures are retried less and less often.
    assert pauses == [5.0, 10.0, 20.0, 40.0, 60.0, 60.0]


def test_only_known_entries_change_and_only_as_the_transition_table_allows(
    backlog: Backlog, clock: FakeClock
) -> None:
    backlog.add(tar(1, clock), UploadState.UPLOADED)
    seen = the_only(backlog, UploadState.UPLOADED)
    with pytest.raises(ValueError, match="cannot change from uploaded to uploading"):
        backlog.change(seen, UploadState.UPLOADING)
    assert backlog.change(seen, UploadState.REGISTERED) is not None
    assert backlog.change(seen, UploadState.WAITING) is None
    assert backlog.segments == 0


def test_the_oldest_are_discarded_until_the_rest_fits_except_running_uploads(
    backlog: Backlog, clock: FakeClock
) -> None:
    states = [UploadState.UPLOADING, UploadState.WAITING, UploadState.UPLOADED, UploadState.WAITING]
    for number, state in enumerate(states):
        backlog.add(tar(number, clock, 40), state)
        clock.advance(1.0)
    discarded = backlog.discard_excess()
    assert [(each.tar.segment, each.state) for each in discarded] == [
        ("t__0__1__x", UploadState.WAITING),
        ("t__0__2__x", UploadState.UPLOADED),
    ]
    assert backlog.bytes == 80
    assert backlog.discard_excess() == []


def test_tars_that_are_too_old_are_discarded(backlog: Backlog, clock: FakeClock) -> None:
    backlog.add(tar(1, clock), UploadState.WAITING)
    clock.advance(3599.0)
    assert backlog.discard_excess() == []
    backlog.add(tar(2, clock), UploadState.WAITING)
    clock.advance(2.0)
    assert [each.tar.segment for each in backlog.discard_excess()] == ["t__0__1__x"]


def test_tars_make_room_before_the_disk_is_full(backlog: Backlog, clock: FakeClock, disk: Disk) -> None:
    for number in range(3):
        backlog.add(tar(number, clock), UploadState.WAITING)
        clock.advance(1.0)
    disk.free = 35
    assert [each.tar.segment for each in backlog.discard_excess()] == ["t__0__0__x", "t__0__1__x"]


def test_each_change_of_level_is_logged_once(
    backlog: Backlog, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for number in range(30):
        backlog.add(tar(number, clock), UploadState.WAITING)
        backlog.discard_excess()
        clock.advance(1.0)
    assert backlog.level is BacklogLevel.OVERFLOWING
    assert [record.levelname for record in caplog.records] == ["WARNING", "ERROR"]
    assert "No rows are lost" in caplog.text
    clock.advance(100.0)
    for entry in backlog.due(UploadState.WAITING):
        backlog.change(entry, UploadState.NOT_NEEDED)
    assert not backlog.segments
    assert [record.levelname for record in caplog.records] == ["WARNING", "ERROR", "INFO"]
    assert "20 segments left to `pinotctl deepstore repair`" in caplog.text


class BacklogMachine(RuleBasedStateMachine):
    """In any order: the bounds hold after each check, and the figures match its tars."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.disk = Disk()
        self.backlog = Backlog(self.clock, LIMITS, lambda: self.disk.free)
        self.model: dict[Path, BacklogEntry] = {}
        self.made = 0

    @rule(
        size=st.integers(1, 60),
        state=st.sampled_from([UploadState.WAITING, UploadState.UPLOADING, UploadState.UPLOADED]),
    )
    def add(self, size: int, state: UploadState) -> None:
        self.made += 1
        made = tar(self.made, self.clock, size)
        assert self.backlog.add(made, state)
        found = self.backlog.find(made)
        assert found is not None
        self.model[made.file] = found

    @rule(data=st.data())
    def change(self, data: st.DataObject) -> None:
        if not self.model:
            return
        entry = data.draw(st.sampled_from(sorted(self.model.values(), key=lambda each: each.tar.file)))
        after = data.draw(st.sampled_from(sorted(UPLOAD_CHANGES[entry.state])))
        changed = self.backlog.change(entry, after)
        assert changed is not None
        assert changed.state is after
        if after in FINAL:
            del self.model[entry.tar.file]
        else:
            self.model[entry.tar.file] = changed
            assert self.backlog.change(entry, after) is None or changed == entry

    @rule(seconds=st.floats(0, 4000), free=st.integers(0, 200))
    def pass_time(self, seconds: float, free: int) -> None:
        self.clock.advance(seconds)
        self.disk.free = free

    @rule()
    def bound(self) -> None:
        discarded = self.backlog.discard_excess()
        for each in discarded:
            assert each.state is not UploadState.UPLOADING
            assert self.model.pop(each.tar.file) == each
            self.disk.free += each.tar.size_bytes
        left = [each for each in self.model.values() if each.state is not UploadState.UPLOADING]
        if left:
            assert self.backlog.bytes <= LIMITS.max_bytes
            assert self.disk.free >= LIMITS.min_free_bytes
            assert all(self.clock.now() - each.tar.built_s <= LIMITS.max_age_s for each in left)

    @invariant()
    def numbers_are_those_of_the_tars(self) -> None:
        assert self.backlog.segments == len(self.model)
        assert self.backlog.bytes == sum(each.tar.size_bytes for each in self.model.values())
        assert (self.backlog.level is BacklogLevel.EMPTY) == (not self.model)


TestBacklogMachine = BacklogMachine.TestCase


@given(st.lists(st.integers(1, 200), max_size=20))
def test_nothing_that_fits_is_discarded(sizes: list[int]) -> None:
    clock = FakeClock()
    backlog = Backlog(clock, LIMITS, lambda: 10_000)
    for number, size in enumerate(sizes):
        backlog.add(tar(number, clock, size), UploadState.WAITING)
        clock.advance(1.0)
    discarded = backlog.discard_excess()
    if discarded:
        assert backlog.bytes + discarded[-1].tar.size_bytes > LIMITS.max_bytes
