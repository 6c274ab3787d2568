"""The replacement protocol on a real cluster: queries see all or nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator
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
    WaitTimeoutError,
)
from controller_client.filestore import open_store
from controller_client.helix import wake_helix
from controller_client.publishing.doctor import Finding, Repair
from controller_client.publishing.examine_lineage import examine_lineage
from controller_client.publishing.lineage_repair import repair
from controller_client.publishing.replacement import SegmentReplacement
from controller_client.rest.lineage import LineageState
from controller_client.zookeeper import PropertyStore, ZNRecord
from tests.integration.controller_client.conftest import BuiltSegment, Content, content_of
from tests.support.cluster import PinotCluster
from tests.support.wait import wait_for

pytestmark = pytest.mark.cluster


def names(segments: list[BuiltSegment]) -> list[str]:
    return [segment.name for segment in segments]


def push(client: ControllerClient, table: TableName, segments: list[BuiltSegment]) -> None:
    for segment in segments:
        client.segments.upload_tar(table, segment.tar)


class Watcher:
    """Queries a table all the time and keeps what it saw."""

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
                last = self._stop.is_set()  # read before the query: the end is looked at too
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
    # Pinot would take the same names again, and hide the segments for ever.
    with pytest.raises(ConflictError, match="never see them"):
        SegmentReplacement(client, table, names(filled), names(built[2:4])).start()
    with SegmentReplacement(client, table, names(filled), names(built[4:5])):
        push(client, table, built[4:5])
    assert client.segments.list(table) == names(built[4:5])


def test_pinot_hides_segments_with_the_names_of_a_reverted_entry(
    client: ControllerClient, table: TableName, filled: list[BuiltSegment], built: list[BuiltSegment]
) -> None:
    """The reason for the check above: if this fails on a newer Pinot, the check can go for it."""
    entry_id = client.lineage.start(table, [], names(built[2:3]))
    client.lineage.revert(table, entry_id, force=True)
    push(client, table, built[2:3])
    client.segments.wait_online(table, names(built[2:3]), 60)
    assert built[2].name not in client.segments.list(table)
    assert built[2].name in client.segments.list(table, exclude_replaced=False)


def test_a_kept_entry_is_gone_on_with_after_an_error(
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


def test_an_interrupted_run_is_gone_on_with_by_another_process(
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
    # Here the process dies; the next one knows the lists alone.
    with pinot.client() as other:
        with SegmentReplacement(other, table, names(filled), names(new)) as second:
            assert second.entry_id == first.entry_id
            push(other, table, new[1:])
        assert SegmentReplacement(other, table, names(filled), names(new)).start() is LineageState.COMPLETED
    content.wait(new)
    # The first one is not dead but slow: its end finds the work done.
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


@pytest.fixture
def store(pinot: PinotCluster) -> Iterator[PropertyStore]:
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        yield store


class Pushes:
    """Pushes whose tars the servers download from a place of the test's own."""

    def __init__(self, pinot: PinotCluster, client: ControllerClient, table: TableName) -> None:
        self._client = client
        self._table = table
        self._place = f"{pinot.deep_store_uri.rstrip('/')}/{table}-elsewhere"
        self._files = open_store(self._place, {}, key="deep store")
        self.again: list[str] = []

    def without_tar(self, segment: BuiltSegment) -> None:
        uri = f"{self._place}/{segment.name}.tar.gz"
        self._client.segments.push_metadata(self._table, segment.metadata_tar, uri, copy_to_deep_store=False)

    def put_tar(self, segment: BuiltSegment) -> None:
        self._files.upload(segment.tar, f"{self._place}/{segment.name}.tar.gz")

    def whole(self, segments: list[BuiltSegment], names: Collection[str]) -> None:
        self.again += sorted(names)
        push(self._client, self._table, [segment for segment in segments if segment.name in names])


