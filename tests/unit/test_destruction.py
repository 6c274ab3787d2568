"""What the product deletes, and why none of it is another cluster's.

Two clusters may share a store, a folder or a ZooKeeper, by intention or by a wrong address. Each function
that deletes in one is listed here, with the test of this module that lets it meet another cluster, or with
the reason why it cannot meet one.
"""

from __future__ import annotations

import ast
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import cast

import pytest

from controller_client.client import ControllerClient
from controller_client.config import ControllerConfig
from controller_client.consumption.state.pause_record import plugin_path
from controller_client.deepstore.rate import RateLimit
from controller_client.deepstore.reservations import Reservations
from controller_client.deepstore.store_mark import StoreOwner
from controller_client.deepstore.sweep import Sweeper, sweep_tables
from controller_client.errors import ConflictError
from controller_client.upsert.dropping import _forget
from controller_client.upsert.generation import new_folder
from controller_client.upsert.record import forget_server, server_path
from controller_client.zookeeper import PropertyStore, ZNRecord, segment_path
from controller_client.zookeeper.cluster_id import cluster_id
from key_coordinator.state.store import delete_leftovers
from minion_tasks.file_ingestion.engine.choose import Engines
from minion_tasks.file_ingestion.run.cleaning import Cleaning
from minion_tasks.file_ingestion.run.fired import FiredTriggers, fired_path
from minion_tasks.file_ingestion.run.types import RunTools
from minion_tasks.file_ingestion.session.model import SessionState
from minion_tasks.file_ingestion.session.store import DamagedSessionError, SessionStore
from pinotctl.commands.deepstore.options import check_owner
from pinotctl.context import CliContext
from tests.unit.controller_client.deepstore.samples import TABLE
from tests.unit.controller_client.deepstore.world import World
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import CLUSTER, MemoryPropertyStore, memory_store
from tests.unit.minion_tasks.samples import TABLE as OFFLINE
from tests.unit.minion_tasks.samples import make_params, make_session

ROOT = Path(__file__).parents[2]
_HATCH = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]
PACKAGES = tuple(_HATCH["build"]["targets"]["wheel"]["packages"])

DELETING = frozenset(
    {"delete", "delete_tree", "delete_object", "delete_objects", "rm", "rm_file", "rmtree", "move"}
)
"""Names of methods and functions that delete in a store, in ZooKeeper or in a folder, or take away."""

MACHINE = "a folder of this machine that the process itself has made, or that one role of one cluster owns"
CONTROLLER = "asks the controller, which deletes in its own cluster only"
TOOL = "deletes what its caller names; the callers are in this table"
OWN = "its name is random, and this process or a record of this cluster has given it"
EXPIRED = "its name is random; a write without a new file for stagingTtl is dead in whichever cluster"
PATHS = "a path below the name of the cluster, as in the test of records"
NOTHING = "a list of names, of which nothing is deleted here"
SWEEP = "test_a_sweep_refuses_the_store_of_another_cluster"
REPAIR = "test_a_repair_refuses_the_store_of_another_cluster"
STAGING = "test_staging_folders_of_another_cluster_are_not_deleted"
STATES = "test_states_of_another_cluster_are_not_deleted"
KEPT = "test_kept_segments_of_another_cluster_are_not_deleted"
RECORDS = "test_records_of_another_cluster_in_the_same_zookeeper_are_not_deleted"

