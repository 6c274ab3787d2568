"""The doctor on a real cluster: it finds and repairs what interrupted replacements left behind."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pytest

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.errors import (
    ConflictError,
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
from tests.integration.controller_client.conftest import Content, names, push
from tests.support.cluster import PinotCluster
from tests.support.segments import BuiltSegment
from tests.support.wait import wait_for

pytestmark = pytest.mark.cluster


@pytest.fixture
def store(pinot: PinotCluster) -> Iterator[PropertyStore]:
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        yield store


class Pushes:
    """Pushes segments whose tars the servers download from a location of the test."""

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
    """The state after a controller was killed while segments were pushed and loaded."""
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

    # The servers could load it now. As Helix has processed the table meanwhile, a reset alone does not help.
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
    """Leave only the segment's record, like a controller that dies between the two writes of a push."""
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
    # A push that was in progress when the entry was reverted.
    push(client, table, built[2:3])
    client.segments.wait_online(table, names(built[2:3]), 60)
    (left,) = examine_lineage(client, table, older_than_s=3600)
    assert left.finding is Finding.LEFTOVERS
    repair(client, table, left)
    assert client.segments.list(table, exclude_replaced=False) == sorted(names(filled))