def test_segments_that_do_not_load_are_found_and_repaired(
    pinot: PinotCluster,
    client: ControllerClient,
    store: PropertyStore,
    table: TableName,
    content: Content,
    filled: list[BuiltSegment],
    built: list[BuiltSegment],
) -> None:
    """What a controller leaves that is killed while segments are pushed and loaded."""
    new = built[2:5]
    reset, lost, unassigned = new
    pushes = Pushes(pinot, client, table)

    def replacement() -> SegmentReplacement:
        return SegmentReplacement(
            client,
            table,
            names(filled),
            names(new),
            store=store,
            push_again=lambda names: pushes.whole(new, names),
        )

    replacement().start()
    pushes.without_tar(reset)
    pushes.without_tar(lost)
    push(client, table, [unassigned])
    client.segments.wait_online(table, [unassigned.name], 300)
    _take_out_of_the_ideal_state(store, table, unassigned.name)

    def in_error() -> set[str]:
        return {fault.segment for fault in client.segments.unloaded(table, names(new)) if fault.in_error}

    wait_for(lambda: in_error() == {reset.name, lost.name}, "two segments in ERROR")
    (found,) = examine_lineage(client, table, older_than_s=3600)
    assert found.finding is Finding.NOT_LOADED
    assert found.repair == Repair(load=(reset.name, lost.name))
    assert f"{reset.name} ERROR on Server_" in found.explanation
    assert "AttemptsExceededException" in found.explanation

    # The servers could load it now. As Helix has looked at the table meanwhile, a reset alone does not help.
    pushes.put_tar(reset)
    wake_helix(store, table)
    last = replacement()
    assert last.start() is LineageState.IN_PROGRESS
    last.end()
    assert sorted(pushes.again) == [lost.name, unassigned.name]
    content.wait(new)
    assert examine_lineage(client, table, older_than_s=0) == []


def test_a_segment_that_never_loads_is_named_with_the_servers_reason(
    pinot: PinotCluster,
    client: ControllerClient,
    store: PropertyStore,
    table: TableName,
    filled: list[BuiltSegment],
    built: list[BuiltSegment],
) -> None:
    pushes = Pushes(pinot, client, table)
    replacement = SegmentReplacement(client, table, names(filled), names(built[2:3]), store=store)
    replacement.start()
    pushes.without_tar(built[2])
    with pytest.raises(WaitTimeoutError, match=rf"{built[2].name} ERROR on Server_.*: .*AttemptsExceeded"):
        replacement.end()
    (found,) = examine_lineage(client, table, older_than_s=3600)
    pushes.put_tar(built[2])
    assert repair(client, table, found, store=store).load == (built[2].name,)
    assert examine_lineage(client, table, older_than_s=3600) == []
    replacement.end()


def _take_out_of_the_ideal_state(store: PropertyStore, table: TableName, segment: str) -> None:
    """Leave only the segment's record, as a controller does that dies between the two writes of a push."""
    path = f"/{store.cluster_name}/IDEALSTATES/{table}"
    found = store.connection.get(path)
    assert found is not None
    record = ZNRecord.from_bytes(found[0])
    del record.map_fields[segment]
    store.connection.set(path, record.to_bytes(), found[1])


def test_the_doctor_finds_and_repairs_a_stuck_entry(
    client: ControllerClient, table: TableName, filled: list[BuiltSegment], built: list[BuiltSegment]
) -> None:
    entry_id = client.lineage.start(table, names(filled), names(built[2:4]))
    push(client, table, built[2:3])
    assert examine_lineage(client, table, older_than_s=3600) == []
    (stuck,) = examine_lineage(client, table, older_than_s=0)
    assert (stuck.finding, stuck.entry.entry_id) == (Finding.STUCK, entry_id)
    done = repair(client, table, stuck)
    assert done.revert
    assert done.delete == (built[2].name,)
    assert examine_lineage(client, table, older_than_s=0) == []
    assert client.segments.list(table, exclude_replaced=False) == sorted(names(filled))
    with pytest.raises(ConflictError, match="changed since"):
        repair(client, table, stuck)


def test_the_doctor_finds_and_repairs_leftovers(
    client: ControllerClient, table: TableName, filled: list[BuiltSegment], built: list[BuiltSegment]
) -> None:
    entry_id = client.lineage.start(table, names(filled), names(built[2:3]))
    client.lineage.revert(table, entry_id, force=True)
    # A push that was on its way when the entry was reverted.
    push(client, table, built[2:3])
    client.segments.wait_online(table, names(built[2:3]), 60)
    (left,) = examine_lineage(client, table, older_than_s=3600)
    assert left.finding is Finding.LEFTOVERS
    repair(client, table, left)
    assert client.segments.list(table, exclude_replaced=False) == sorted(names(filled))


def test_the_bare_calls_answer_by_the_error_map(
    client: ControllerClient, table: TableName, filled: list[BuiltSegment], built: list[BuiltSegment]
) -> None:
    entry_id = client.lineage.start(table, [], names(built[2:3]))
    with pytest.raises(OutcomeUnknownError, match="Failed to update the segment lineage"):
        client.lineage.end(table, "no-such-entry")
    with pytest.raises(OutcomeUnknownError, match="Failed to update the segment lineage"):
        client.lineage.revert(table, "no-such-entry")
    # An entry in progress is reverted by force only; the answer does not say so.
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
    # What the first one brought is what the second one replaced.
    with pytest.raises(NotAppliedError, match="refused to revert"):
        first.revert()
    assert client.segments.list(table) == names(built[3:4])
