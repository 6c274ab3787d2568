"""The gate: consumers in threads of their own, flags from a dictionary."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from controller_client.common.names import SegmentName, TableName
from controller_client.helix.ideal_state import ConsumptionFlags
from server_hooks.pause.gate import Gate, TableFlags, Verdict

TABLE = TableName("t_REALTIME")
_LONG_S = 60.0


def _flags(*partitions: int, table_paused: bool = False, zxid: int = 0) -> TableFlags:
    return TableFlags(ConsumptionFlags(table_paused, frozenset(partitions)), zxid)


def _segment(partition: int, sequence: int = 0) -> SegmentName:
    return SegmentName(partition, sequence, f"t__{partition}__{sequence}__20260101T0000Z")


@dataclass
class FakeConsumer:
    """A consumer with the state that Pinot gave it."""

    stop: bool = False
    commit: bool = False
    checked: threading.Event = field(default_factory=threading.Event)

    def must_stop(self) -> bool:
        self.checked.set()
        return self.stop

    def must_commit(self) -> bool:
        return self.commit

    def force_commit(self) -> None:
        self.commit = True


@dataclass
class VerdictRequest:
    """A consumer's thread that requests one verdict."""

    gate: Gate
    segment: SegmentName
    consumer: FakeConsumer = field(default_factory=FakeConsumer)
    verdict: Verdict | None = None

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._request, daemon=True)
        self._thread.start()

    def _request(self) -> None:
        self.verdict = self.gate.decide(TABLE, self.segment, self.consumer)

    def waits(self) -> bool:
        """Return whether it still waits after another check; False once it has ended."""
        self.consumer.checked.clear()
        while self._thread.is_alive():
            if self.consumer.checked.wait(0.05):
                return True
        return False

    def ended(self) -> Verdict | None:
        self._thread.join(_LONG_S)
        return self.verdict


class Store:
    """The ideal states, with a count of their reads."""

    def __init__(self) -> None:
        self.flags = _flags()
        self.error: Exception | None = None
        self.reads = 0
        self.complaints: list[Exception] = []
        self.unfinished: set[SegmentName] = set()

    def read(self, _table: str) -> TableFlags:
        self.reads += 1
        if self.error:
            raise self.error
        return self.flags

    def gate(self) -> Gate:
        return Gate(
            self.read,
            lambda _table, error: self.complaints.append(error),
            lambda _table, segment: segment in self.unfinished,
            recheck_s=0.005,
        )


@pytest.fixture
def store() -> Store:
    return Store()


def test_a_released_segment_is_read_once_and_stays_released(store: Store) -> None:
    gate = store.gate()
    assert gate.decide(TABLE, _segment(0), FakeConsumer()) is Verdict.RELEASED
    store.flags = _flags(0, zxid=1)
    gate.update(TABLE, store.flags)
    assert gate.decide(TABLE, _segment(0), FakeConsumer()) is Verdict.RELEASED
    assert store.reads == 1
    assert gate.is_released(TABLE, _segment(0))


@pytest.mark.parametrize("signal", ["stop", "commit"])
def test_pinot_ends_a_wait(store: Store, signal: str) -> None:
    gate = store.gate()
    store.flags = _flags(0)
    request = VerdictRequest(gate, _segment(0))
    assert request.waits()
    setattr(request.consumer, signal, True)
    assert request.ended() is Verdict.LET_THROUGH
    assert not gate.is_released(TABLE, _segment(0))


def test_a_pause_of_the_table_seals_a_paused_segment(store: Store) -> None:
    gate = store.gate()
    store.flags = _flags(0)
    request = VerdictRequest(gate, _segment(0))
    assert request.waits()
    gate.update(TABLE, _flags(0, table_paused=True, zxid=1))
    assert request.ended() is Verdict.LET_THROUGH
    assert request.consumer.commit


def test_the_newest_state_counts_whoever_read_it(store: Store) -> None:
    gate = store.gate()
    gate.update(TABLE, _flags(0, zxid=5))
    store.flags = _flags(zxid=4)  # a read that was in progress when the pause was written
    request = VerdictRequest(gate, _segment(0))
    assert request.waits()
    gate.forget(TABLE)
    assert request.ended() is Verdict.RELEASED


