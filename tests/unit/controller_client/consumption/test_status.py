"""The status of a table, its history in a watch, and the next steps that are shown."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.common.names import TableName
from controller_client.consumption.state.lag_history import LagHistory
from controller_client.consumption.state.next_steps import next_steps
from controller_client.consumption.state.pause_record import Holder, PauseRecord
from controller_client.consumption.state.status import (
    Observation,
    PartitionState,
    PartitionStatus,
    TableState,
    TableStatus,
    assess,
)
from controller_client.helix.ideal_state import PinotPause
from controller_client.helix.stream_segments import read_committing, read_partitions
from controller_client.rest.consumption import ReplicaProgress
from controller_client.stream.config import StreamConfig
from controller_client.stream.offsets import OffsetRange
from controller_client.stream.topics import TopicPartition
from pinotctl.root import cli
from tests.unit.controller_client.consumption.worlds import TABLE, World, ideal_of, segment


def observed(
    *, paused: bool = False, state: str = "CONSUMING", view: str | None = "CONSUMING"
) -> Observation:
    """One partition whose second segment started at offset 10, is open, and has been read up to 12."""
    world = World()
    world.committed(0, 0, 0, 10)
    world.open(0, 1, 10)
    name = segment(0, 1)
    return Observation(
        ideal=ideal_of({segment(0, 0): "ONLINE", name: state}, paused=paused),
        partitions=read_partitions(world.store, TABLE),
        view={segment(0, 0): {"s1": "ONLINE"}, **({name: {"s1": view}} if view else {})},
        progress={name: (ReplicaProgress("s1", True, "12"), ReplicaProgress("s2", True, "9"))},
        stream={0: OffsetRange(5, 20)},
        stream_problem=None,
        record=None,
    )


def with_records(seen: Observation, world: World) -> Observation:
    """Replace the segments' records."""
    partitions = read_partitions(world.store, TABLE)
    return replace(seen, partitions=partitions, committing=read_committing(world.store, TABLE, partitions))


def only(seen: Observation) -> PartitionStatus:
    (partition,) = assess(TABLE, seen).partitions
    return partition


def test_offset_and_lag_are_those_of_the_furthest_replica() -> None:
    status = only(observed())
    assert status.state is PartitionState.CONSUMING
    assert (status.offset, status.committed_offset, status.lag) == ("12", "10", 8)
    assert (status.servers, status.lost, status.ahead) == (("s1",), None, False)


@pytest.mark.parametrize(
    ("paused", "state", "view", "expected"),
    [
        (False, "CONSUMING", "CONSUMING", PartitionState.CONSUMING),
        (False, "CONSUMING", None, PartitionState.STARTING),
        (False, "CONSUMING", "ERROR", PartitionState.FAILED),
        (True, "CONSUMING", "CONSUMING", PartitionState.COMMITTING),
        (True, "CONSUMING", "ERROR", PartitionState.FAILED),
        (True, "ONLINE", "CONSUMING", PartitionState.COMMITTING),
        (True, "ONLINE", "ONLINE", PartitionState.PAUSED),
        (False, "ONLINE", "ONLINE", PartitionState.STOPPED),
        (False, "OFFLINE", "OFFLINE", PartitionState.STOPPED),
    ],
)
def test_the_state_of_a_partition(
    paused: bool, state: str, view: str | None, expected: PartitionState
) -> None:
    seen = observed(paused=paused, state=state, view=view)
    assert only(seen).state is expected
    table = assess(TABLE, seen).state
    whole, other = (
        (TableState.PAUSED, TableState.PAUSING) if paused else (TableState.CONSUMING, TableState.INCOMPLETE)
    )
    assert table is (whole if expected.value == whole.value else other)


@pytest.mark.parametrize("paused", [False, True])
def test_an_interrupted_commit_does_not_count_as_consuming(paused: bool) -> None:
    world = World()
    world.committed(0, 0, 0, 10)
    world.committed(0, 1, 10, 12)
    seen = with_records(observed(paused=paused), world)
    assert only(seen).state is PartitionState.COMMITTING


