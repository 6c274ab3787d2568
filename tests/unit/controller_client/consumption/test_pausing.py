"""Who holds a pause, pauses while requests, replies and messages are lost, and recoveries."""

from __future__ import annotations

import functools
import itertools

import pytest

from controller_client.consumption import pause, resume
from controller_client.consumption.pauses.pausing import _joined
from controller_client.consumption.recipes import recovering as module
from controller_client.consumption.state.pause_record import EXPLICIT, Holder, PauseRecord
from controller_client.consumption.table_control import TableControl
from controller_client.errors import ConflictError, OutcomeUnknownError, RejectedError, WaitTimeoutError
from controller_client.rest.consumption import PauseStatus
from controller_client.rest.segments import SegmentsApi
from controller_client.zookeeper import ZNRecord, segment_path
from tests.unit.controller_client.consumption.worlds import IDEAL_PATH, TABLE, World, ideal_of, segment

CONSUMING = ideal_of({segment(0, 1): "CONSUMING"})
PAUSED = ideal_of({segment(0, 1): "ONLINE"}, paused=True)
ME = Holder("me", 1_000_000)
OTHER = Holder("other", 999_000)
OLD = Holder("old", 1_000)


@pytest.mark.parametrize(
    ("present", "paused", "expected"),
    [
        (None, False, PauseRecord({EXPLICIT: ME})),
        (None, True, PauseRecord({EXPLICIT: ME}, foreign=True)),
        # Somebody who is about to set the flag came first; one whose process was killed long ago did not.
        (PauseRecord({EXPLICIT: OTHER}), False, PauseRecord({EXPLICIT: OTHER})),
        (PauseRecord({EXPLICIT: OLD}), False, PauseRecord({EXPLICIT: ME})),
        (PauseRecord({"block": OTHER}), False, PauseRecord({EXPLICIT: ME, "block": OTHER})),
        # A pause in effect, however old.
        (
            PauseRecord({EXPLICIT: OLD}, sequences={0: 1}),
            True,
            PauseRecord({EXPLICIT: OLD}, sequences={0: 1}),
        ),
        (PauseRecord({"block": OLD}, True), True, PauseRecord({EXPLICIT: ME, "block": OLD}, True)),
        # A pause that others ended, and their own that followed it.
        (PauseRecord({EXPLICIT: OTHER}, sequences={0: 0}), False, PauseRecord({EXPLICIT: ME})),
        (PauseRecord({EXPLICIT: OTHER}, sequences={0: 0}), True, PauseRecord({EXPLICIT: ME}, foreign=True)),
    ],
)
def test_who_pauses(present: PauseRecord | None, paused: bool, expected: PauseRecord) -> None:
    assert _joined(present, PAUSED if paused else CONSUMING, EXPLICIT, ME) == expected


SEGMENTS = (segment(0, 0), segment(1, 0))


