"""Partitions whose newest segments are gone: they are found, shown, and not resumed without a decision."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.common.names import SegmentName
from controller_client.consumption.pauses.offsets import place_offsets
from controller_client.consumption.pauses.pausing import _remember
from controller_client.consumption.pauses.resuming import resume
from controller_client.consumption.state.lost_ends import LostEnd, find_lost_ends, partitions_left_out
from controller_client.consumption.state.next_steps import next_steps
from controller_client.consumption.state.pause_record import Holder, PauseRecord, change_record, read_record
from controller_client.consumption.state.status import Observation, assess, note
from controller_client.errors import ConflictError, LostEndError, RejectedError
from controller_client.helix.stream_segments import newest_by_partition, read_partitions
from controller_client.rest.consumption import ConsumeFrom
from controller_client.rest.lineage_entry import LineageEntry, LineageState
from controller_client.stream.offsets import OffsetRange
from tests.unit.controller_client.consumption.worlds import TABLE, World, ideal_of, segment

STREAM = {0: OffsetRange(0, 500), 1: OffsetRange(0, 500)}


class Paused(World):
    """A paused table with two partitions, each with two committed segments of 100 rows."""

    def __init__(self, *, noted: bool = True) -> None:
        super().__init__()
        self.left = {segment(partition, sequence): "ONLINE" for partition in (0, 1) for sequence in (0, 1)}
        for name in self.left:
            found = SegmentName.parse(name)
            assert found
            self.committed(found.partition, found.sequence, 100 * found.sequence, 100 * found.sequence + 100)
        self.ideal(self.left, paused=True)
        if noted:
            change_record(self.store, TABLE, lambda _: PauseRecord({"explicit": Holder("me", 1)}))
            _remember(self.control)

    def delete(self, *names: str) -> None:
        for name in names:
            del self.left[name]
            self.store.delete(f"/SEGMENTS/{TABLE}/{name}")
        self.ideal(self.left, paused=True)

    def merge(self, *names: str) -> None:
        """Replace segments as MergeRollupTask does, and delete them as Pinot's retention does."""
        self.lineage.append(LineageEntry("e", LineageState.COMPLETED, names, ("merged_0",), 1))
        self.left["merged_0"] = "ONLINE"
        self.delete(*names)

    def lost(self, stream: dict[int, OffsetRange] | None = None) -> list[LostEnd]:
        return list(
            find_lost_ends(
                TABLE,
                self.control.ideal(),
                read_partitions(self.store, TABLE),
                STREAM if stream is None else stream,
                read_record(self.store, TABLE),
                self.lineage,
            ).values()
        )


def test_the_pause_notes_where_the_rows_end() -> None:
    world = Paused()
    record = read_record(world.store, TABLE)
    assert record
    assert (record.sequences, record.ends) == ({0: 1, 1: 1}, {0: "200", 1: "200"})
    assert world.lost() == []


def test_while_something_consumes_no_end_is_noted() -> None:
    world = Paused(noted=False)
    world.open(0, 2, 200)
    world.ideal({**world.left, segment(0, 2): "CONSUMING"}, paused=True)
    change_record(world.store, TABLE, lambda _: PauseRecord({"explicit": Holder("me", 1)}))
    _remember(world.control)
    record = read_record(world.store, TABLE)
    assert record
    assert (record.sequences, record.ends) == ({0: 2, 1: 1}, None)


@pytest.mark.parametrize(
    ("deleted", "found"),
    [
        ([segment(0, 0)], []),
        ([segment(0, 1)], [LostEnd(0, "100", "200")]),
        ([segment(0, 0), segment(0, 1)], [LostEnd(0, None, "200")]),
        (
            [segment(p, s) for p in (0, 1) for s in (0, 1)],
            [LostEnd(0, None, "200"), LostEnd(1, None, "200")],
        ),
    ],
)
def test_deleted_segments_that_the_pause_has_noted(deleted: list[str], found: list[LostEnd]) -> None:
    world = Paused()
    world.delete(*deleted)
    assert world.lost() == found
    assert world.lost({}) == found
    record = read_record(world.store, TABLE)
    assert record
    assert record.explains(world.control.ideal()), "it is still this pause"