@pytest.mark.parametrize(
    ("paused", "newest", "state", "table"),
    [
        # Nothing consumes, but no server has the segment: the table is not paused before it is built.
        (True, "COMMITTING", PartitionState.COMMITTING, TableState.PAUSING),
        (True, "DONE", PartitionState.PAUSED, TableState.PAUSED),
        # Nothing follows on its own: the remedy is that for any stopped partition.
        (False, "COMMITTING", PartitionState.STOPPED, TableState.INCOMPLETE),
    ],
)
def test_a_segment_that_is_not_yet_built(
    paused: bool, newest: str, state: PartitionState, table: TableState
) -> None:
    world = World()
    world.committed(0, 0, 0, 10)
    (world.committing if newest == "COMMITTING" else world.committed)(0, 1, 10, 25)
    seen = with_records(observed(paused=paused, state="ONLINE", view=None), world)
    status = only(seen)
    assert (status.state, assess(TABLE, seen).state, status.offset) == (state, table, "25")
    building = newest == "COMMITTING"
    assert status.building == ((segment(0, 1),) if building else ())
    assert status.committed_offset == ("10" if building else "25")


def test_a_table_consumes_while_it_builds() -> None:
    world = World()
    world.committing(0, 0, 0, 10)
    world.open(0, 1, 10)
    seen = with_records(observed(), world)
    assert only(seen).state is PartitionState.CONSUMING
    assert only(seen).building == (segment(0, 0),)
    assert assess(TABLE, seen).state is TableState.CONSUMING


def test_a_consumer_that_gave_up_counts_as_failed() -> None:
    seen = observed()
    gone = {segment(0, 1): (ReplicaProgress("s1", False, "12"),)}
    assert only(replace(seen, progress=gone)).state is PartitionState.FAILED


def test_rows_that_the_stream_dropped_and_a_stream_that_ends_early() -> None:
    seen = observed(paused=True, state="ONLINE", view="ONLINE")
    dropped = only(replace(seen, stream={0: OffsetRange(15, 40)}))
    assert (dropped.offset, dropped.lost, dropped.lag) == ("10", (10, 15), 30)
    early = only(replace(seen, stream={0: OffsetRange(0, 3)}))
    assert (early.ahead, early.lag, early.lost) == (True, 0, None)
    unknown = only(replace(seen, stream={}))
    assert (unknown.lag, unknown.lost, unknown.ahead) == (None, None, False)


def test_the_lag_that_newer_versions_report_is_used_if_the_stream_is_not_read() -> None:
    reported = {segment(0, 1): (ReplicaProgress("s1", True, "12", "30", 18),)}
    status = only(replace(observed(), stream={}, progress=reported))
    assert (status.latest_offset, status.lag) == (30, 18)


def test_partitions_that_only_the_stream_has_or_no_longer_has() -> None:
    status = assess(TABLE, replace(observed(), stream={1: OffsetRange(0, 7)}))
    assert [each.state for each in status.partitions] == [PartitionState.CONSUMING, PartitionState.STOPPED]
    seen = observed(paused=True, state="ONLINE", view="ONLINE")
    status = assess(TABLE, replace(seen, stream={1: OffsetRange(0, 7)}))
    assert [each.state for each in status.partitions] == [PartitionState.GONE, PartitionState.PAUSED]
    assert status.state is TableState.PAUSED


def test_partitions_of_several_topics_are_mapped_to_the_right_topic() -> None:
    streams = tuple(
        StreamConfig({"streamType": "kafka", "stream.kafka.topic.name": name}) for name in ("first", "second")
    )
    stream = {0: OffsetRange(5, 20), 10_000: OffsetRange(0, 7), 10_003: OffsetRange(0, 1)}
    seen = replace(observed(), stream=stream, streams=streams)
    found = {
        each.partition: (each.topic_partition, each.latest_offset) for each in assess(TABLE, seen).partitions
    }
    assert found == {
        0: (TopicPartition("first", 0), 20),
        10_000: (TopicPartition("second", 0), 7),
        10_003: (TopicPartition("second", 3), 1),
    }
    assert only(observed()).topic_partition is None


def test_offsets_that_are_not_numbers_are_shown_but_have_no_lag() -> None:
    seen = observed()
    status = only(replace(seen, progress={segment(0, 1): (ReplicaProgress("s1", True, "shard-7"),)}))
    assert (status.offset, status.lag) == ("shard-7", None)


def test_a_record_is_valid_for_the_pause_that_it_observed() -> None:
    seen = observed(paused=True, state="ONLINE", view="ONLINE")
    record = PauseRecord({"explicit": Holder("me", 5, "why")}, sequences={0: 1})
    assert assess(TABLE, replace(seen, record=record)).holders == (Holder("me", 5, "why"),)
    assert assess(TABLE, replace(seen, record=replace(record, sequences=None))).holders != ()
    older = replace(record, sequences={0: 0})
    assert assess(TABLE, replace(seen, record=older)).holders == ()
    going = observed()
    assert assess(TABLE, replace(going, record=record)).holders == ()


