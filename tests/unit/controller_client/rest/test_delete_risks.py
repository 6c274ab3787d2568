"""What follows from deletes: each state of an entry and of a partition, and deletes that are refused."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.client import ControllerClient
from controller_client.common.names import SegmentName, TableName
from controller_client.errors import NotAppliedError, UnsafeDeleteError
from controller_client.rest.delete_risks import DeleteRisk, consequences_of_delete
from controller_client.rest.lineage import LineageEntry, LineageState
from tests.unit.controller_client.scripted_server import ScriptedServer, Step, answer

OFFLINE, REALTIME = TableName("t_OFFLINE"), TableName("t_REALTIME")
OPEN, DONE, UNDONE = LineageState.IN_PROGRESS, LineageState.COMPLETED, LineageState.REVERTED

Make = Callable[..., tuple[ControllerClient, ScriptedServer]]


def entry(state: LineageState, old: str, new: str) -> LineageEntry:
    return LineageEntry("e1", state, tuple(old.split()), tuple(new.split()), 1)


def risks(deleted: str, *entries: LineageEntry, present: str = "A1 A2 B1 B2") -> dict[DeleteRisk, set[str]]:
    found = consequences_of_delete(
        OFFLINE, deleted.split(), entries, {name: {"s": "ONLINE"} for name in present.split()}, lambda _: None
    )
    assert all(each.risk is DeleteRisk.OPEN_REPLACEMENT or "revert" in str(each) for each in found)
    return {each.risk: set(each.segments) for each in found}


@pytest.mark.parametrize(
    ("state", "deleted", "expected"),
    [
        (OPEN, "A1", {DeleteRisk.OPEN_REPLACEMENT: {"A1"}}),
        (OPEN, "B2", {DeleteRisk.OPEN_REPLACEMENT: {"B2"}}),
        (DONE, "A1", {DeleteRisk.REVERT: {"A1"}}),
        (DONE, "B1", {DeleteRisk.HIDDEN_ROWS: {"B1"}}),
        (DONE, "B1 A1", {DeleteRisk.REVERT: {"A1"}, DeleteRisk.HIDDEN_ROWS: {"B1"}}),
        (DONE, "B1 A1 A2", {DeleteRisk.REVERT: {"A1", "A2"}}),
        (UNDONE, "A1 A2 B1 B2", {}),
        (OPEN, "C", {}),
        (DONE, "C", {}),
    ],
)
def test_segments_of_a_lineage_entry(
    state: LineageState, deleted: str, expected: dict[DeleteRisk, set[str]]
) -> None:
    assert risks(deleted, entry(state, "A1 A2", "B1 B2")) == expected


def test_new_segments_that_replaced_nothing_or_only_what_is_gone_are_ordinary() -> None:
    assert risks("B1", entry(DONE, "", "B1 B2")) == {}
    assert risks("B1", entry(DONE, "A1 A2", "B1 B2"), present="B1 B2") == {}


def test_a_chain_of_replacements_names_both_entries() -> None:
    chain = [entry(DONE, "A1", "B1"), entry(OPEN, "B1", "C1")]
    assert risks("B1", *chain).keys() == {DeleteRisk.HIDDEN_ROWS, DeleteRisk.OPEN_REPLACEMENT}


def name(partition: int, sequence: int) -> str:
    return f"t__{partition}__{sequence}__20260101T0000Z"


def texts(deleted: list[str], ideal: dict[str, str]) -> dict[DeleteRisk, str]:
    states = {segment: {"s1": state, "s2": state} for segment, state in ideal.items()}
    found = consequences_of_delete(
        REALTIME, deleted, (), states, lambda segment: segment.split("__")[2] + "00"
    )
    return {each.risk: each.text for each in found}


def test_a_consuming_segment() -> None:
    ideal = {name(0, 3): "ONLINE", name(0, 4): "CONSUMING", name(1, 0): "CONSUMING"}
    assert texts([name(0, 4)], ideal) == {
        DeleteRisk.CONSUMING: f"partition 0 consumes {name(0, 4)}: its rows are not stored yet and are gone"
        " from queries. The partition stops until Pinot's hourly check or `pinotctl consumption recreate t`,"
        f" and then starts at offset 300, after {name(0, 3)}: what it had read from there on, it reads again"
    }
    first_row = "then starts at the stream's first row, because none of its segments is left"
    assert first_row in texts([name(1, 0)], ideal)[DeleteRisk.CONSUMING]
    assert first_row in texts([name(0, 4), name(0, 3)], ideal)[DeleteRisk.CONSUMING]
    assert texts([name(0, 3)], ideal) == {}


def test_the_newest_segment_of_a_partition_that_does_not_consume() -> None:
    ideal = {name(0, 3): "ONLINE", name(0, 4): "ONLINE", "uploaded_9": "ONLINE", "u__0__9__1Z": "ONLINE"}
    assert texts([name(0, 4)], ideal) == {
        DeleteRisk.START_OFFSET: f"{name(0, 4)} is the newest segment of partition 0, which does not"
        f" consume: the next one starts at offset 300, after {name(0, 3)}: what it had read from there on, it"
        " reads again"
    }
    assert texts([name(0, 3), "uploaded_9", "u__0__9__1Z"], ideal) == {}


@given(
    st.dictionaries(
        st.tuples(st.integers(0, 2), st.integers(0, 4)), st.sampled_from(["ONLINE", "CONSUMING"])
    ),
    st.data(),
)
def test_whether_a_partition_is_named_depends_on_its_newest_segment_alone(
    made: dict[tuple[int, int], str], data: st.DataObject
) -> None:
    deleted = data.draw(st.sets(st.sampled_from(sorted(made)))) if made else set()
    states = {name(*each): {"s": state} for each, state in made.items()}
    found = consequences_of_delete(REALTIME, [name(*each) for each in deleted], (), states, lambda _: None)
    expected = {max(each for each in made if each[0] == partition) for partition, _ in made} & deleted
    newest = [SegmentName.parse(each.segments[-1]) for each in found]
    assert [(each.partition, each.sequence) for each in filter(None, newest)] == sorted(expected)
    assert {each.risk for each in found} == {
        DeleteRisk.CONSUMING if made[each] == "CONSUMING" else DeleteRisk.START_OFFSET for each in expected
    }


def lineage(state: str, old: list[str], new: list[str]) -> Step:
    one = {"segmentsFrom": old, "segmentsTo": new, "state": state, "timestamp": 1}
    return answer(200, {"lineageEntries": {"e1": one}})


V11 = answer(200, {"pinot-controller": "0.11.0"})
IDEAL = answer(200, {"OFFLINE": {each: {"s": "ONLINE"} for each in ("A1", "B1")}})


@pytest.mark.parametrize("accept", [(), [DeleteRisk.REVERT]])
def test_a_delete_is_refused_until_its_risk_is_accepted(make: Make, accept: Any) -> None:
    client, server = make(V11, lineage("IN_PROGRESS", ["A1"], ["B1"]), IDEAL)
    with pytest.raises(UnsafeDeleteError) as refused:
        client.segments.delete("t_OFFLINE", ["A1"], accept=accept)
    assert isinstance(pickle.loads(pickle.dumps(refused.value)), NotAppliedError)  # noqa: S301
    message = str(refused.value)
    assert message.startswith("nothing was deleted, because more than rows would be lost: lineage entry e1 (")
    assert "replaces A1: once completed, it can never be reverted" in message
    assert "pass accept=[DeleteRisk.OPEN_REPLACEMENT]; `pinotctl segment delete` asks" in message
    assert {seen.method for seen in server.requests} == {"GET"}


def test_an_accepted_delete_is_sent(make: Make) -> None:
    client, server = make(V11, lineage("COMPLETED", ["A1"], ["B1"]), IDEAL, answer(200, {}), answer(200, {}))
    client.segments.delete("t_OFFLINE", ["A1"], accept=[DeleteRisk.REVERT])
    client.segments.delete("t_OFFLINE", ["A1"], accept=set(DeleteRisk))  # asks nothing first
    assert [seen.method for seen in server.requests] == ["GET", "GET", "GET", "POST", "POST"]


def test_where_a_partition_continues_is_read_from_the_segment_that_stays(make: Make) -> None:
    ideal = {name(0, 0): {"s": "ONLINE"}, name(0, 1): {"s": "CONSUMING"}}
    metadata = {"segment.realtime.endOffset": "120", "segment.crc": "1"}
    client, server = make(V11, answer(200, {}), answer(200, {"REALTIME": ideal}), answer(200, metadata))
    (found,) = client.segments.consequences_of_delete("t_REALTIME", [name(0, 1)])
    assert "starts at offset 120, after" in found.text
    assert server.requests[-1].path == f"/segments/t_REALTIME/{name(0, 0)}/metadata"
    assert found.to_json() == {"risk": "CONSUMING", "segments": [name(0, 1)], "text": found.text}
