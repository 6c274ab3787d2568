"""A whole audit: records, external view, servers and store together, and changes during the audit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controller_client.deepstore.audit import AuditOptions, Auditor, TableAudit
from controller_client.deepstore.judge import Fault
from controller_client.deepstore.policy import StorePolicy
from controller_client.deepstore.rate import RateLimit
from controller_client.errors import SourceError, UnreachableError
from controller_client.filestore import FileInfo
from controller_client.filestore.local import LocalStore
from controller_client.helix.table_config import table_config_path
from controller_client.rest.capabilities import PinotVersion
from controller_client.rest.tables import SegmentStates
from controller_client.zookeeper import ZNRecord, segment_path
from tests.unit.controller_client.deepstore.samples import TABLE, crc_of, write_tar, znode
from tests.unit.controller_client.deepstore.world import World
from tests.unit.fake_clock import FakeClock


class ListedStore(LocalStore):
    """A folder that calls back after it was listed."""

    def __init__(self) -> None:
        super().__init__()
        self.after_list: Callable[[], None] = lambda: None

    def list(self, directory_uri: str) -> Iterator[FileInfo]:
        yield from super().list(directory_uri)
        self.after_list()


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    world = World(tmp_path)
    view: SegmentStates = {}
    monkeypatch.setattr(world.client.tables, "external_view", lambda _table: view)
    crcs: dict[str, dict[str, int]] = {"a": {}}

    def reported(server: str, _table: str) -> dict[str, int]:
        if server not in crcs:
            raise UnreachableError(f"{server} is down")
        return crcs[server]

    monkeypatch.setattr(world.servers, "crcs", reported)
    monkeypatch.setattr(world.client.cluster, "version", lambda: PinotVersion(0, 11))
    for number, name in enumerate(("good", "gone", "small", "bare")):
        url = "" if name == "bare" else world.layout.url(TABLE, name)
        size = write_tar(world.stored(name), content=number, name=name)
        world.add(name, content=number, url=url, size=size)
        view[name] = {"a": "ONLINE", "b": "ONLINE"}
        crcs["a"][name] = crc_of(number, name) if name != "bare" else 99
    world.stored("gone").unlink()
    world.stored("small").write_bytes(b"x")
    world.properties.create(segment_path(TABLE, "new"), znode("new", status="IN_PROGRESS"))
    yield world
    world.client.close()


def audit(world: World, store: LocalStore | None = None, *, read_tars: bool = False) -> TableAudit:
    rate = RateLimit(10, FakeClock())
    opened = store or LocalStore()
    options = AuditOptions(min_copies=2, read_tars=read_tars)
    auditor = Auditor(
        world.client,
        world.properties,
        world.layout,
        world.servers,
        rate,
        options,
        open_store=lambda _uri: opened,
    )
    return auditor.audit(TABLE)


def faults(found: TableAudit) -> dict[str, set[Fault]]:
    return {each.record.segment: {one.fault for one in each.findings} for each in found.faulty}


def test_what_is_found(world: World) -> None:
    found = audit(world)
    assert (found.segments, found.consuming) == (4, 1)
    assert faults(found) == {
        # The other server is silent, so it may or may not have them.
        "gone": {Fault.OBJECT_GONE, Fault.COPIES_UNKNOWN},
        "small": {Fault.WRONG_SIZE, Fault.COPIES_UNKNOWN},
        "bare": {Fault.NO_URL, Fault.REPLICA_CRC, Fault.FEW_COPIES},
    }
    assert found.silent == (("b", "b is down"),)


def test_tars_are_read_on_request(world: World) -> None:
    path = world.stored("good")
    path.write_bytes(bytes(path.stat().st_size))
    assert "good" not in faults(audit(world))
    assert Fault.WRONG_CRC in faults(audit(world, read_tars=True))["good"]


def test_segments_deleted_or_pushed_meanwhile_are_not_faulty(world: World) -> None:
    store = ListedStore()

    def meanwhile() -> None:
        world.properties.delete(segment_path(TABLE, "gone"))
        world.change("small", content=8, url=world.layout.url(TABLE, "small"))

    store.after_list = meanwhile
    assert set(faults(audit(world, store))) == {"bare"}


def test_a_store_that_cannot_be_listed_is_not_called_empty(world: World) -> None:
    class Refusing(LocalStore):
        def list(self, directory_uri: str) -> Iterator[FileInfo]:
            raise SourceError("refused")

    found = faults(audit(world, Refusing()))
    assert {Fault.NOT_CHECKED} == found["good"] == found["gone"] == found["small"]


def test_a_table_without_a_store_needs_copies_only_on_servers(world: World) -> None:
    fields = {
        "tableName": str(TABLE),
        "tableType": "REALTIME",
        "metadata": json.dumps({"customConfigs": {"pinotPlugins.deepStore": "servers"}}),
    }
    world.properties.create(table_config_path(TABLE), ZNRecord(TABLE, simple_fields=fields))
    found = audit(world)
    assert found.policy is StorePolicy.SERVERS
    few = {Fault.COPIES_UNKNOWN}
    # One of the two servers is silent; copies in the store still count.
    assert faults(found) == {"gone": few, "small": few, "bare": {Fault.REPLICA_CRC, Fault.FEW_COPIES}}
