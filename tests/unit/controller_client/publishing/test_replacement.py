"""The replacement protocol with lost replies, interrupted runs and interference."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from controller_client.client import ControllerClient
from controller_client.common.retry import RetryPolicy
from controller_client.config import ControllerConfig
from controller_client.errors import (
    AppliedError,
    ConfigError,
    ConflictError,
    NotAppliedError,
    OutcomeUnknownError,
    UnsupportedError,
    WaitTimeoutError,
)
from controller_client.publishing.replacement import LineageTimeouts, SegmentReplacement
from controller_client.rest.lineage import LineageState
from tests.unit.controller_client.publishing.lineage_server import TABLE, Fault, LineageServer
from tests.unit.controller_client.scripted_server import ScriptedServer
from tests.unit.fake_clock import FakeClock

OLD = ["old_1", "old_2"]
NEW = ["new_1", "new_2"]


class World:
    """A client, its lineage, and the clock."""

    def __init__(self, client: ControllerClient, lineage: LineageServer, clock: FakeClock) -> None:
        self.client = client
        self.lineage = lineage
        self.clock = clock

    def replacement(self, old: list[str] = OLD, new: list[str] = NEW) -> SegmentReplacement:
        return SegmentReplacement(
            self.client, TABLE, old, new, timeouts=LineageTimeouts(online_s=30, gone_s=30)
        )

    def push_and_fail(self) -> None:
        self.push()
        raise ZeroDivisionError

    def push(self, names: list[str] = NEW) -> None:
        self.lineage.segments.update(dict.fromkeys(names, "ONLINE"))


@pytest.fixture
def world() -> Iterator[World]:
    clock = FakeClock()
    with ScriptedServer() as server:
        lineage = LineageServer(server)
        lineage.segments = dict.fromkeys(OLD, "ONLINE")
        config = ControllerConfig(server.url, retry=RetryPolicy(attempts=1))
        with ControllerClient(config, clock=clock) as client:
            yield World(client, lineage, clock)


def test_without_an_error_the_segments_are_swapped(world: World) -> None:
    with world.replacement() as replacement:
        assert replacement.state is LineageState.IN_PROGRESS
        world.push()
    assert world.lineage.states() == ["COMPLETED"]
    assert world.lineage.calls == ["start", "end"]


def test_what_the_caller_has_read_is_not_read_again(world: World) -> None:
    view = world.client.lineage.view(TABLE)
    assert world.lineage.reads == {"lineage": 1, "segments": 2}
    with SegmentReplacement(world.client, TABLE, OLD, NEW, view=view):
        world.push()
    # The lineage once after the start and once before the end: others may have changed it.
    assert world.lineage.reads == {"lineage": 3, "segments": 2}


def test_a_view_is_used_for_one_start(world: World) -> None:
    replacement = SegmentReplacement(world.client, TABLE, OLD, NEW, view=world.client.lineage.view(TABLE))
    world.lineage.faults["start"].append(Fault.REFUSED)
    del world.lineage.segments["old_1"]
    with pytest.raises(ConflictError, match="1 segments to replace are not visible"):
        replacement.start()


def test_an_error_reverts_and_cleans_up(world: World) -> None:
    with pytest.raises(ZeroDivisionError), world.replacement():
        world.push_and_fail()
    assert world.lineage.states() == ["REVERTED"]
    assert set(world.lineage.segments) == set(OLD)
    assert world.lineage.calls == ["start", "revert", "delete"]


def test_a_lost_reply_to_start_is_read_back(world: World) -> None:
    world.lineage.faults["start"].append(Fault.LOST_AFTER)
    with world.replacement():
        world.push()
    assert world.lineage.calls == ["start", "end"]
    assert world.lineage.states() == ["COMPLETED"]


def test_a_start_that_never_shows_is_unknown_and_not_repeated(world: World) -> None:
    world.lineage.faults["start"].append(Fault.LOST_BEFORE)
    replacement = world.replacement()
    with pytest.raises(OutcomeUnknownError):
        replacement.start()
    assert world.lineage.calls == ["start"]
    assert world.clock.monotonic() >= LineageTimeouts().settle_s


def test_a_start_that_shows_late_is_adopted(world: World) -> None:
    world.lineage.faults["start"].append(Fault.LOST_BEFORE)

    def late(_: float) -> None:
        if len(world.clock.sleeps) == 3:
            world.lineage.add_entry("IN_PROGRESS", OLD, NEW)

    world.clock.on_sleep = late
    assert world.replacement().start() is LineageState.IN_PROGRESS
    assert world.lineage.calls == ["start"]


def test_a_refused_start_is_repeated_after_reading_back(world: World) -> None:
    world.lineage.faults["start"].append(Fault.REFUSED)
    assert world.replacement().start() is LineageState.IN_PROGRESS
    assert world.lineage.calls == ["start", "start"]
    assert len(world.lineage.entries) == 1


def test_a_start_that_is_always_refused_is_not_applied(world: World) -> None:
    world.lineage.faults["start"].extend([Fault.REFUSED] * 9)
    with pytest.raises(NotAppliedError, match="Failed to update the segment lineage"):
        world.replacement().start()
    assert world.lineage.calls == ["start"] * 3


@pytest.mark.parametrize("fault", [Fault.LOST_AFTER, Fault.REFUSED])
def test_an_end_with_an_unclear_response_is_read_back(world: World, fault: Fault) -> None:
    world.lineage.faults["end"].append(fault)
    with world.replacement():
        world.push()
    assert world.lineage.states() == ["COMPLETED"]
    assert world.lineage.calls == ["start", "end"] + (["end"] if fault is Fault.REFUSED else [])


def test_an_end_that_stays_unknown_is_not_reverted(world: World) -> None:
    world.lineage.faults["end"].append(Fault.LOST_BEFORE)
    with pytest.raises(OutcomeUnknownError), world.replacement():
        world.push()
    # It may still be running in the controller: a revert now could discard what was just swapped in.
    assert world.lineage.calls == ["start", "end"]
    assert world.lineage.states() == ["IN_PROGRESS"]


@pytest.mark.parametrize("call", ["start", "end"])
def test_a_lost_reply_that_cannot_be_read_back_is_unknown(world: World, call: str) -> None:
    world.lineage.faults[call].append(Fault.LOST_AFTER)
    world.lineage.unreadable_after = call
    with pytest.raises(OutcomeUnknownError), world.replacement():
        world.push()
    assert world.lineage.calls == ["start", "end"][: 1 + (call == "end")]


def test_a_permanently_refused_end_is_reverted(world: World) -> None:
    world.lineage.faults["end"].extend([Fault.REFUSED] * 9)
    with pytest.raises(NotAppliedError), world.replacement():
        world.push()
    assert world.lineage.states() == ["REVERTED"]
    assert set(world.lineage.segments) == set(OLD)


def test_segments_that_do_not_come_online_are_named_and_reverted(world: World) -> None:
    with pytest.raises(WaitTimeoutError, match="new_2 OFFLINE on Server_1"), world.replacement():
        world.lineage.segments.update(new_1="ONLINE", new_2="OFFLINE")
    assert "end" not in world.lineage.calls
    assert world.lineage.states() == ["REVERTED"]


def test_a_segment_in_error_is_reported_before_the_timeout(world: World) -> None:
    replacement = world.replacement()
    replacement.start()
    world.push()
    world.lineage.segments["new_1"] = "ERROR"
    with pytest.raises(WaitTimeoutError, match="do not load: new_1 ERROR on Server_1"):
        replacement.end()
    assert world.clock.monotonic() < 20


def test_a_segment_that_was_not_pushed_is_named(world: World) -> None:
    replacement = world.replacement()
    replacement.start()
    world.push(["new_1"])
    with pytest.raises(WaitTimeoutError, match="new_2 is not in the ideal state"):
        replacement.end()


def test_a_completed_entry_may_disappear_before_the_end(world: World) -> None:
    """As when Pinot's retention removes it."""
    world.lineage.add_entry("COMPLETED", OLD, NEW)
    replacement = world.replacement()
    assert replacement.start() is LineageState.COMPLETED
    world.lineage.entries.clear()
    replacement.end()
    assert world.lineage.calls == []


