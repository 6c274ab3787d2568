"""The replacement protocol on a real cluster: queries see all or nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import pytest

from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.errors import (
    ConflictError,
    NotAppliedError,
    NotFoundError,
    OutcomeUnknownError,
    UnsafeDeleteError,
    UnsupportedError,
)
from controller_client.publishing.examine_lineage import examine_lineage
from controller_client.publishing.replacement import SegmentReplacement
from controller_client.rest.capabilities import Capability
from controller_client.rest.delete_risks import DeleteRisk
from controller_client.rest.lineage import LineageState
from controller_client.zookeeper import PropertyStore
from tests.integration.controller_client.conftest import (
    Content,
    Filled,
    content_of,
    names,
    take_out_of_the_ideal_state,
)
from tests.support.cluster import PinotCluster
from tests.support.needs import has
from tests.support.segments import BuiltSegment
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = pytest.mark.cluster


@contextmanager
def watched(pinot: PinotCluster, table: TableName) -> Iterator[list[tuple[int, int]]]:
    """Query a table continuously during the block, and once more at its end; a list of what is seen."""
    seen: list[tuple[int, int]] = []
    is_over = threading.Event()

    def watch() -> None:
        with BrokerClient([pinot.broker_url]) as broker:
            content, is_last = Content(broker, table), False
            while not is_last:
                is_last = is_over.wait(0.01)
                seen.append(content.seen())

    with ThreadPoolExecutor(1) as pool:
        watching = pool.submit(watch)
        try:
            wait_for(lambda: seen or watching.done(), "a first look")
            yield seen
        finally:
            is_over.set()
        watching.result()


def test_a_swap_is_seen_as_a_whole(pinot: PinotCluster, filled: Filled) -> None:
    new = filled.built[2:5]
    with watched(pinot, filled.table) as seen:
        filled.swap(new)
        filled.content.wait(new)
    changes = list(dict.fromkeys(seen))
    assert changes == [content_of(filled.old), content_of(new)]
    assert filled.client.segments.list(filled.table) == sorted(names(new))
    assert filled.listed() == sorted(names(filled.built[:5]))
    (entry,) = filled.client.lineage.list(filled.table)
    assert entry.state is LineageState.COMPLETED
    assert set(entry.segments_from) == set(names(filled.old))
    assert set(entry.segments_to) == set(names(new))


def test_an_error_leaves_the_old_segments_and_nothing_else(pinot: PinotCluster, filled: Filled) -> None:
    client, table, new = filled.client, filled.table, filled.built[2:4]

    def push_one_and_fail() -> None:
        filled.push(new[:1])
        raise ZeroDivisionError

    replacement = filled.replacement(new)
    with watched(pinot, table) as seen, pytest.raises(ZeroDivisionError), replacement:
        push_one_and_fail()
    assert set(seen) == {content_of(filled.old)}
    assert filled.listed() == sorted(names(filled.old))
    assert [entry.state for entry in client.lineage.list(table)] == [LineageState.REVERTED]
    assert examine_lineage(client, table, older_than_s=0) == []
    # Pinot would accept the same names again, and hide the segments forever.
    with pytest.raises(ConflictError, match="never see them"):
        filled.replacement(new).start()
    filled.swap(filled.built[4:5])
    assert client.segments.list(table) == names(filled.built[4:5])


@FULL
def test_pinot_hides_segments_with_the_names_of_a_reverted_entry(filled: Filled) -> None:
    """The reason for the check above: if this fails on a newer Pinot, the check is not needed there."""
    client, table, (name,) = filled.client, filled.table, names(filled.built[2:3])
    entry_id = client.lineage.start(table, [], [name])
    client.lineage.revert(table, entry_id, force=True)
    filled.push(filled.built[2:3])
    client.segments.wait_online(table, [name], 300)
    assert name not in client.segments.list(table)
    assert name in filled.listed()


def test_an_interrupted_run_is_continued_by_another_process(pinot: PinotCluster, filled: Filled) -> None:
    new = filled.built[2:4]
    first = filled.replacement(new)
    assert first.start() is LineageState.IN_PROGRESS
    filled.push(new[:1])
    # Here the process dies; the next one knows only the lists.
    with pinot.client() as client:
        other = replace(filled, client=client)
        with other.replacement(new) as second:
            assert second.entry_id == first.entry_id
            other.push(new[1:])
        assert other.replacement(new).start() is LineageState.COMPLETED
    filled.content.wait(new)
    # The first one is not dead but slow: when it ends the replacement, that is already done.
    first.end()
    assert first.state is LineageState.COMPLETED
    assert len(filled.client.lineage.list(filled.table)) == 1


def test_first_writers_of_a_table_do_not_overwrite_each_other(
    pinot: PinotCluster, client: ControllerClient, table: TableName, built: list[BuiltSegment]
) -> None:
    barrier = threading.Barrier(4)

    def start(segment: BuiltSegment) -> str | None:
        with pinot.client() as own, PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
            replacement = SegmentReplacement(own, table, [], [segment.name], store=store)
            barrier.wait()
            replacement.start()
            return replacement.entry_id

    with ThreadPoolExecutor(4) as pool:
        opened = list(pool.map(start, built[:4]))
    assert {entry.entry_id for entry in client.lineage.list(table)} == set(opened)
    assert len(set(opened)) == 4


def test_a_completed_replacement_can_be_reverted(filled: Filled) -> None:
    new = filled.built[2:4]
    replacement = filled.swap(new)
    filled.content.wait(new)
    replacement.revert()
    filled.content.wait(filled.old)
    assert filled.listed() == sorted(names(filled.old))


@FULL
def test_a_segment_is_replaced_once_and_a_replaced_replacement_is_not_reverted(filled: Filled) -> None:
    client, table, (second, third) = filled.client, filled.table, filled.built[2:4]
    first = filled.swap([second])
    with pytest.raises(ConflictError, match=filled.old[0].name):
        filled.replacement([third]).start()
    assert len(client.lineage.list(table)) == 1
    with SegmentReplacement(client, table, [second.name], [third.name]):
        filled.push([third])
    with pytest.raises(NotAppliedError, match="refused to revert"):
        first.revert()
    assert client.segments.list(table) == [third.name]


@FULL
def test_a_replaced_segment_is_deleted_before_the_end(store: PropertyStore, filled: Filled) -> None:
    client, table, new = filled.client, filled.table, filled.built[2:4]
    (kept, lost) = names(filled.old)
    replacement = filled.replacement(new)
    replacement.start()
    filled.push(new)
    if has(Capability.LINEAGE_PROTECTED):
        with pytest.raises(UnsafeDeleteError, match="live segment lineage entry"):
            client.segments.delete(table, [lost], accept=set(DeleteRisk))
        take_out_of_the_ideal_state(store, table, lost)
        with pytest.raises(ConflictError, match=f"{lost}: deleted while entry .* it has been reverted"):
            replacement.end()
        assert filled.listed() == [kept]
    else:
        client.segments.delete(table, [lost], accept=set(DeleteRisk))
        replacement.end()
        filled.content.wait(new)


def test_replacing_by_nothing(filled: Filled) -> None:
    replacement = filled.replacement([])
    if filled.client.cluster.version().major == 0:
        with pytest.raises(UnsupportedError, match=r"1\.0\.0 or later"):
            replacement.start()
        assert filled.client.lineage.list(filled.table) == []
    else:
        with replacement:
            pass
        filled.content.wait([])


def test_the_bare_calls_answer_by_the_error_map(
    client: ControllerClient, table: TableName, built: list[BuiltSegment]
) -> None:
    entry_id = client.lineage.start(table, [], names(built[2:3]))
    refused = "Failed to update the segment lineage"
    for call, entry in (
        (client.lineage.end, "no-such-entry"),
        (client.lineage.revert, "no-such-entry"),
        # An entry in progress is reverted only with force; the answer does not show that.
        (client.lineage.revert, entry_id),
    ):
        with pytest.raises(OutcomeUnknownError, match=refused):
            call(table, entry)
    client.lineage.revert(table, entry_id, force=True)
    with pytest.raises(NotFoundError):
        client.lineage.end("no_such_table_OFFLINE", entry_id)
