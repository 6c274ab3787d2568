"""The gate: consumers in threads of their own, flags from a dictionary."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from controller_client.common.names import SegmentName, TableName
from controller_client.errors import NotFoundError
from controller_client.helix.ideal_state import ConsumptionFlags
from server_hooks.pause.gate import Gate, TableFlags

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
    may_seal: bool = True
    checked: threading.Event = field(default_factory=threading.Event)

    def must_stop(self) -> bool:
        self.checked.set()
        return self.stop

    def must_commit(self) -> bool:
        return self.commit

    def seal(self) -> None:
        self.commit = self.may_seal

    def force_commit(self) -> None:
        self.commit = True


@dataclass
class Start:
    """The start of a segment, in its consumer's thread."""

    gate: Gate
    segment: SegmentName
    consumer: FakeConsumer = field(default_factory=FakeConsumer)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self.gate.hold(TABLE, self.segment, self.consumer)

    def waits(self) -> bool:
        """Return whether it still waits after another check; False once it has ended."""
        self.consumer.checked.clear()
        while self._thread.is_alive():
            if self.consumer.checked.wait(0.05):
                return True
        return False

    def is_released(self) -> bool:
        """Return whether its segment was released, once it has ended."""
        self._thread.join(_LONG_S)
        assert not self._thread.is_alive()
        return self.gate.is_released(TABLE, self.segment)


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
    gate.hold(TABLE, _segment(0), FakeConsumer())
    assert gate.is_released(TABLE, _segment(0))
    store.flags = _flags(0, zxid=1)
    gate.update(TABLE, store.flags)
    gate.hold(TABLE, _segment(0), FakeConsumer())
    assert gate.is_released(TABLE, _segment(0))
    assert store.reads == 1
    assert gate.is_released(TABLE, _segment(0))


@pytest.mark.parametrize("signal", ["stop", "commit"])
def test_pinot_ends_a_wait(store: Store, signal: str) -> None:
    gate = store.gate()
    store.flags = _flags(0)
    start = Start(gate, _segment(0))
    assert start.waits()
    setattr(start.consumer, signal, True)
    assert not start.is_released()
    assert not gate.is_released(TABLE, _segment(0))


def test_a_pause_of_the_table_seals_a_paused_segment(store: Store) -> None:
    gate = store.gate()
    store.flags = _flags(0)
    start = Start(gate, _segment(0))
    assert start.waits()
    gate.update(TABLE, _flags(0, table_paused=True, zxid=1))
    assert not start.is_released()
    assert start.consumer.commit


def test_a_new_segment_of_a_paused_table_is_committed_without_a_row(store: Store) -> None:
    gate = store.gate()
    store.flags = _flags(table_paused=True)
    start = Start(gate, _segment(0))
    assert not start.is_released()
    assert start.consumer.commit
    store.flags = _flags(zxid=1)
    assert Start(gate, _segment(0, 1)).is_released()


def test_a_new_segment_that_pinot_does_not_commit_early_consumes(store: Store) -> None:
    gate = store.gate()
    store.flags = _flags(table_paused=True)
    start = Start(gate, _segment(0), FakeConsumer(may_seal=False))
    assert start.is_released()
    assert not start.consumer.commit


def test_a_segment_of_a_paused_table_with_rows_is_released(store: Store) -> None:
    gate = store.gate()
    store.flags = _flags(table_paused=True)
    store.unfinished.add(_segment(0))
    start = Start(gate, _segment(0))
    assert start.is_released()
    assert not start.consumer.commit


def test_a_pause_of_the_table_that_was_read_earlier_does_not_count(store: Store) -> None:
    gate = store.gate()
    gate.update(TABLE, _flags(table_paused=True))
    store.error = OSError("ZooKeeper is away")
    assert Start(gate, _segment(0)).is_released()


def test_a_segment_of_a_dropped_table_is_not_held(store: Store) -> None:
    gate = store.gate()
    gate.update(TABLE, _flags(0))
    store.error = NotFoundError("there is no table t_REALTIME")
    assert Start(gate, _segment(0)).is_released()
    assert not store.complaints