def test_if_the_state_cannot_be_read_the_last_known_one_counts(store: Store) -> None:
    gate = store.gate()
    store.error = OSError("ZooKeeper is away")
    assert gate.decide(TABLE, _segment(0), FakeConsumer()) is Verdict.RELEASED
    gate.update(TABLE, _flags(1))
    request = VerdictRequest(gate, _segment(1))
    assert request.waits()
    assert store.complaints == [store.error] * 2
    gate.update(TABLE, _flags(zxid=1))
    assert request.ended() is Verdict.RELEASED


def test_a_segment_half_paused_before_a_restart_is_released_to_be_sealed(store: Store) -> None:
    gate = store.gate()
    store.flags = _flags(0)
    store.unfinished.add(_segment(0))
    assert gate.decide(TABLE, _segment(0), FakeConsumer()) is Verdict.RELEASED
    request = VerdictRequest(gate, _segment(0, 1))
    assert request.waits()
    gate.forget(TABLE)
    assert request.ended() is Verdict.RELEASED


def test_a_release_forgets_earlier_segments_of_the_partition(store: Store) -> None:
    gate = store.gate()
    for partition, sequence in ((0, 0), (0, 1), (1, 0), (0, 5)):
        gate.decide(TABLE, _segment(partition, sequence), FakeConsumer())
    released = [(p, s) for p in range(2) for s in range(6) if gate.is_released(TABLE, _segment(p, s))]
    assert released == [(0, 5), (1, 0)]


class GateMachine(RuleBasedStateMachine):
    """Pauses, resumes, commits and new segments in any order: only permitted segments are released."""

    def __init__(self) -> None:
        super().__init__()
        self.store = Store()
        self.gate = self.store.gate()
        self.sequence = dict.fromkeys(range(3), 0)
        self.requests: dict[int, VerdictRequest] = {}
        self.seen: frozenset[int] = frozenset()
        """The paused partitions that the gate read last, or was last notified of."""
        self.waiting: set[int] = set()

    def _write(self, *partitions: int) -> None:
        self.store.flags = _flags(*partitions, zxid=self.store.flags.zxid + 1)

    @rule(partitions=st.sets(st.integers(0, 2)), notified=st.booleans())
    def change(self, partitions: set[int], notified: bool) -> None:
        self._write(*partitions)
        if notified:
            self.gate.update(TABLE, self.store.flags)
            self.seen = self.store.flags.flags.paused_partitions

    @rule(partition=st.integers(0, 2))
    @precondition(lambda self: len(self.requests) < 3)
    def begin(self, partition: int) -> None:
        if partition in self.requests:
            return
        request = VerdictRequest(self.gate, _segment(partition, self.sequence[partition]))
        self.seen = self.store.flags.flags.paused_partitions
        if partition in self.seen:
            assert request.waits()
            self.waiting.add(partition)
        else:
            assert request.ended() is Verdict.RELEASED
        self.requests[partition] = request

    @rule(partition=st.integers(0, 2))
    def commit(self, partition: int) -> None:
        request = self.requests.pop(partition, None)
        if request is None:
            return
        request.consumer.stop = True
        assert request.ended() is (Verdict.LET_THROUGH if partition in self.waiting else Verdict.RELEASED)
        self.waiting.discard(partition)
        self.sequence[partition] += 1

    @invariant()
    def who_waits_waits_until_the_gate_knows_of_a_resume(self) -> None:
        for partition in sorted(self.waiting):
            request = self.requests[partition]
            if partition in self.seen:
                assert request.waits()
                assert not self.gate.is_released(TABLE, request.segment)
            else:
                assert request.ended() is Verdict.RELEASED
        self.waiting &= self.seen

    @invariant()
    def who_was_released_stays_so(self) -> None:
        for partition in self.requests.keys() - self.waiting:
            assert self.gate.is_released(TABLE, self.requests[partition].segment)

    def teardown(self) -> None:
        for request in self.requests.values():
            request.consumer.stop = True
            request.ended()


TestGateMachine = GateMachine.TestCase
TestGateMachine.settings = settings(max_examples=settings().max_examples // 3)