REASONS: Mapping[str, str] = {
    "controller_client/as_code/applying.py::Applier._apply_step": CONTROLLER,
    "controller_client/as_code/writing.py::ObjectWriter.delete": CONTROLLER,
    "pinotctl/commands/lineage.py::_repair_all": NOTHING,
    "pinotctl/commands/lineage.py::_row": NOTHING,
    "pinotctl/commands/load.py::load": CONTROLLER,
    "pinotctl/commands/schema.py::delete": CONTROLLER,
    "pinotctl/commands/segment.py::delete": CONTROLLER,
    "pinotctl/commands/table.py::delete": CONTROLLER,
    "pinotctl/commands/tenant.py::delete": CONTROLLER,
    "pinotctl/commands/user.py::delete": CONTROLLER,
    "controller_client/common/folders.py::scratch_folder": MACHINE,
    "controller_client/common/folders.py::_sweep_one": MACHINE,
    "controller_client/consumption/recipes/change_stream.py::_stop_new": CONTROLLER,
    "controller_client/consumption/pauses/offsets.py::drop_placeholders": CONTROLLER,
    "controller_client/consumption/pauses/orphans.py::delete_orphans": CONTROLLER,
    "controller_client/consumption/recipes/plan.py::read_plan": RECORDS,
    "controller_client/consumption/recipes/plan.py::drop": RECORDS,
    "key_coordinator/local/engine.py::LocalCoordinator._close_state": MACHINE,
    "key_coordinator/state/store.py::delete_leftovers": STATES,
    "key_coordinator/state/store.py::KeyStore.delete": MACHINE,
    "key_coordinator/state/store.py::KeyStore._sweep": MACHINE,
    "controller_client/deepstore/quarantine.py::Quarantine.put": SWEEP,
    "controller_client/deepstore/quarantine.py::Quarantine.delete": SWEEP,
    "controller_client/deepstore/repair.py::Repairer._repair": REPAIR,
    "controller_client/deepstore/sweep.py::Sweeper.remove": SWEEP,
    "controller_client/deepstore/sweep.py::Sweeper.delete_expired": SWEEP,
    "controller_client/filestore/fsspec_store.py::FsspecStore.upload": TOOL,
    "controller_client/filestore/fsspec_store.py::FsspecStore._rename": TOOL,
    "controller_client/filestore/fsspec_store.py::FsspecStore.move": TOOL,
    "controller_client/filestore/fsspec_store.py::FsspecStore.delete": TOOL,
    "controller_client/filestore/fsspec_store.py::FsspecStore.delete_tree": TOOL,
    "controller_client/filestore/local.py::LocalStore.delete_tree": TOOL,
    "controller_client/filestore/s3.py::S3Store.move": TOOL,
    "controller_client/filestore/s3.py::S3Store.delete": TOOL,
    "controller_client/filestore/s3.py::S3Store.delete_tree": TOOL,
    "controller_client/helix/task_queue.py::TaskQueues.delete": PATHS,
    "controller_client/publishing/lineage_repair.py::repair": NOTHING,
    "controller_client/publishing/loading.py::SegmentLoading._forget": RECORDS,
    "controller_client/publishing/reverting.py::delete_leftovers": CONTROLLER,
    "controller_client/publishing/switch.py::push_one_by_one": CONTROLLER,
    "controller_client/rest/table_copy.py::TableCopy.run": CONTROLLER,
    "controller_client/upsert/dropping.py::plan_drop": CONTROLLER,
    "controller_client/upsert/dropping.py::_forget": RECORDS,
    "controller_client/upsert/record.py::forget_server": RECORDS,
    "controller_client/zookeeper/compare_and_set.py::_Attempts._write": TOOL,
    "controller_client/zookeeper/connection.py::ZooKeeperConnection.delete": TOOL,
    "controller_client/zookeeper/lock.py::ClusterLock.release": PATHS,
    "controller_client/zookeeper/lock.py::_delete_nodes.delete": PATHS,
    "controller_client/zookeeper/property_store.py::PropertyStore.delete": TOOL,
    "controller_client/zookeeper/transaction.py::DeleteNode.add_to": TOOL,
    "jvm_bridge/builder/files_build.py::_pack": MACHINE,
    "jvm_bridge/builder/mapped_rows.py::Mapper.map": MACHINE,
    "jvm_bridge/builder/one_file.py::build_dir": MACHINE,
    "jvm_bridge/jars/cache.py::JarCache._fetch_missing": MACHINE,
    "jvm_bridge/local_cluster/cluster.py::LocalCluster._purge": MACHINE,
    "jvm_bridge/minion/host.py::HostedMinion._context": MACHINE,
    "minion_tasks/file_ingestion/engine/minion.py::MinionEngine.cancel": PATHS,
    "minion_tasks/file_ingestion/run/cleaning.py::Cleaning.sweep": STAGING,
    "minion_tasks/file_ingestion/run/cleaning.py::Cleaning._delete": RECORDS,
    "minion_tasks/file_ingestion/run/cleaning.py::Cleaning.delete_staging": STAGING,
    "minion_tasks/file_ingestion/run/fired.py::FiredTriggers._read": RECORDS,
    "minion_tasks/file_ingestion/run/purge.py::purge": CONTROLLER,
    "minion_tasks/file_ingestion/session/store.py::SessionStore.forget_before": RECORDS,
    "minion_tasks/file_ingestion/session/store.py::SessionStore.prune": RECORDS,
    "minion_tasks/file_ingestion/session/store.py::SessionStore._delete_if_present": RECORDS,
    "minion_tasks/file_ingestion/versions/kept.py::KeptSegments.collect": KEPT,
    "spark_connectors/read/task.py::ReadTask._fetched": MACHINE,
    "spark_connectors/upsert/checkpoint.py::Checkpoint.remove": OWN,
    "spark_connectors/write/commit.py::_undo_killed_writes": CONTROLLER,
    "spark_connectors/write/sweeping.py::delete_folder": EXPIRED,
    "server_hooks/commit_upload/kept_tars.py::KeptTars.leftovers": MACHINE,
    "server_hooks/commit_upload/late_uploads.py::LateUploads.resume": MACHINE,
    "server_hooks/commit_upload/late_uploads.py::LateUploads._delete_tar": MACHINE,
    "server_hooks/commit_upload/late_uploads.py::LateUploads._delete_object": OWN,
    "server_hooks/commit_upload/pinot_store.py::PinotStore.move": TOOL,
    "server_hooks/commit_upload/pinot_store.py::PinotStore.delete": TOOL,
    "server_hooks/commit_upload/registering.py::move_to_final_uri": OWN,
    "server_hooks/commit_upload/uploads.py::CommitUploads.upload": MACHINE,
    "server_hooks/commit_upload/uploads.py::CommitUploads._leave": MACHINE,
    "server_hooks/upsert/hook.py::UpsertHook._make": MACHINE,
    "server_hooks/upsert/hook.py::UpsertHook._clean": MACHINE,
}
"""File and function, and the test or the reason."""