def test_a_segment_that_never_had_rows_is_not_missed() -> None:
    world = Paused(noted=False)
    world.open(0, 2, 200)
    world.ideal({**world.left, segment(0, 2): "CONSUMING"}, paused=True)
    change_record(world.store, TABLE, lambda _: PauseRecord({"explicit": Holder("me", 1)}))
    _remember(world.control)
    # It cannot be committed, and is deleted so that the pause can be finished.
    world.store.delete(f"/SEGMENTS/{TABLE}/{segment(0, 2)}")
    world.ideal(world.left, paused=True)
    _remember(world.control)
    assert world.lost() == []
    world.delete(segment(0, 1))
    assert world.lost() == [LostEnd(0, "100", "200")]


def test_segments_merged_during_somebody_elses_pause() -> None:
    world = Paused(noted=False)
    world.merge(segment(0, 1), segment(1, 0))
    assert world.lost() == [LostEnd(0, "100", None)]
    # A replacement that was reverted, or has not ended, hides nothing.
    world.lineage = [LineageEntry("e", LineageState.REVERTED, (segment(1, 9),), ("merged_1",), 1)]
    assert world.lost() == []


def test_without_any_note_a_gap_between_the_partitions_shows_what_is_gone() -> None:
    world = Paused(noted=False)
    more = {**STREAM, 2: OffsetRange(0, 0)}
    assert world.lost(more) == [], "a new partition starts at its first row"
    world.delete(segment(0, 0), segment(0, 1))
    assert world.lost(more) == [LostEnd(0, None, None)]
    world.delete(segment(1, 0), segment(1, 1))
    assert world.lost(more) == [LostEnd(0, None, None), LostEnd(1, None, None), LostEnd(2, None, None)]
    assert world.lost({}) == [LostEnd(0, None, None)], "the stream was not read"


def test_a_partition_that_consumes_has_lost_nothing() -> None:
    world = Paused()
    world.merge(segment(0, 1))
    world.open(0, 2, 200)
    world.ideal({**world.left, segment(0, 2): "CONSUMING"})
    assert world.lost() == []


def test_the_record_of_an_older_pause_is_no_evidence() -> None:
    world = Paused()
    world.committed(0, 2, 200, 300)
    world.left[segment(0, 2)] = "ONLINE"
    world.delete(segment(1, 1))
    assert world.lost() == []


@given(
    st.dictionaries(st.integers(0, 3), st.integers(0, 4), max_size=4),
    st.dictionaries(st.integers(0, 3), st.integers(0, 4), max_size=4),
)
def test_a_record_explains_a_pause_that_added_no_segment(noted: dict[int, int], now: dict[int, int]) -> None:
    record = PauseRecord(sequences=noted)
    ideal = ideal_of({segment(*each): "ONLINE" for each in now.items()}, paused=True)
    later = [number for number, sequence in now.items() if number not in noted or noted[number] < sequence]
    assert record.explains(ideal) is not bool(later)
    assert not record.explains(ideal_of({}, paused=False))


def test_a_resume_is_refused_with_the_offsets_to_name() -> None:
    world = Paused()
    world.delete(segment(0, 1), segment(1, 0), segment(1, 1))
    before = dict(world.zookeeper.znodes)
    with pytest.raises(LostEndError) as refused:
        resume(world.control)
    assert isinstance(refused.value, RejectedError)
    message = str(refused.value)
    assert message.startswith(
        "t_REALTIME was not resumed: the newest segments of partition 0 are gone: Pinot "
    )
    assert "would continue at offset 100, although its rows end at offset 200; the newest " in message
    assert "would continue at the stream's first row, although its rows end at offset 200\n" in message
    assert "name the offsets to continue at: --consume-from 0=200,1=200; or have the rows " in message
    with pytest.raises(LostEndError, match="partition 1 are gone") as refused:
        resume(world.control, consume_from={0: 200})
    assert "partition 0 are" not in str(refused.value)
    assert world.zookeeper.znodes == before, "nothing was changed"


