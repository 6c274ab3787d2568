from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.deepstore import Fault, Judgement, Replica, judge
from controller_client.deepstore.judge import Stored, StoredState
from tests.unit.deepstore.samples import record

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
        crc=crcs,
        unreadable=st.one_of(st.none(), st.just("broken")),
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

STORE_FAULTS = {Fault.NO_URL, Fault.OBJECT_GONE, Fault.WRONG_SIZE, Fault.WRONG_CRC, Fault.NOT_CHECKED}


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
def test_one_more_replica_never_makes_copies_fewer(
    segment: object, replicas: tuple[Replica, ...], stored: Stored, least: int
) -> None:
    before = judge(segment, replicas, stored, least)  # type: ignore[arg-type]
    after = judge(segment, (*replicas, Replica("z", "ONLINE")), stored, least)  # type: ignore[arg-type]
    assert after.copies == before.copies + (not before.record.consuming)
    assert not (Fault.FEW_COPIES in faults(after) and Fault.FEW_COPIES not in faults(before))


@given(judged)
def test_copies_are_what_can_be_counted(judgement: Judgement) -> None:
    if judgement.record.consuming:
        return
    good = [
        each
        for each in judgement.replicas
        if each.state == "ONLINE" and each.crc in (None, judgement.record.crc)
    ]
    assert judgement.copies == len(good) + judgement.stored_well


@pytest.mark.parametrize(
    ("size", "stored", "fault"),
    [
        (10, Stored(StoredState.PRESENT, 10), None),
        (None, Stored(StoredState.PRESENT, 10), None),
        (10, Stored(StoredState.PRESENT, 10, crc=7), None),
        (10, Stored(StoredState.PRESENT, 11), Fault.WRONG_SIZE),
        (None, Stored(StoredState.PRESENT, 0), Fault.WRONG_SIZE),
        (10, Stored(StoredState.PRESENT, 10, crc=8), Fault.WRONG_CRC),
        (10, Stored(StoredState.PRESENT, 10, unreadable="cut short"), Fault.WRONG_CRC),
        (10, Stored(StoredState.ABSENT), Fault.OBJECT_GONE),
        (10, Stored(StoredState.UNKNOWN, why="x"), Fault.NOT_CHECKED),
        (10, None, Fault.NO_URL),
    ],
)
def test_each_fault_of_the_store(size: int | None, stored: Stored | None, fault: Fault | None) -> None:
    url = URL if stored else ""
    judgement = judge(record(url=url, size=size), (Replica("a", "ONLINE", 7),), stored, 1)
    assert faults(judgement) == ({fault} if fault else set())
    assert judgement.repairable == (fault not in (None, Fault.NOT_CHECKED))


def test_a_replica_with_another_crc_is_named_and_is_no_copy() -> None:
    replicas = (Replica("a", "ONLINE", 7), Replica("b", "ONLINE", 8))
    judgement = judge(record(), replicas, None, 2)
    assert faults(judgement) == {Fault.NO_URL, Fault.REPLICA_CRC, Fault.FEW_COPIES}
    assert "b has crc 8, not 7" in str(judgement.findings)


def test_the_size_of_an_encrypted_tar_is_not_compared() -> None:
    segment = replace(record(url=URL, size=10), encrypted=True)
    assert judge(segment, (), Stored(StoredState.PRESENT, 11), 1).stored_well