def test_an_interrupted_run_is_continued(world: World) -> None:
    entry_id = world.lineage.add_entry("IN_PROGRESS", OLD, NEW[::-1])
    world.push(["new_1"])
    with world.replacement() as replacement:
        assert replacement.entry_id == entry_id
        world.push(["new_2"])
    assert world.lineage.calls == ["end"]


def test_a_finished_run_has_nothing_to_do(world: World) -> None:
    world.lineage.add_entry("COMPLETED", OLD, NEW)
    world.push()
    with world.replacement() as replacement:
        assert replacement.state is LineageState.COMPLETED
    assert world.lineage.calls == []


def test_an_error_after_a_finished_run_does_not_revert_it(world: World) -> None:
    world.lineage.add_entry("COMPLETED", OLD, NEW)
    world.push()
    with pytest.raises(ZeroDivisionError), world.replacement():
        raise ZeroDivisionError
    assert world.lineage.calls == []


def test_an_entry_is_kept_for_the_next_run_on_request(world: World) -> None:
    def replacement() -> SegmentReplacement:
        return SegmentReplacement(world.client, TABLE, OLD, NEW, keep_on_error=True)

    with pytest.raises(ZeroDivisionError), replacement():
        world.push_and_fail()
    assert world.lineage.states() == ["IN_PROGRESS"]
    assert world.client.segments.list(TABLE) == OLD
    with replacement():
        pass
    assert world.lineage.calls == ["start", "end"]
    assert world.client.segments.list(TABLE) == NEW