@pytest.mark.parametrize("decided", [{"read_again": True}, {"consume_from": ConsumeFrom.LARGEST}])
def test_a_resume_with_a_decision_is_requested(
    monkeypatch: pytest.MonkeyPatch, decided: dict[str, object]
) -> None:
    world, requests = Paused(), list[ConsumeFrom]()
    world.delete(segment(0, 1))
    monkeypatch.setattr(
        world.client.consumption, "resume", lambda _table, start, comment: requests.append(start)
    )
    monkeypatch.setattr(world.client.tables, "external_view", lambda _table: {})
    resume(world.control, wait=False, **decided)  # type: ignore[arg-type]
    assert requests == [decided.get("consume_from", ConsumeFrom.LAST_CONSUMED)]


@pytest.mark.parametrize("left", [True, False], ids=["with segments", "without any segment"])
def test_a_partition_without_segments_gets_a_placeholder(left: bool) -> None:
    world = Paused()
    world.store.connection.create("/c/LIVEINSTANCES/Server_h_1", b"")
    world.store.connection.create("/c/LIVEINSTANCES/Broker_h_1", b"")
    world.delete(*(segment(p, s) for p in ((0,) if left else (0, 1)) for s in (0, 1)))
    world.control.stream_or_problem = lambda: (STREAM, None)  # type: ignore[method-assign]
    with pytest.raises(RejectedError, match="has no partition 7"):
        place_offsets(world.control, {7: 0})
    place_offsets(world.control, {0: 200})
    ideal = world.control.ideal()
    (placed,) = {each for each in newest_by_partition(ideal.segments).values() if each.partition == 0}
    assert placed.sequence == 0
    assert ideal.segments[placed.name] == {"s1" if left else "Server_h_1": "OFFLINE"}
    assert read_partitions(world.store, TABLE)[0].newest.start_offset == "200"
    assert [each.partition for each in world.lost()] == ([0] if left else [0, 1]), "it is no segment"


@pytest.mark.parametrize(
    ("stream", "present", "left_out"),
    [
        ({0, 1}, {1}, [0]),
        ({0, 1}, {0}, []),  # a new partition, for which Pinot creates a segment
        ({0, 1}, set(), []),
        ({0, 1, 2, 3}, {1, 3}, [0, 2]),
        ({0, 1, 10_000, 10_001}, {0, 1, 10_001}, [10_000]),
        ({0, 1, 10_000}, {0, 1}, []),
        (set(), {1}, []),
    ],
)
def test_partitions_for_which_no_resume_creates_a_segment(
    stream: set[int], present: set[int], left_out: list[int]
) -> None:
    world = Paused()
    one = read_partitions(world.store, TABLE)[0]
    offsets = dict.fromkeys(stream, STREAM[0])
    assert partitions_left_out(world.control.ideal(), dict.fromkeys(present, one), offsets) == left_out


def test_a_running_table_is_not_resumed_for_a_partition_that_pinot_leaves_out() -> None:
    world = Paused()
    world.delete(segment(0, 0), segment(0, 1))
    world.control.stream_or_problem = lambda: (STREAM, None)  # type: ignore[method-assign]
    world.ideal(world.left, paused=False)
    with pytest.raises(ConflictError, match="all segments of partition 0 of t_REALTIME are gone") as refused:
        resume(world.control)
    assert refused.value.remedy == "run 'pinotctl consumption recreate'"


def test_the_status_shows_it() -> None:
    world = Paused()
    world.delete(segment(0, 0), segment(0, 1))
    ends = {each.partition: each for each in world.lost()}
    seen = Observation(
        ideal=world.control.ideal(),
        partitions=read_partitions(world.store, TABLE),
        view={},
        progress={},
        stream={},
        stream_problem=None,
        record=read_record(world.store, TABLE),
        lost_ends=ends,
    )
    status = assess(TABLE, seen)
    assert [each.partition for each in status.partitions] == [0, 1]
    assert note(status.partitions[0]) == str(ends[0])
    assert [holder.by for holder in status.holders] == ["me"]
    step = next_steps(status)[0]
    assert "the newest segments of partition 0 are gone" in step.text
    assert step.commands == ("pinotctl consumption resume t_REALTIME --dry-run",)