class Cluster:
    """In place of the controller and a server: loses requests or replies, and ends commits as a test says.

    Attributes:
        lost: What the next requests lose, by their names: ``request`` or ``reply``.
        requests: The requests that arrived or were lost, with their times.
        deaf: Segments for which the server ignores that many messages.
        unfinished: Segments whose commit ends before the ideal state is written.
        slow: Segments whose commit takes until the message is sent again.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world = World()
        self.paused = False
        self.lost: dict[str, str] = {}
        self.requests: list[tuple[str, float]] = []
        self.deaf: dict[str, int] = {}
        self.unfinished: set[str] = set()
        self.slow: set[str] = set()
        self._states = dict.fromkeys(SEGMENTS, "CONSUMING")
        self._write()
        for number in range(len(SEGMENTS)):
            self.world.open(number, 0, 0)
        client = self.world.client
        for name in ("pause", "resume", "force_commit"):
            monkeypatch.setattr(client.consumption, name, functools.partial(self._request, name))
        status = functools.partial(PauseStatus, True, frozenset())
        monkeypatch.setattr(client.consumption, "pause_status", lambda _table: status())
        monkeypatch.setattr(client.tables, "external_view", lambda _table: {})

    def resume(self) -> None:
        self.paused = False
        self._write()

    def _request(self, name: str, *_arguments: object, **_options: object) -> None:
        self.requests.append((name, self.world.clock.monotonic()))
        lost = self.lost.pop(name, "")
        if lost != "request":
            self.paused = name != "resume"
            for each in SEGMENTS if self.paused else ():
                self._commit(each)
            self._write()
        if lost:
            raise OutcomeUnknownError(f"the {lost} was lost")

    def _commit(self, name: str) -> None:
        if self.deaf.get(name, 0) > 0:
            self.deaf[name] -= 1
            return
        path = segment_path(TABLE, name)
        self.world.store.change(path, lambda _: ZNRecord(name, {"segment.realtime.status": "DONE"}))
        if name not in self.unfinished | self.slow:
            self._states[name] = "ONLINE"
        self.slow.discard(name)

    def _write(self) -> None:
        self.world.ideal(self._states, paused=self.paused)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    return Cluster(monkeypatch)


@pytest.mark.parametrize(
    ("lost", "expected"),
    [
        ("", ["pause", "resume"]),
        # The flag shows that it was set; one that is cleared does not show that segments were created.
        ("reply", ["pause", "resume", "resume"]),
        ("request", ["pause", "pause", "resume", "resume"]),
    ],
)
def test_a_request_whose_effect_is_not_seen_is_repeated(
    cluster: Cluster, lost: str, expected: list[str]
) -> None:
    cluster.lost = {"pause": lost, "resume": lost}
    control = cluster.world.control
    assert pause(control)
    assert not pause(control), "paused already"
    assert resume(control, wait=False).changed
    assert [name for name, _ in cluster.requests] == expected
    assert not cluster.paused


@pytest.mark.parametrize("request_name", ["pause", "resume"])
def test_a_refusal_after_a_lost_reply_leaves_the_outcome_unknown(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, request_name: str
) -> None:
    control = cluster.world.control
    if request_name == "resume":
        pause(control)
    answers = iter([OutcomeUnknownError("the reply was lost"), RejectedError("the table is gone")])

    def answer(*_arguments: object, **_options: object) -> None:
        raise next(answers)

    monkeypatch.setattr(cluster.world.client.consumption, request_name, answer)
    act = pause if request_name == "pause" else functools.partial(resume, wait=False)
    with pytest.raises(OutcomeUnknownError):
        act(control)
    assert list(answers) == []


def test_the_message_is_repeated_for_a_server_that_ignores_it(cluster: Cluster) -> None:
    cluster.deaf = {SEGMENTS[1]: 3}
    cluster.lost = {"force_commit": "request"}
    pause(cluster.world.control)
    names, times = zip(*cluster.requests, strict=True)
    assert names == ("pause", *["force_commit"] * 4)
    assert [round(later - sooner) for sooner, later in itertools.pairwise(times)] == pytest.approx(
        [2, 4, 8, 15], abs=1
    )


def test_a_pause_that_does_not_end_names_the_servers(cluster: Cluster) -> None:
    cluster.deaf = {SEGMENTS[1]: 100}
    with pytest.raises(WaitTimeoutError, match=rf"partition 1 \({SEGMENTS[1]}\) on s1 \(not connected\)"):
        pause(cluster.world.control, timeout_s=30)


def test_a_resume_during_a_pause_wins(cluster: Cluster) -> None:
    cluster.deaf = dict.fromkeys(SEGMENTS, 100)
    cluster.world.clock.on_sleep = lambda _now: cluster.resume()
    with pytest.raises(ConflictError, match="somebody else resumed t_REALTIME while it was being paused"):
        pause(cluster.world.control)


def test_a_commit_that_a_killed_controller_left_unfinished_is_finished(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.unfinished = {SEGMENTS[0]}
    pause(cluster.world.control)
    assert cluster.world.control.ideal().consuming == {}
    assert f"finishing unfinished commits: {SEGMENTS[0]}" in caplog.text


def test_a_commit_that_is_under_way_is_left_to_the_controller(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.slow = {SEGMENTS[0]}
    pause(cluster.world.control)
    assert cluster.world.control.ideal().consuming == {}
    assert not caplog.text


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """A table with a segment that is in ERROR on its server until it is reset, and then OFFLINE."""
    world = World()
    world.ideal({segment(0, 0): "CONSUMING"})
    in_error = [segment(0, 0)]
    monkeypatch.setattr(module, "failed_segments", lambda _control: list(in_error))
    monkeypatch.setattr(SegmentsApi, "reset", lambda _self, _table, name: in_error.remove(name))
    return world


def _ideal_version(world: World) -> int:
    return world.zookeeper.znodes[IDEAL_PATH][1]


def test_helix_is_woken_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    before = world.zookeeper.znodes[IDEAL_PATH]

    def consume(_self: TableControl) -> dict[str, tuple[str, ...]]:
        # Helix sends the segment's next transition when the ideal state is written, and not before.
        return {segment(0, 0): ("s1",)} if _ideal_version(world) > before[1] else {}

    monkeypatch.setattr(TableControl, "servers_consume", consume)
    module._reset_failed(world.control, [segment(0, 0)], 120, lambda _line: None)
    assert world.zookeeper.znodes[IDEAL_PATH] == (before[0], before[1] + 1)


def test_helix_is_not_woken_up_all_the_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    before = _ideal_version(world)
    monkeypatch.setattr(TableControl, "servers_consume", lambda _self: {})
    with pytest.raises(WaitTimeoutError, match="no server consumes the partitions 0"):
        module._reset_failed(world.control, [segment(0, 0)], 60, lambda _line: None)
    assert 4 <= _ideal_version(world) - before <= 6


def test_only_segments_in_error_on_every_server_are_consumed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.ideal({segment(0, 0): "ONLINE", segment(1, 0): "ONLINE", segment(2, 0): "ONLINE"})
    for partition in range(3):
        world.committing(partition, 0, 0, 10)
    view = {segment(0, 0): {"s1": "ERROR"}, segment(1, 0): {"s1": "ERROR", "s2": "CONSUMING"}}
    monkeypatch.setattr(world.client.tables, "external_view", lambda _table: view)
    assert module._lost_segments(world.control) == [segment(0, 0)]


def test_the_request_is_repeated_until_pinot_has_built_them(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.committing(0, 0, 0, 10)
    requests: list[float] = []

    def resume(_table: str) -> None:
        requests.append(world.clock.monotonic())
        if len(requests) == 3:
            path = segment_path(TABLE, segment(0, 0))
            world.store.set(path, ZNRecord(segment(0, 0), {"segment.realtime.status": "DONE"}), 0)

    monkeypatch.setattr(world.client.consumption, "resume", resume)
    steps: list[str] = []
    module._consume_again(world.control, [segment(0, 0)], 300, steps.append)
    assert steps == [f"have Pinot consume {segment(0, 0)} again"]
    assert len(requests) == 3
    assert requests[2] - requests[1] >= 20
    world.committing(1, 0, 0, 10)
    with pytest.raises(WaitTimeoutError, match="not yet built") as caught:
        module._consume_again(world.control, [segment(1, 0)], 30, steps.append)
    assert "disasterRecoveryMode" in str(caught.value)