@pytest.mark.parametrize(
    ("entry", "pushed", "old", "text"),
    [
        (("REVERTED", OLD, ["new_2"]), [], OLD, r"never see them: \['new_2'\]"),
        (("COMPLETED", ["new_2"], ["other"]), [], OLD, r"never see them: \['new_2'\]"),
        (("IN_PROGRESS", ["old_1"], NEW), [], OLD, "same new segments"),
        (("IN_PROGRESS", ["old_2"], ["other"]), [], OLD, r"{entry} \(IN_PROGRESS\).*old_2"),
        (None, [], ["old_1", "gone_2", "gone_1"], r"not visible.*'gone_1', 'gone_2'"),
        (None, ["new_2"], OLD, r"names that already exist in t_OFFLINE: \['new_2'\]"),
    ],
    ids=["reverted", "replaced", "for others", "by another", "gone", "taken"],
)
def test_what_stands_in_the_way_is_named_before_anything_is_sent(
    world: World,
    entry: tuple[str, list[str], list[str]] | None,
    pushed: list[str],
    old: list[str],
    text: str,
) -> None:
    entry_id = world.lineage.add_entry(*entry) if entry else ""
    world.push(pushed)
    with pytest.raises(ConflictError, match=text.replace("{entry}", entry_id)):
        world.replacement(old).start()
    assert world.lineage.calls == []


def test_an_entry_erased_by_another_first_writer_is_a_conflict(world: World) -> None:
    world.clock.on_sleep = lambda _: world.lineage.entries.clear()
    with pytest.raises(ConflictError, match="another writer"):
        world.replacement().start()


def test_an_entry_reverted_by_someone_else_cannot_be_ended(world: World) -> None:
    replacement = world.replacement()
    replacement.start()
    world.push()
    next(iter(world.lineage.entries.values()))["state"] = "REVERTED"
    with pytest.raises(ConflictError, match="someone else reverted"):
        replacement.end()
    assert world.lineage.calls == ["start"]


@pytest.mark.parametrize("fault", [Fault.LOST_AFTER, Fault.NONE])
def test_a_revert_is_read_back(world: World, fault: Fault) -> None:
    world.lineage.faults["revert"].append(fault)
    replacement = world.replacement()
    replacement.start()
    world.push()
    replacement.revert()
    assert world.lineage.states() == ["REVERTED"]
    assert set(world.lineage.segments) == set(OLD)


def test_a_refused_revert_is_not_applied_and_deletes_nothing(world: World) -> None:
    world.lineage.faults["revert"].append(Fault.REFUSED)
    replacement = world.replacement()
    replacement.start()
    world.push()
    with pytest.raises(NotAppliedError, match="refused to revert"):
        replacement.revert()
    assert set(NEW) <= set(world.lineage.segments)


def test_a_failed_revert_is_a_note_on_the_first_error(world: World) -> None:
    world.lineage.faults["revert"].append(Fault.REFUSED)
    with pytest.raises(ZeroDivisionError) as caught, world.replacement():
        raise ZeroDivisionError
    assert "could not be reverted" in caught.value.__notes__[0]


def test_segments_left_after_a_revert_are_an_applied_error(world: World) -> None:
    replacement = world.replacement()
    replacement.start()
    world.push()
    # Another client pushes the segments again.
    world.client.segments.delete = lambda *_: world.push()  # type: ignore[method-assign]
    with pytest.raises(AppliedError, match="not cleaned up"):
        replacement.revert()
    assert world.lineage.states() == ["REVERTED"]


def test_replacing_with_nothing_needs_a_newer_pinot(world: World) -> None:
    with pytest.raises(UnsupportedError, match=r"Pinot 0\.11\.0 lacks replacing segments with nothing"):
        world.replacement(new=[]).start()
    assert world.lineage.calls == []


def test_replacing_with_nothing_on_a_newer_pinot(world: World) -> None:
    world.lineage.version = "1.0.0"
    # Another, finished removal: it has the same (no) new segments but is not this one.
    world.lineage.add_entry("COMPLETED", ["long_gone"], [])
    with world.replacement(new=[]):
        pass
    assert world.lineage.calls == ["start", "end"]
    assert world.client.segments.list(TABLE) == []


@pytest.mark.parametrize(
    ("old", "new"), [([], []), (["a", "a"], ["b"]), (["a"], ["b", "b"]), (["a", "b"], ["b", "c"])]
)
def test_invalid_lists_are_refused_at_once(world: World, old: list[str], new: list[str]) -> None:
    with pytest.raises(ConfigError):
        world.replacement(old, new)