@pytest.mark.parametrize(
    ("paused", "still_consuming", "expected", "table"),
    [
        (False, {}, PartitionState.PARTITION_PAUSED, TableState.CONSUMING),
        (False, {0: ("s1",)}, PartitionState.PARTITION_PAUSING, TableState.INCOMPLETE),
        (True, {}, PartitionState.PARTITION_PAUSED, TableState.PAUSED),
        (True, {0: ("s1",)}, PartitionState.COMMITTING, TableState.PAUSING),
    ],
)
def test_the_state_of_a_separately_paused_partition(
    paused: bool, still_consuming: dict[int, tuple[str, ...]], expected: PartitionState, table: TableState
) -> None:
    seen = observed(view=None)
    ideal = ideal_of(
        {name: "".join(states.values()) for name, states in seen.ideal.segments.items()},
        paused=paused,
        paused_partitions=frozenset({0}),
    )
    status = assess(TABLE, replace(seen, ideal=ideal, still_consuming=still_consuming))
    assert (status.partitions[0].state, status.state) == (expected, table)


def test_a_disabled_table() -> None:
    seen = observed()
    assert assess(TABLE, replace(seen, ideal=replace(seen.ideal, enabled=False))).state is TableState.DISABLED


def status(*lags: int | None, state: TableState = TableState.CONSUMING) -> TableStatus:
    partitions = tuple(
        PartitionStatus(number, PartitionState.CONSUMING, lag=lag) for number, lag in enumerate(lags)
    )
    return TableStatus(TABLE, state, partitions)


@given(st.lists(st.one_of(st.none(), st.integers(0, 10**12)), min_size=1, max_size=200), st.integers(4, 40))
def test_readings_are_bounded_and_keep_begin_end_and_peak(lags: list[int | None], limit: int) -> None:
    history = LagHistory(limit)
    for at, lag in enumerate(lags):
        history.add([status(lag)], at)
    readings = history.readings(TABLE)
    assert len(readings) <= limit
    times = [each.time_ms for each in readings]
    assert times == sorted(set(times))
    assert (times[0], times[-1]) == (0, len(lags) - 1)
    kept = [each.lags[0] for each in readings if 0 in each.lags]
    assert max(kept, default=None) == max((lag for lag in lags if lag is not None), default=None)
    assert readings[-1].lags.get(0) == lags[-1]


def test_a_pause_is_known_from_its_begin_to_its_end() -> None:
    history = LagHistory()
    holder = Holder("me@here:1", 5, "migration", "at noon")
    paused = replace(status(1, state=TableState.PAUSED), holders=(holder,))
    history.add([status(1)], 10)
    history.add([paused], 20)
    history.add([paused], 30)
    (pause,) = history.pauses()
    assert (pause.table, pause.what, pause.by, pause.since_ms, pause.reason, pause.ended_ms) == (
        *(TABLE, "table", "me@here:1", 5, "migration: at noon", None),
    )
    history.add([status(1)], 40)
    assert [each.ended_ms for each in history.pauses()] == [40]
    again = replace(paused, holders=(replace(holder, since_ms=45),))
    history.add([again], 50)
    assert [(each.since_ms, each.ended_ms) for each in history.pauses()] == [(45, None), (5, 40)]
    assert [reading.is_paused for reading in history.readings(TABLE)] == [False, True, True, False, True]


def test_pauses_without_a_recorded_name() -> None:
    history = LagHistory()
    history.add([status(1, state=TableState.PAUSED)], 1)
    (nameless,) = history.pauses()
    assert (nameless.what, nameless.by, nameless.since_ms, nameless.reason) == ("table", None, None, "")
    by_quota = PinotPause("STORAGE_QUOTA_EXCEEDED", "full", "2026-11-23 15:01:02")
    of_pinot = replace(status(1, state=TableState.PAUSED), pinot_pause=by_quota, paused_topics={1: "clicks"})
    history.add([of_pinot], 2)
    assert [(each.what, each.by, each.since_text, each.reason) for each in history.pauses()] == [
        ("table", "Pinot itself", "2026-11-23 15:01:02", "STORAGE_QUOTA_EXCEEDED: full"),
        ("topic clicks", None, None, ""),
        ("table", None, None, ""),
    ]


