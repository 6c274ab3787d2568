from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.deepstore.judge import Fault, Judgement, Replica, Stored, StoredState, judge
from controller_client.deepstore.segment_record import SegmentRecord
from controller_client.zookeeper import ZNRecord
from tests.unit.controller_client.deepstore.samples import record

URL = "s3://b/t/s"

crcs = st.one_of(st.none(), st.integers(min_value=0, max_value=3))
replica_lists = st.lists(
    st.builds(Replica, st.sampled_from("abcd"), st.sampled_from(["ONLINE", "OFFLINE", "ERROR"]), crcs),
    max_size=4,
    unique_by=lambda each: each.server,
).map(tuple)
stored_things = st.one_of(
    st.builds(
        Stored,
        st.just(StoredState.PRESENT),
        size_bytes=st.integers(min_value=0, max_value=2),
        unproven=st.one_of(st.none(), st.just("broken")),
    ),
    st.builds(
        Stored,
        st.just(StoredState.PRESENT),
        size_bytes=st.integers(min_value=1, max_value=2),
        proven=st.just(True),
    ),
    st.just(Stored(StoredState.ABSENT)),
    st.just(Stored(StoredState.UNKNOWN, why="no rights")),
)
records = st.builds(
    record,
    crc=st.integers(min_value=0, max_value=3),
    url=st.sampled_from(["", URL]),
    size=st.one_of(st.none(), st.integers(min_value=1, max_value=2)),
    status=st.sampled_from(["DONE", "UPLOADED", "IN_PROGRESS"]),
)
judged = st.builds(judge, records, replica_lists, stored_things, st.integers(min_value=1, max_value=4))

UNKNOWN = {Fault.NOT_CHECKED, Fault.UNPROVEN}
STORE_FAULTS = {Fault.NO_URL, Fault.OBJECT_GONE, Fault.WRONG_SIZE, Fault.WRONG_CRC, *UNKNOWN}


def faults(judgement: Judgement) -> set[Fault]:
    return {finding.fault for finding in judgement.findings}


@given(judged)
def test_the_store_has_a_good_copy_or_exactly_one_fault(judgement: Judgement) -> None:
    found = [finding for finding in judgement.findings if finding.fault in STORE_FAULTS]
    if judgement.record.consuming:
        assert not judgement.findings
    else:
        assert len(found) == (0 if judgement.stored_well else 1)


@given(records, replica_lists, stored_things, st.integers(min_value=1, max_value=4))
def test_one_more_replica_never_reduces_the_copies(
    segment: SegmentRecord, replicas: tuple[Replica, ...], stored: Stored, least: int
) -> None:
    before = judge(segment, replicas, stored, least)
    after = judge(segment, (*replicas, Replica("z", "ONLINE", segment.crc)), stored, least)
    assert after.copies == before.copies + (not before.record.consuming)
    assert not (Fault.FEW_COPIES in faults(after) and Fault.FEW_COPIES not in faults(before))


@given(judged)
def test_only_copies_known_to_be_good_count(judgement: Judgement) -> None:
    if judgement.record.consuming:
        return
    crc = judgement.record.crc
    good = [each for each in judgement.replicas if (each.state, each.crc) == ("ONLINE", crc)]
    assert judgement.copies == len(good) + judgement.stored_well


@given(records, replica_lists, stored_things, st.integers(min_value=1, max_value=4))
def test_too_few_known_copies_are_always_found(
    segment: SegmentRecord, replicas: tuple[Replica, ...], stored: Stored, least: int
) -> None:
    """Whatever a silent server has: a clean segment has its copies, and faults remain once all is known."""
    judgement = judge(segment, replicas, stored, least)
    if segment.consuming:
        return
    found = faults(judgement)
    if judgement.copies < least:
        assert found & {Fault.FEW_COPIES, Fault.COPIES_UNKNOWN, *UNKNOWN}
    best = tuple(replace(each, crc=segment.crc) if each.crc is None else each for each in replicas)
    if Fault.FEW_COPIES in found:
        assert Fault.FEW_COPIES in faults(judge(segment, best, stored, least))
    elif Fault.COPIES_UNKNOWN in found:
        assert not {Fault.FEW_COPIES, Fault.COPIES_UNKNOWN} & faults(judge(segment, best, stored, least))


@pytest.mark.parametrize(
    ("size", "stored", "fault"),
    [
        (10, Stored(StoredState.PRESENT, 10), None),
        # Any object at all would do: a size or the content must show that it is this one.
        (None, Stored(StoredState.PRESENT, 1), Fault.UNPROVEN),
        (None, Stored(StoredState.PRESENT, 10, proven=True), None),
        (10, Stored(StoredState.PRESENT, 11), Fault.WRONG_SIZE),
        (None, Stored(StoredState.PRESENT, 0), Fault.WRONG_SIZE),
        (10, Stored(StoredState.PRESENT, 10, unproven="cut short"), Fault.WRONG_CRC),
        (10, Stored(StoredState.ABSENT), Fault.OBJECT_GONE),
        (10, Stored(StoredState.UNKNOWN, why="x"), Fault.NOT_CHECKED),
        (10, None, Fault.NO_URL),
    ],
)
def test_each_fault_of_the_store(size: int | None, stored: Stored | None, fault: Fault | None) -> None:
    url = URL if stored else ""
    judgement = judge(record(crc=7, url=url, size=size), (Replica("a", "ONLINE", 7),), stored, 1)
    assert faults(judgement) == ({fault} if fault else set())
    assert judgement.repairable == (fault not in (None, *UNKNOWN))
    assert judgement.stored_well == (fault is None)


