"""The doctor on a real cluster: it finds and repairs what interrupted replacements left behind."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from controller_client.errors import ConflictError, WaitTimeoutError
from controller_client.filestore import open_store
from controller_client.helix import wake_helix
from controller_client.publishing.doctor import LineageFinding, Repair
from controller_client.publishing.examine_lineage import examine_lineage
from controller_client.publishing.lineage_repair import repair
from controller_client.rest.lineage import LineageState
from controller_client.zookeeper import PropertyStore
from tests.integration.controller_client.conftest import Filled, names, take_out_of_the_ideal_state
from tests.support.cluster import PinotCluster
from tests.support.segments import BuiltSegment
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = pytest.mark.cluster


class Pushes:
    """Pushes segments whose tars the servers download from a location of the test."""

    def __init__(self, pinot: PinotCluster, filled: Filled) -> None:
        self._filled = filled
        self._place = f"{pinot.deep_store_uri.rstrip('/')}/{filled.table}-elsewhere"
        self._files = open_store(self._place, {}, key="deep store")
        self.again: list[str] = []

    def without_tar(self, segment: BuiltSegment) -> None:
        client, uri = self._filled.client, f"{self._place}/{segment.name}.tar.gz"
        client.segments.push_metadata(self._filled.table, segment.metadata_tar, uri, copy_to_deep_store=False)

    def put_tar(self, segment: BuiltSegment) -> None:
        self._files.upload(segment.tar, f"{self._place}/{segment.name}.tar.gz")

    def whole(self, wanted: Collection[str]) -> None:
        self.again += sorted(wanted)
        self._filled.push([segment for segment in self._filled.built if segment.name in wanted])


def test_segments_that_do_not_load_are_found_and_repaired(
    pinot: PinotCluster, store: PropertyStore, filled: Filled
) -> None:
    """The state after a controller was killed while segments were pushed and loaded."""
    client, table, new = filled.client, filled.table, filled.built[2:5]
    reset, lost, unassigned = new
    pushes = Pushes(pinot, filled)

    filled.replacement(new, store=store).start()
    pushes.without_tar(reset)
    pushes.without_tar(lost)
    filled.push([unassigned])
    client.segments.wait_online(table, [unassigned.name], 300)
    take_out_of_the_ideal_state(store, table, unassigned.name)

    def in_error() -> set[str]:
        return {fault.segment for fault in client.segments.unloaded(table, names(new)) if fault.in_error}

    wait_for(lambda: in_error() == {reset.name, lost.name}, "two segments in ERROR")
    (found,) = examine_lineage(client, table, older_than_s=3600)
    assert found.finding is LineageFinding.NOT_LOADED
    assert found.repair == Repair(load=(reset.name, lost.name))
    assert f"{reset.name} ERROR on Server_" in found.explanation
    assert "AttemptsExceededException" in found.explanation

    # The servers could load it now. As Helix has processed the table meanwhile, a reset alone does not help.
    pushes.put_tar(reset)
    wake_helix(store, table)
    last = filled.replacement(new, store=store, push_again=pushes.whole)
    assert last.start() is LineageState.IN_PROGRESS
    last.end()
    assert sorted(pushes.again) == [lost.name, unassigned.name]
    filled.content.wait(new)
    assert examine_lineage(client, table, older_than_s=0) == []


@FULL
def test_a_segment_that_never_loads_is_named_with_the_servers_reason(
    pinot: PinotCluster, store: PropertyStore, filled: Filled
) -> None:
    client, table, segment = filled.client, filled.table, filled.built[2]
    pushes = Pushes(pinot, filled)
    replacement = filled.replacement([segment], store=store)
    replacement.start()
    pushes.without_tar(segment)
    with pytest.raises(WaitTimeoutError, match=rf"{segment.name} ERROR on Server_.*: .*AttemptsExceeded"):
        replacement.end()
    (found,) = examine_lineage(client, table, older_than_s=3600)
    pushes.put_tar(segment)
    assert repair(client, table, found, store=store).load == (segment.name,)
    assert examine_lineage(client, table, older_than_s=3600) == []
    replacement.end()


def test_the_doctor_finds_and_repairs_a_stuck_entry_and_leftovers(filled: Filled) -> None:
    client, table, (stuck_one, _, left_one) = filled.client, filled.table, filled.built[2:5]
    entry_id = client.lineage.start(table, names(filled.old), names(filled.built[2:4]))
    filled.push([stuck_one])
    assert examine_lineage(client, table, older_than_s=3600) == []
    (stuck,) = examine_lineage(client, table, older_than_s=0)
    assert (stuck.finding, stuck.entry.entry_id) == (LineageFinding.STUCK, entry_id)
    done = repair(client, table, stuck)
    assert done.revert
    assert done.delete == (stuck_one.name,)
    assert examine_lineage(client, table, older_than_s=0) == []
    assert filled.listed() == sorted(names(filled.old))
    with pytest.raises(ConflictError, match="changed since"):
        repair(client, table, stuck)

    entry_id = client.lineage.start(table, names(filled.old), [left_one.name])
    client.lineage.revert(table, entry_id, force=True)
    # A push that was in progress when the entry was reverted.
    filled.push([left_one])
    client.segments.wait_online(table, [left_one.name], 300)
    (left,) = examine_lineage(client, table, older_than_s=3600)
    assert left.finding is LineageFinding.LEFTOVERS
    repair(client, table, left)
    assert filled.listed() == sorted(names(filled.old))