def test_a_paused_partition_has_its_own_row() -> None:
    held = PartitionStatus(3, PartitionState.PARTITION_PAUSED, paused_by=Holder("me", 5, "disk"))
    history = LagHistory()
    history.add([replace(status(), partitions=(held,))], 1)
    assert [(each.what, each.by) for each in history.pauses()] == [("partition 3", "me")]


def test_pauses_that_ended_are_bounded() -> None:
    history = LagHistory()
    for at in range(500):
        holder = Holder("me", at)
        history.add([replace(status(state=TableState.PAUSED), holders=(holder,))], at)
    pauses = history.pauses()
    assert (len(pauses), pauses[0].since_ms, pauses[1].since_ms, pauses[-1].since_ms) == (201, 499, 498, 299)


SPACED = TableName("a b_REALTIME")
FINE = PartitionStatus(0, PartitionState.CONSUMING, offset="10", latest_offset=20, lag=10)
CONSUMING = TableStatus(SPACED, TableState.CONSUMING, (FINE,))


def incomplete(*partitions: PartitionStatus) -> TableStatus:
    return replace(CONSUMING, state=TableState.INCOMPLETE, partitions=(FINE, *partitions))


def in_state(state: PartitionState, number: int = 1) -> PartitionStatus:
    return PartitionStatus(number, state)


def paused_by(*states: PartitionState) -> TableStatus:
    partitions = (in_state(state, 1 + 3 * number) for number, state in enumerate(states))
    return replace(CONSUMING, partitions=tuple(partitions))


FAILED = incomplete(in_state(PartitionState.FAILED))
PAUSED = replace(CONSUMING, state=TableState.PAUSED)
CASES = {
    "disabled": (replace(CONSUMING, state=TableState.DISABLED), "table enable {}"),
    "paused": (PAUSED, "consumption resume {} --dry-run"),
    "pausing": (replace(CONSUMING, state=TableState.PAUSING), "consumption pause {}"),
    "by Pinot": (
        replace(PAUSED, pinot_pause=PinotPause("STORAGE_QUOTA_EXCEEDED")),
        "consumption status {} --watch",
    ),
    "failed": (FAILED, "consumption recover {} --dry-run"),
    "not built": (
        replace(CONSUMING, partitions=(replace(FINE, building=("s",)),)),
        "consumption recover {} --dry-run",
    ),
    "stopped": (incomplete(in_state(PartitionState.STOPPED)), "consumption recreate {} --dry-run"),
    "starting": (incomplete(in_state(PartitionState.STARTING)), "consumption status {} --watch"),
    "partitions": (
        paused_by(PartitionState.PARTITION_PAUSED, PartitionState.PARTITION_PAUSING),
        "consumption resume {} --partition 1 --partition 4",
    ),
    "lost": (
        replace(CONSUMING, partitions=(replace(FINE, lost=(10, 15)),)),
        "consumption status {} --output json",
    ),
    "ahead": (replace(CONSUMING, partitions=(replace(FINE, latest_offset=5),)), "consumption pause {}"),
    "unknown": (replace(CONSUMING, stream_problem="it is far away"), "consumption status {}"),
    "topic": (
        replace(CONSUMING, paused_topics={1: "clicks"}),
        "curl -X POST \"$PINOT_CONTROLLER_URL\"'/tables/a b_REALTIME/resumeTopicConsumption?topicIndices=1'",
    ),
}


def commands(status: TableStatus) -> Iterator[str]:
    for step in next_steps(status):
        yield from step.commands


def test_a_consuming_table_needs_no_action() -> None:
    assert next_steps(CONSUMING) == []


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_first_command_is_the_right_one_and_all_are_those_of_pinotctl(name: str) -> None:
    status, expected = CASES[name]
    first = next(commands(status))
    assert first.removeprefix("pinotctl ") == expected.format("'a b_REALTIME'")
    for command in commands(status):
        program, *words = shlex.split(command)
        if program == "curl":
            continue
        below: click.Command | None = cli
        context = click.Context(cli)
        while isinstance(below, click.Group):
            below = below.get_command(context, words.pop(0))
        assert below is not None
        options = {option for parameter in below.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options
        assert SPACED in words


def test_the_most_urgent_is_first() -> None:
    both = replace(FAILED, stream_problem="it is far away", state=TableState.PAUSED)
    assert [step.commands[0].split()[2] for step in next_steps(both)] == ["recover", "resume", "status"]