def test_a_replica_with_another_crc_is_named_and_does_not_count() -> None:
    replicas = (Replica("a", "ONLINE", 7), Replica("b", "ONLINE", 8))
    judgement = judge(record(crc=7), replicas, None, 2)
    assert faults(judgement) == {Fault.NO_URL, Fault.REPLICA_CRC, Fault.FEW_COPIES}
    assert "b has crc 8, not 7" in str(judgement.findings)


def test_an_encrypted_tar_cannot_be_compared_so_it_does_not_count() -> None:
    segment = replace(record(url=URL, size=10), encrypted=True)
    for size_bytes in (10, 11):
        judgement = judge(segment, (), Stored(StoredState.PRESENT, size_bytes), 1)
        assert faults(judgement) == {Fault.UNPROVEN}
        assert not judgement.stored_well
        assert not judgement.unstored


def test_a_silent_servers_copy_is_neither_counted_nor_called_missing() -> None:
    replicas = (Replica("a", "ONLINE", 7), Replica("b", "ONLINE"))
    judgement = judge(record(crc=7, url=URL), replicas, Stored(StoredState.ABSENT), 2)
    assert faults(judgement) == {Fault.OBJECT_GONE, Fault.COPIES_UNKNOWN}
    assert judgement.copies == 1
    assert "no checksum from b" in str(judgement.findings)
    stored = Stored(StoredState.PRESENT, 5)
    assert faults(judge(record(crc=7, url=URL, size=5), replicas, stored, 2)) == set()
    assert faults(judge(record(crc=7, url=URL), replicas, stored, 2)) == {Fault.UNPROVEN}
    assert Fault.FEW_COPIES in faults(judge(record(crc=7), replicas[1:], None, 2))


def test_the_size_of_a_folder_is_not_compared_with_a_tar() -> None:
    """Since 1.3, Pinot records the unpacked size for commits by servers, and the tar's size for pushes."""
    stored = Stored(StoredState.PRESENT, 11)
    committed = record(crc=7, url=URL, size=10, folder_sizes=True)
    assert faults(judge(committed, (), stored, 1)) == {Fault.UNPROVEN}
    assert judge(committed, (), replace(stored, proven=True), 1).stored_well
    complete = ZNRecord("s", simple_fields={"segment.size.in.bytes": "10", "other": "kept"})
    assert committed.with_copy(complete, URL, 11).simple_fields["segment.size.in.bytes"] == "10"
    pushed = record(crc=7, url=URL, size=10, status="UPLOADED", folder_sizes=True)
    assert Fault.WRONG_SIZE in faults(judge(pushed, (), stored, 1))
    repaired = pushed.with_copy(complete, URL, 11).simple_fields
    assert repaired == {"segment.size.in.bytes": "11", "segment.download.url": URL, "other": "kept"}


def test_replicas_that_built_a_segment_themselves_may_have_another_crc() -> None:
    """Since 1.5, the data crc decides for those, and servers do not report it."""
    more = {"segment.data.crc": "5", "segment.use.data.crc": "true"}
    replicas = (Replica("a", "ONLINE", 7), Replica("b", "ONLINE", 8))
    stored = Stored(StoredState.PRESENT, 11, proven=True)
    judgement = judge(record(crc=7, url=URL, more=more), replicas, stored, 3)
    assert faults(judgement) == {Fault.COPIES_UNKNOWN}


@pytest.mark.parametrize("status", ["IN_PROGRESS", "COMMITTING"])
def test_a_segment_that_is_not_committed_has_no_copies_yet(status: str) -> None:
    for replicas in ((Replica("a", "CONSUMING"),), (Replica("a", "ERROR"), Replica("b", "ONLINE"))):
        assert judge(record(status=status), replicas, None, 2).findings == ()


@pytest.mark.parametrize("replicas", [(), (Replica("a", "ERROR"), Replica("b", "OFFLINE"))])
def test_a_segment_that_no_server_can_build_is_lost(replicas: tuple[Replica, ...]) -> None:
    assert faults(judge(record(status="COMMITTING"), replicas, None, 2)) == {Fault.NOT_BUILT}
    assert judge(record(status="IN_PROGRESS"), replicas, None, 2).findings == ()


@pytest.mark.parametrize(
    ("states", "is_lost"),
    [(("CONSUMING", "CONSUMING"), False), (("CONSUMING", "ERROR"), False), (("ERROR", "OFFLINE"), True)],
)
def test_a_segment_whose_servers_still_show_consuming_is_not_lost(
    states: tuple[str, str], is_lost: bool
) -> None:
    """The record of a commit exists a moment before the servers' new states."""
    replicas = tuple(Replica(server, state, 1) for server, state in zip("ab", states, strict=True))
    committed = judge(record(crc=1, status="DONE"), replicas, None, 2)
    assert committed.unstored
    assert committed.without_good_copy is is_lost