def deleting_functions(tree: ast.AST, scope: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the names of functions in which something deletes, also if it is only passed on."""
    for node in ast.iter_child_nodes(tree):
        inner = scope
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = (*scope, node.name)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and node.attr in DELETING:
            yield ".".join(scope)
        if isinstance(node, ast.ImportFrom) and any(each.name == "rmtree" for each in node.names):
            yield ".".join(scope)
        yield from deleting_functions(node, inner)


def test_each_function_that_deletes_is_listed_with_its_reason() -> None:
    deleting = set()
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            if any(name in text for name in DELETING):
                file = path.relative_to(ROOT).as_posix()
                deleting |= {f"{file}::{name}" for name in deleting_functions(ast.parse(text))}
    assert len(deleting) > 50
    assert sorted(deleting - REASONS.keys()) == [], "give each a test that lets it meet another cluster"
    assert sorted(REASONS.keys() - deleting) == [], "they delete nothing any more"
    assert {reason for reason in REASONS.values() if reason.startswith("test_")} <= globals().keys()


@pytest.mark.parametrize(
    "code",
    [
        "def f(store): store.delete(uri)",
        "def f(store): return map(store.delete, uris)",
        "async def f(): shutil.rmtree(folder)",
        "def f(): self._open(uri).delete_tree(uri)",
        "def f(): from shutil import rmtree",
    ],
)
def test_a_deletion_is_seen(code: str) -> None:
    assert list(deleting_functions(ast.parse(code))) == ["f"]
    assert not list(deleting_functions(ast.parse("def f(): self.delete = deleted")))


NAME = "t__0__3__20250101T0000Z"
OLD_S = 90_000.0


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A cluster, and its store, which has its mark and the tar of a segment without a record."""
    world = World(tmp_path)
    world.properties.create(segment_path(TABLE, "t__0__9__20260102T0000Z"), ZNRecord("x"))
    StoreOwner(world.properties, world.layout, lambda _uri: world.files).claim()
    path = world.stored(NAME)
    path.parent.mkdir()
    path.write_bytes(b"tar")
    written_s = FakeClock().now() - OLD_S
    os.utime(path, (written_s, written_s))
    yield world
    world.client.close()


def another_cluster() -> MemoryPropertyStore:
    """A cluster with a table of the same name."""
    store, _ = memory_store()
    store.create(segment_path(TABLE, "t__0__8__20260102T0000Z"), ZNRecord("x"))
    return store


def sweeper_of(world: World, store: PropertyStore, *, days: int, later_days: int = 0) -> Sweeper:
    clock = FakeClock()
    clock.advance(later_days * 86_400.0)
    return Sweeper(
        store,
        world.layout,
        lambda _uri: world.files,
        RateLimit(1e9, FakeClock()),
        clock,
        min_age_s=0.0,
        max_share=1.0,
        quarantine_days=days,
    )


@pytest.mark.parametrize("days", [0, 7])
def test_a_sweep_refuses_the_store_of_another_cluster(world: World, days: int) -> None:
    foreign = sweeper_of(world, another_cluster(), days=days)
    (found,) = foreign.find([TABLE])
    assert [each.uri for each in found.leftovers] == [f"file://{world.stored(NAME)}"]
    with pytest.raises(ConflictError, match="mark of another cluster"):
        list(foreign.remove(found))
    # As `watch --sweep-after` does.
    assert sweep_tables(foreign, [TABLE], lambda: False) == 0
    assert world.stored(NAME).exists()
    # Its own cluster takes it away; then the other one does not empty the quarantine.
    assert sweep_tables(sweeper_of(world, world.properties, days=days), [TABLE], lambda: False) == 1
    assert not world.stored(NAME).exists()
    later = sweeper_of(world, another_cluster(), days=days, later_days=400)
    assert later.expired() == (days > 0)
    if days:
        with pytest.raises(ConflictError, match="mark of another cluster"):
            later.delete_expired()
        assert sweep_tables(later, [TABLE], lambda: False) == 0
        assert later.expired() == 1


class Commands:
    """In place of a command's context."""

    def __init__(self, store: PropertyStore) -> None:
        self._store = store

    def property_store(self) -> PropertyStore:
        return self._store


def test_a_repair_refuses_the_store_of_another_cluster(world: World) -> None:
    """A repair deletes only what it has uploaded itself; and it does not begin."""
    with pytest.raises(ConflictError, match="mark of another cluster"):
        check_owner(cast("CliContext", Commands(another_cluster())), world.layout)
    check_owner(cast("CliContext", Commands(world.properties)), world.layout)


@pytest.mark.parametrize("name", ["repair", "sweep", "watch"])
def test_a_command_that_changes_a_store_first_checks_whose_it_is(name: str) -> None:
    path = ROOT / "pinotctl/commands/deepstore" / f"{name}.py"
    calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    assert any(isinstance(called, ast.Name) and called.id == "check_owner" for called in calls)


class Ingestion:
    """The table of one cluster, with a staged segment of an open session."""

    def __init__(self, folder: Path, client: ControllerClient, store: MemoryPropertyStore) -> None:
        self.sessions = SessionStore(store, OFFLINE)
        params = make_params(inputDirURI=f"file://{folder}/in", outputDirURI=f"file://{folder}/out")
        tools = RunTools(client, store, Engines({}), FakeClock())
        self.cleaning = Cleaning(tools, OFFLINE, params, self.sessions)
        self.cleaning.purge = lambda: None  # type: ignore[method-assign]  # it asks the controller
        self.cleaning._undo_switch = lambda *_: None  # type: ignore[method-assign]  # likewise
        uri = self.cleaning.staging.session_uri("s1")
        self.sessions.create(make_session(state=SessionState.IN_PROGRESS, staging_uri=uri))
        self.staged = Path(uri.removeprefix("file://"), "segment")
        self.staged.parent.mkdir(parents=True)
        self.staged.touch()


CLEANING: Mapping[str, Callable[[Ingestion], object]] = {
    "sweep": lambda one: one.cleaning.sweep(),
    "clear": lambda one: one.cleaning.clear_all(),
    "discard": lambda one: one.cleaning.discard(one.sessions.load("s1"), "given up"),
    "after": lambda one: one.cleaning.after(one.sessions.load("s1")),
    "damaged": lambda one: one.cleaning.discard_damaged(DamagedSessionError("s1", OFFLINE, "x", "/")),
}


@pytest.mark.parametrize("how", CLEANING)
def test_staging_folders_of_another_cluster_are_not_deleted(how: str, tmp_path: Path) -> None:
    """Both have the same folder, the same table and even the same session."""
    with ControllerClient(ControllerConfig("http://127.0.0.1:9")) as client:
        one, other = (Ingestion(tmp_path, client, memory_store()[0]) for _ in range(2))
        CLEANING[how](one)
        # Even if the record of the session names the other one's folder.
        one.cleaning.delete_staging("s1", other.cleaning.staging.session_uri("s1"))
    assert not one.staged.exists()
    assert other.staged.exists()


def test_kept_segments_of_another_cluster_are_not_deleted(tmp_path: Path) -> None:
    with ControllerClient(ControllerConfig("http://127.0.0.1:9")) as client:
        one, other = (Ingestion(tmp_path, client, memory_store()[0]) for _ in range(2))
        kept = [
            Path(each.cleaning.staging.kept_uri.removeprefix("file://"), "s.7.tar.gz")
            for each in (one, other)
        ]
        for path in kept:
            path.parent.mkdir(parents=True)
            path.touch()
        one.cleaning.kept.collect(())
    assert [path.exists() for path in kept] == [False, True]


def test_states_of_another_cluster_are_not_deleted(tmp_path: Path) -> None:
    own, foreign = cluster_id(memory_store()[0]), cluster_id(memory_store()[0])
    current, left, kept = new_folder(own), new_folder(own), new_folder(foreign)
    for name in (current, left, kept):
        (tmp_path / name).mkdir()
    delete_leftovers(tmp_path, current, own)
    assert {path.name for path in tmp_path.iterdir()} == {current, kept}


def _upsert_folder(store: PropertyStore) -> str:
    return server_path(store, TABLE, "Server_a_1").partition("/servers")[0]


ZOOKEEPER: Mapping[str, Callable[[PropertyStore], object]] = {
    "a session": lambda store: SessionStore(store, OFFLINE).delete("s1"),
    "old sessions": lambda store: SessionStore(store, OFFLINE).prune(),
    "sessions before another": lambda store: SessionStore(store, OFFLINE).forget_before("s2"),
    "a damaged trigger": lambda store: FiredTriggers(store, FakeClock(), "me").claim(OFFLINE, 1.0),
    "upsert records": lambda store: _forget(store, _upsert_folder(store)),
    "a server's record": lambda store: forget_server(store, TABLE, "Server_a_1"),
    "a plan": lambda store: store.delete(plugin_path(TABLE, "plan")),
    "a segment's record": lambda store: store.delete(segment_path(TABLE, NAME)),
    "a record by compare-and-set": lambda store: store.change(segment_path(TABLE, NAME), lambda _: None),
    "reservations": lambda store: Reservations(store, FakeClock()).release(["Server_a_1"]),
}


@pytest.mark.parametrize("what", ZOOKEEPER)
def test_records_of_another_cluster_in_the_same_zookeeper_are_not_deleted(what: str) -> None:
    """The other cluster has all the same records, below its own name."""
    store, zookeeper = memory_store()
    for session_id in ("s1", "s2", "s3"):
        SessionStore(store, OFFLINE).create(make_session(session_id))
    properties = (plugin_path(TABLE, "plan"), segment_path(TABLE, NAME), fired_path(OFFLINE))
    upsert = (server_path(store, TABLE, "Server_a_1"), f"{_upsert_folder(store)}/drop")
    for path in (*upsert, *map(store.absolute, properties)):
        zookeeper.create(path, ZNRecord("x", simple_fields={"format": "1"}).to_bytes())
    Reservations(store, FakeClock()).reserve(["Server_a_1"], 30, "me", "t")
    own = dict(zookeeper.znodes)
    foreign = {path.replace(f"/{CLUSTER}/", "/other/", 1): node for path, node in own.items()}
    zookeeper.znodes.update(foreign)
    ZOOKEEPER[what](store)
    assert {path: node for path, node in zookeeper.znodes.items() if path.startswith("/other/")} == foreign
    assert {path: node for path, node in zookeeper.znodes.items() if path.startswith(f"/{CLUSTER}/")} != own
