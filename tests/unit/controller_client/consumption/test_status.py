from __future__ import annotations

from dataclasses import replace

import pytest

from controller_client.consumption import PartitionState, TableState
from controller_client.consumption.pause_record import Holder, PauseRecord
from controller_client.consumption.status import Observation, PartitionStatus, assess
from controller_client.helix.stream_segments import read_committing, read_partitions
from controller_client.rest.consumption import ReplicaProgress
from controller_client.stream.config import StreamConfig
from controller_client.stream.offsets import OffsetRange
from controller_client.stream.topics import TopicPartition
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


def only(seen: Observation) -> PartitionStatus:
    (partition,) = assess(TABLE, seen).partitions
    return partition


def test_offset_and_lag_are_those_of_the_furthest_replica() -> None:
    status = only(observed())
    assert (status.state, status.offset, status.committed_offset, status.lag) == (
        PartitionState.CONSUMING,
        "12",
        "10",
        8,
    )
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
    if paused:
        assert (table is TableState.PAUSED) == (expected is PartitionState.PAUSED)
        assert table in (TableState.PAUSED, TableState.PAUSING)
    else:
        assert (table is TableState.CONSUMING) == (expected is PartitionState.CONSUMING)
        assert table in (TableState.CONSUMING, TableState.INCOMPLETE)


@pytest.mark.parametrize("paused", [False, True])
def test_an_interrupted_commit_does_not_count_as_consuming(paused: bool) -> None:
    world = World()
    world.committed(0, 0, 0, 10)
    world.committed(0, 1, 10, 12)
    seen = replace(observed(paused=paused), partitions=read_partitions(world.store, TABLE))
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
    partitions = read_partitions(world.store, TABLE)
    seen = replace(
        observed(paused=paused, state="ONLINE", view=None),
        partitions=partitions,
        committing=read_committing(world.store, TABLE, partitions),
    )
    status = only(seen)
    assert (status.state, assess(TABLE, seen).state, status.offset) == (state, table, "25")
    building = newest == "COMMITTING"
    assert status.building == ((segment(0, 1),) if building else ())
    assert status.committed_offset == ("10" if building else "25")


def test_a_table_consumes_while_it_builds() -> None:
    world = World()
    world.committing(0, 0, 0, 10)
    world.open(0, 1, 10)
    partitions = read_partitions(world.store, TABLE)
    committing = read_committing(world.store, TABLE, partitions)
    seen = replace(observed(), partitions=partitions, committing=committing)
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