def test_a_segment_that_consumes_after_an_error_counts_as_released(store: Store) -> None:
    class Broken(FakeConsumer):
        def must_stop(self) -> bool:
            raise RuntimeError("a field of another version of Pinot")

    gate = store.gate()
    store.flags = _flags(0)
    with pytest.raises(RuntimeError):
        gate.hold(TABLE, _segment(0), Broken())
    assert gate.is_released(TABLE, _segment(0))


def test_the_newest_state_counts_whoever_read_it(store: Store) -> None:
    gate = store.gate()
    gate.update(TABLE, _flags(0, zxid=5))
    store.flags = _flags(zxid=4)  # a read that was in progress when the pause was written
    start = Start(gate, _segment(0))
    assert start.waits()
    gate.forget(TABLE)
    assert start.is_released()


def test_if_the_state_cannot_be_read_the_last_known_one_counts(store: Store) -> None:
    gate = store.gate()
    store.error = OSError("ZooKeeper is away")
    gate.hold(TABLE, _segment(0), FakeConsumer())
    assert gate.is_released(TABLE, _segment(0))
    gate.update(TABLE, _flags(1))
    start = Start(gate, _segment(1))
    assert start.waits()
    assert store.complaints == [store.error] * 2
    gate.update(TABLE, _flags(zxid=1))
    assert start.is_released()


def test_a_segment_half_paused_before_a_restart_is_released_to_be_sealed(store: Store) -> None:
    gate = store.gate()
    store.flags = _flags(0)
    store.unfinished.add(_segment(0))
    gate.hold(TABLE, _segment(0), FakeConsumer())
    assert gate.is_released(TABLE, _segment(0))
    start = Start(gate, _segment(0, 1))
    assert start.waits()
    gate.forget(TABLE)
    assert start.is_released()


def test_a_release_forgets_earlier_segments_of_the_partition(store: Store) -> None:
    gate = store.gate()
    for partition, sequence in ((0, 0), (0, 1), (1, 0), (0, 5)):
        gate.hold(TABLE, _segment(partition, sequence), FakeConsumer())
    released = [(p, s) for p in range(2) for s in range(6) if gate.is_released(TABLE, _segment(p, s))]
    assert released == [(0, 5), (1, 0)]


class GateMachine(RuleBasedStateMachine):
    """Pauses, resumes, commits and new segments in any order: only permitted segments are released."""

    def __init__(self) -> None:
        super().__init__()
        self.store = Store()
        self.gate = self.store.gate()
        self.sequence = dict.fromkeys(range(3), 0)
        self.starts: dict[int, Start] = {}
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
    @precondition(lambda self: len(self.starts) < 3)
    def begin(self, partition: int) -> None:
        if partition in self.starts:
            return
        start = Start(self.gate, _segment(partition, self.sequence[partition]))
        self.seen = self.store.flags.flags.paused_partitions
        if partition in self.seen:
            assert start.waits()
            self.waiting.add(partition)
        else:
            assert start.is_released()
        self.starts[partition] = start

    @rule(partition=st.integers(0, 2))
    def commit(self, partition: int) -> None:
        start = self.starts.pop(partition, None)
        if start is None:
            return
        start.consumer.stop = True
        assert start.is_released() is (partition not in self.waiting)
        self.waiting.discard(partition)
        self.sequence[partition] += 1

    @invariant()
    def who_waits_waits_until_the_gate_knows_of_a_resume(self) -> None:
        for partition in sorted(self.waiting):
            start = self.starts[partition]
            if partition in self.seen:
                assert start.waits()
                assert not self.gate.is_released(TABLE, start.segment)
            else:
                assert start.is_released()
        self.waiting &= self.seen

    @invariant()
    def who_was_released_stays_so(self) -> None:
        for partition in self.starts.keys() - self.waiting:
            assert self.gate.is_released(TABLE, self.starts[partition].segment)

    def teardown(self) -> None:
        for start in self.starts.values():
            start.consumer.stop = True
            start.is_released()


TestGateMachine = GateMachine.TestCase
TestGateMachine.settings = settings(max_examples=settings().max_examples // 3)
