"""The replacement protocol on a real cluster: queries see all or nothing."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.errors import (
    ConflictError,
    NotAppliedError,
    NotFoundError,
    OutcomeUnknownError,
    PinotPluginError,
    UnsupportedError,
)
from controller_client.publishing.examine_lineage import examine_lineage
from controller_client.publishing.replacement import SegmentReplacement
from controller_client.rest.lineage import LineageState
from controller_client.zookeeper import PropertyStore
from tests.integration.controller_client.conftest import Content, content_of, names, push
from tests.support.cluster import PinotCluster
from tests.support.segments import BuiltSegment

pytestmark = pytest.mark.cluster


class Watcher:
    """Queries a table continuously and records the results."""

    def __init__(self, pinot: PinotCluster, table: TableName) -> None:
        self.seen: list[tuple[int, int]] = []
        self._pinot = pinot
        self._table = table
        self._looked = threading.Event()
        self._stop = threading.Event()
        self._failed: PinotPluginError | None = None
        self._thread = threading.Thread(target=self._watch)

    def _watch(self) -> None:
        with BrokerClient([self._pinot.broker_url]) as broker:
            content = Content(broker, self._table)
            last = False
            while not last:
                last = self._stop.is_set()  # read before the query, so that the final state is queried too
                try:
                    self.seen.append(content.seen())
                except PinotPluginError as error:
                    self._failed = error
                    return
                finally:
                    self._looked.set()
                time.sleep(0.01)

    def __enter__(self) -> Watcher:
        self._thread.start()
        self._looked.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._failed is not None:
            raise self._failed


def test_a_swap_is_seen_as_a_whole(
    pinot: PinotCluster,
    client: ControllerClient,
    table: TableName,
    content: Content,
    filled: list[BuiltSegment],
    built: list[BuiltSegment],
) -> None:
    new = built[2:5]
    with Watcher(pinot, table) as watcher:
        with SegmentReplacement(client, table, names(filled), names(new)):
            push(client, table, new)
        content.wait(new)
    changes = list(dict.fromkeys(watcher.seen))
    assert changes == [content_of(filled), content_of(new)]
    assert client.segments.list(table) == sorted(names(new))
    assert client.segments.list(table, exclude_replaced=False) == sorted(names(built[:5]))
    (entry,) = client.lineage.list(table)
    assert entry.state is LineageState.COMPLETED
    assert set(entry.segments_from) == set(names(filled))
    assert set(entry.segments_to) == set(names(new))


def test_an_atomic_append_into_an_empty_table(
    pinot: PinotCluster,
    client: ControllerClient,
    table: TableName,
    content: Content,
    built: list[BuiltSegment],
) -> None:
    with Watcher(pinot, table) as watcher:
        with SegmentReplacement(client, table, [], names(built[:3])):
            push(client, table, built[:3])
        content.wait(built[:3])
    assert set(watcher.seen) == {(0, 0), content_of(built[:3])}


def test_an_error_leaves_the_old_segments_and_nothing_else(
    pinot: PinotCluster,
    client: ControllerClient,
    table: TableName,
    filled: list[BuiltSegment],
    built: list[BuiltSegment],
) -> None:
    replacement = SegmentReplacement(client, table, names(filled), names(built[2:4]))

    def push_one_and_fail() -> None:
        push(client, table, built[2:3])
        raise ZeroDivisionError

    with Watcher(pinot, table) as watcher, pytest.raises(ZeroDivisionError), replacement:
        push_one_and_fail()
    assert set(watcher.seen) == {content_of(filled)}
    assert client.segments.list(table, exclude_replaced=False) == sorted(names(filled))
    assert [entry.state for entry in client.lineage.list(table)] == [LineageState.REVERTED]
    assert examine_lineage(client, table, older_than_s=0) == []
    # Pinot would accept the same names again, and hide the segments forever.
    with pytest.raises(ConflictError, match="never see them"):
        SegmentReplacement(client, table, names(filled), names(built[2:4])).start()
    with SegmentReplacement(client, table, names(filled), names(built[4:5])):
        push(client, table, built[4:5])
    assert client.segments.list(table) == names(built[4:5])


def test_pinot_hides_segments_with_the_names_of_a_reverted_entry(
    client: ControllerClient, table: TableName, filled: list[BuiltSegment], built: list[BuiltSegment]
) -> None:
    """The reason for the check above: if this fails on a newer Pinot, the check is not needed there."""
    entry_id = client.lineage.start(table, [], names(built[2:3]))
    client.lineage.revert(table, entry_id, force=True)
    push(client, table, built[2:3])
    client.segments.wait_online(table, names(built[2:3]), 60)
    assert built[2].name not in client.segments.list(table)
    assert built[2].name in client.segments.list(table, exclude_replaced=False)


def test_a_kept_entry_is_continued_after_an_error(
    client: ControllerClient,
    table: TableName,
    content: Content,
    filled: list[BuiltSegment],
    built: list[BuiltSegment],
) -> None:
    def replacement() -> SegmentReplacement:
        return SegmentReplacement(client, table, names(filled), names(built[2:4]), keep_on_error=True)

    def push_one_and_fail() -> None:
        push(client, table, built[2:3])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), replacement():
        push_one_and_fail()
    assert content.seen() == content_of(filled)
    with replacement():
        push(client, table, built[3:4])
    content.wait(built[2:4])


def test_an_interrupted_run_is_continued_by_another_process(
    pinot: PinotCluster,
    client: ControllerClient,
    table: TableName,
    content: Content,
    filled: list[BuiltSegment],
    built: list[BuiltSegment],
) -> None:
    new = built[2:4]
    first = SegmentReplacement(client, table, names(filled), names(new))
    assert first.start() is LineageState.IN_PROGRESS
    push(client, table, new[:1])
    # Here the process dies; the next one knows only the lists.
    with pinot.client() as other:
        with SegmentReplacement(other, table, names(filled), names(new)) as second:
            assert second.entry_id == first.entry_id
            push(other, table, new[1:])
        assert SegmentReplacement(other, table, names(filled), names(new)).start() is LineageState.COMPLETED
    content.wait(new)
    # The first one is not dead but slow: when it ends the replacement, that is already done.
    first.end()
    assert first.state is LineageState.COMPLETED
    assert len(client.lineage.list(table)) == 1


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


def test_a_completed_replacement_can_be_reverted(
    client: ControllerClient,
    table: TableName,
    content: Content,
    filled: list[BuiltSegment],
    built: list[BuiltSegment],
) -> None:
    new = built[2:4]
    with SegmentReplacement(client, table, names(filled), names(new)) as replacement:
        push(client, table, new)
    content.wait(new)
    replacement.revert()
    content.wait(filled)
    assert client.segments.list(table, exclude_replaced=False) == sorted(names(filled))


def test_segments_to_replace_that_are_replaced_already_are_named(
    client: ControllerClient, table: TableName, filled: list[BuiltSegment], built: list[BuiltSegment]
) -> None:
    with SegmentReplacement(client, table, names(filled), names(built[2:3])):
        push(client, table, built[2:3])
    with pytest.raises(ConflictError, match=filled[0].name):
        SegmentReplacement(client, table, names(filled[:1]), names(built[3:4])).start()
    assert len(client.lineage.list(table)) == 1


def test_two_runs_for_the_same_segments(
    client: ControllerClient, table: TableName, filled: list[BuiltSegment], built: list[BuiltSegment]
) -> None:
    first = SegmentReplacement(client, table, names(filled), names(built[2:3]))
    first.start()
    with pytest.raises(ConflictError, match=str(first.entry_id)):
        SegmentReplacement(client, table, names(filled[:1]), names(built[3:4])).start()
    first.revert()


def test_replacing_by_nothing(
    client: ControllerClient, table: TableName, content: Content, filled: list[BuiltSegment]
) -> None:
    replacement = SegmentReplacement(client, table, names(filled), [])
    if client.cluster.version().major == 0:
        with pytest.raises(UnsupportedError, match=r"1\.0\.0 or later"):
            replacement.start()
        assert client.lineage.list(table) == []
    else:
        with replacement:
            pass
        content.wait([])


def test_the_bare_calls_answer_by_the_error_map(
    client: ControllerClient, table: TableName, filled: list[BuiltSegment], built: list[BuiltSegment]
) -> None:
    entry_id = client.lineage.start(table, [], names(built[2:3]))
    with pytest.raises(OutcomeUnknownError, match="Failed to update the segment lineage"):
        client.lineage.end(table, "no-such-entry")
    with pytest.raises(OutcomeUnknownError, match="Failed to update the segment lineage"):
        client.lineage.revert(table, "no-such-entry")
    # An entry in progress is reverted only with force; the answer does not show that.
    with pytest.raises(OutcomeUnknownError, match="Failed to update the segment lineage"):
        client.lineage.revert(table, entry_id)
    client.lineage.revert(table, entry_id, force=True)
    with pytest.raises(NotFoundError):
        client.lineage.end("no_such_table_OFFLINE", entry_id)


def test_a_revert_that_pinot_refuses_is_not_applied(
    client: ControllerClient, table: TableName, filled: list[BuiltSegment], built: list[BuiltSegment]
) -> None:
    first = SegmentReplacement(client, table, names(filled), names(built[2:3]))
    with first:
        push(client, table, built[2:3])
    with SegmentReplacement(client, table, names(built[2:3]), names(built[3:4])):
        push(client, table, built[3:4])
    # The second one replaced the segments of the first one.
    with pytest.raises(NotAppliedError, match="refused to revert"):
        first.revert()
    assert client.segments.list(table) == names(built[3:4])
