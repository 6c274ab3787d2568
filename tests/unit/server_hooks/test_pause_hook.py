"""The pause hook in a server of which Pinot's part is modelled: nothing is held that Pinot has let go."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import jpype
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from controller_client.common.names import SegmentName, TableName
from controller_client.consumption.state.partition_record import read_report
from controller_client.errors import UnreachableError
from controller_client.helix.ideal_state import (
    ConsumptionFlags,
    ideal_state_path,
    read_flags,
    set_paused_partitions,
)
from controller_client.zookeeper import PropertyStore, ZNRecord, segment_path
from jvm_bridge.role_host import HostedServerView
from jvm_bridge.role_host.hooks import HookErrors
from server_hooks.pause import hook as hook_module
from server_hooks.pause.hook import PauseHook
from tests.unit.memory_zookeeper import CLUSTER, MemoryPropertyStore

SERVER = "Server_a_1"
TABLE, OTHER = TableName("t_REALTIME"), TableName("u_REALTIME")
_LONG_S = 60.0


class Manager:
    """The data manager of a consuming segment, and its thread; like Pinot's, it ends when asked to stop.

    Args:
        name: The segment.
        on_start: What the hook has it call before it consumes.
        registered: Where it is registered before that; None: nowhere.
    """

    def __init__(self, name: str, on_start: Any, registered: dict[str, Manager] | None = None) -> None:
        self.name = name
        self.is_stopping = False
        self.is_committing = False
        self.is_broken = False
        self.asked = threading.Event()
        if registered is not None:
            registered[name] = self
        self._thread = threading.Thread(target=on_start, args=(self,), daemon=True)
        self._thread.start()

    def getSegmentName(self) -> str:  # noqa: N802  # Java's name
        return self.name

    def forceCommit(self) -> None:  # noqa: N802  # Java's name
        if self.is_broken:
            raise RuntimeError("it cannot be sealed")
        self.is_committing = True

    def is_held(self) -> bool:
        """Return whether its thread still waits after another check."""
        self.asked.clear()
        while self._thread.is_alive():
            if self.asked.wait(0.05):
                return True
        return False

    def stop(self) -> None:
        """Ask it to stop and wait for its thread, as in a transition; a thread that stays is what hangs."""
        self.is_stopping = True
        self.assert_ended()

    def assert_ended(self) -> None:
        """Wait for its thread."""
        self._thread.join(_LONG_S)
        assert not self._thread.is_alive(), f"{self.name} is still held"


class Extension:
    """Reads the state of managers."""

    def must_stop(self, manager: Manager) -> bool:
        manager.asked.set()
        return manager.is_stopping

    def must_commit(self, manager: Manager) -> bool:
        return manager.is_committing

    def is_consuming(self, manager: Manager) -> bool:
        return isinstance(manager, Manager)


@dataclass
class TableManager:
    """A table of the server; ``acquireSegment`` only knows segments that Pinot has registered."""

    registered: dict[str, Manager] = field(default_factory=dict)

    def acquireSegment(self, name: str) -> Manager | None:  # noqa: N802  # Java's name
        return self.registered.get(name)

    def releaseSegment(self, manager: Manager) -> None:  # noqa: N802  # Java's name
        pass


class Server:
    """A server with the hook; the hook's thread is not started, :meth:`tick` is one of its rounds."""

    def __init__(self) -> None:
        self.store = MemoryPropertyStore()
        self.zookeeper = self.store.zookeeper
        self.tables: dict[str, TableManager] = {}
        self.held: list[Manager] = []
        live = ZNRecord(SERVER, {"SESSION_ID": "1"}).to_bytes()
        self.zookeeper.create(f"/{CLUSTER}/LIVEINSTANCES/{SERVER}", live)
        starter = SimpleNamespace(getServerInstance=lambda: self, getInstanceDataManager=lambda: self)
        self.errors = HookErrors()
        self._view = HostedServerView(SERVER, CLUSTER, "127.0.0.1:1", starter, {}, self.errors)
        self.hook = PauseHook(recheck_s=0.005)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(hook_module, "PropertyStore", lambda *_: self.store)
            patch.setattr(hook_module, "install_extension", self._install)
            self.hook.prepare(self._view)
        self.hook._role = self._view

    def _install(self, _role: object, on_start: Any) -> Extension:
        self._on_start = on_start
        return Extension()

    def getInstanceDataManager(self) -> Server:  # noqa: N802  # Java's name
        return self

    def getAllTables(self) -> list[str]:  # noqa: N802  # Java's name
        return list(self.tables)

    def getTableDataManager(self, table: str) -> TableManager | None:  # noqa: N802  # Java's name
        return self.tables.get(table)

    def forceCommit(self, table: str, names: set[str]) -> None:  # noqa: N802  # Java's name
        for name in names & self.tables[table].registered.keys():
            self.tables[table].registered[name].forceCommit()

    def create_table(self, table: TableName = TABLE) -> None:
        self.zookeeper.create(ideal_state_path(self.store, table), ZNRecord(table).to_bytes())
        self.tables.setdefault(table, TableManager())

    def start(
        self, partition: int, sequence: int = 0, table: TableName = TABLE, *, registered: bool = True
    ) -> Manager:
        """Let a segment's consumer start, before or after Pinot has registered it."""
        name = f"{table.raw}__{partition}__{sequence}__20260101T0000Z"
        self._change(
            table,
            lambda now: replace(now, map_fields={**now.map_fields, name: {SERVER: "CONSUMING"}}),
        )
        if self.store.get(segment_path(table, name)) is None:
            self.store.create(segment_path(table, name), ZNRecord(name))
        return Manager(name, self._on_start, self.tables[table].registered if registered else None)

    def unregister(self, manager: Manager) -> None:
        for table in self.tables.values():
            if table.registered.get(manager.name) is manager:
                del table.registered[manager.name]

    def pause_table(self, paused: bool, table: TableName = TABLE) -> None:
        """Set the table's own flag, as Pinot's endpoint does."""
        flag = {"isTablePaused": str(paused).lower()}
        self._change(table, lambda now: replace(now, simple_fields={**now.simple_fields, **flag}))

    def _change(self, table: TableName, change: Callable[[ZNRecord], ZNRecord]) -> None:
        def changed(present: ZNRecord | None) -> ZNRecord:
            assert present
            return change(present)

        self.store.change_at(ideal_state_path(self.store, table), changed)

    def pause(self, *partitions: int, table: TableName = TABLE) -> None:
        set_paused_partitions(self.store, table, lambda _: frozenset(partitions))

    def drop_table(self, table: TableName = TABLE) -> None:
        self.zookeeper.delete(ideal_state_path(self.store, table))
        for segment in read_names(self.store, table):
            self.zookeeper.delete(f"/{CLUSTER}/PROPERTYSTORE{segment_path(table, segment)}")

    def tick(self) -> None:
        self.hook.tick()

    def reported(self) -> Any:
        """Return the paused segments in the server's report."""
        report = read_report(self.store, SERVER)
        return report and report.paused

    def close(self) -> None:
        self.hook.stopping(self._view)


def read_names(store: PropertyStore, table: TableName) -> list[str]:
    """Return the segments of a table that have records."""
    return store.connection.children(f"/{CLUSTER}/PROPERTYSTORE/SEGMENTS/{table}") or []


@pytest.fixture(autouse=True)
def _java_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jpype, "JClass", lambda _name: SimpleNamespace(singleton=lambda item: {item}))


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    server.create_table()
    server.tick()
    yield server
    server.close()


@pytest.mark.parametrize("registered", [False, True])
@pytest.mark.parametrize("table_stays", [True, False])
def test_a_segment_that_pinot_removes_before_its_consumer_asks_is_let_go(
    server: Server, registered: bool, table_stays: bool
) -> None:
    server.pause(0)
    manager = server.start(0, registered=registered)
    server.unregister(manager)
    if not table_stays:
        server.drop_table()
        del server.tables[TABLE]
    elif not registered:
        assert manager.is_held()
    manager.stop()


def test_a_segment_that_pinot_creates_again_lets_the_first_one_go(server: Server) -> None:
    server.pause(0)
    first = server.start(0)
    assert first.is_held()
    second = server.start(0)
    assert second.is_held()
    first.stop()
    assert second.is_held()
    second.stop()


def test_a_table_that_is_gone_holds_nothing(server: Server) -> None:
    server.pause(0)
    manager = server.start(0)
    assert manager.is_held()
    server.drop_table()  # Pinot 0.11 still lists it
    server.tick()
    manager.assert_ended()
    late = Manager("t__0__9__20260101T0000Z", server._on_start)
    late.assert_ended()


def test_a_held_segment_is_released_although_another_table_is_at_fault(server: Server) -> None:
    server.create_table(OTHER)
    server.pause(0)
    first = server.start(0)
    server.pause(1, table=OTHER)
    server.tick()
    assert server.reported() == {TABLE: {0: first.name}}
    # In the next round, the other table's ideal state cannot be read.
    path = ideal_state_path(server.store, OTHER)
    content, version = server.zookeeper.znodes[path]
    damaged = ZNRecord(OTHER, list_fields={"pausedPartitions": ["x"]})
    version = server.zookeeper.set(path, damaged.to_bytes(), version)
    server.pause()
    server.tick()
    first.assert_ended()
    # Later its segment cannot be sealed.
    server.zookeeper.set(path, content, version)
    other = server.start(2, table=OTHER)
    other.assert_ended()
    other.is_broken = True
    server.pause(2, table=OTHER)
    server.pause(0)
    second = server.start(0, 1)
    server.tick()
    assert server.errors.count(hook_module.NAME) == 1
    assert server.reported() == {TABLE: {0: second.name}}
    server.pause()
    server.tick()
    second.assert_ended()


def test_a_new_segment_of_a_paused_table_commits_empty_and_an_old_one_consumes(server: Server) -> None:
    server.pause_table(True)
    new = server.start(0)
    new.assert_ended()
    assert new.is_committing
    server.close()
    restarted = Server()
    restarted.store = restarted.hook._store = server.store
    old = Manager(new.name, restarted._on_start)
    old.assert_ended()
    assert not old.is_committing
    restarted.close()


class Machine(RuleBasedStateMachine):
    """Everything that Pinot and its users do to a paused table, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.server = Server()
        self.server.create_table()
        self.running: dict[int, Manager] = {}
        self.waiting: set[int] = set()
        """Partitions whose segment was held when it started, and has not been let go since."""
        self.known = ConsumptionFlags(False, frozenset())
        """What the hook read last."""
        self.sequence = 0
        self.away: pytest.MonkeyPatch | None = None

    @initialize()
    def begin(self) -> None:
        self.server.tick()

    def _read(self) -> None:
        if not self.away:
            self.known = read_flags(self.server.store, TABLE)

    def _is_released(self, name: str) -> bool:
        segment = SegmentName.parse(name)
        assert segment
        return self.server.hook._gate.is_released(TABLE, segment)

    @rule(partition=st.integers(0, 2), registered=st.booleans(), same_name=st.booleans())
    def start(self, partition: int, registered: bool, same_name: bool) -> None:
        if partition in self.running:
            return
        self.sequence += not same_name
        name = f"t__{partition}__{self.sequence}__20260101T0000Z"
        is_released = self._is_released(name)
        if self.away:
            manager = Manager(name, self.server._on_start)
        else:
            manager = self.server.start(partition, self.sequence, registered=registered)
            if not is_released:  # for such a segment nothing is read
                self._read()
        is_sealed = self.known.table_paused and not self.away
        if is_released or is_sealed or partition not in self.known.paused_partitions:
            manager.assert_ended()
            assert manager.is_committing is (is_sealed and not is_released)
            assert self._is_released(name) is not manager.is_committing
        else:
            self.waiting.add(partition)
        self.running[partition] = manager

    @rule(partitions=st.frozensets(st.integers(0, 2)), seen=st.booleans())
    @precondition(lambda self: not self.away)
    def pause(self, partitions: frozenset[int], seen: bool) -> None:
        self.server.pause(*partitions)
        if seen:
            self.tick()

    @rule(paused=st.booleans(), seen=st.booleans())
    @precondition(lambda self: not self.away)
    def pause_table(self, paused: bool, seen: bool) -> None:
        self.server.pause_table(paused)
        if seen:
            self.tick()

    @rule()
    def tick(self) -> None:
        if self.away:
            with pytest.raises(UnreachableError):
                self.server.tick()
            return
        self.server.tick()
        self._read()

    @rule(partition=st.integers(0, 2), unregistered_first=st.booleans())
    def remove(self, partition: int, unregistered_first: bool) -> None:
        """A rebalance, a reset, a delete: Pinot removes the segment from its table, and stops it."""
        manager = self.running.pop(partition, None)
        if manager:
            if unregistered_first:
                self.server.unregister(manager)
            manager.stop()
            self.server.unregister(manager)

    @rule(partition=st.integers(0, 2))
    def commit(self, partition: int) -> None:
        manager = self.running.pop(partition, None)
        if manager:
            manager.forceCommit()
            manager.assert_ended()
            self.server.unregister(manager)

    @rule(is_listed=st.booleans(), seen=st.booleans())
    @precondition(lambda self: not self.away)
    def drop_and_create_again(self, is_listed: bool, seen: bool) -> None:
        """Drop the table; Pinot 0.11 still lists it afterwards."""
        self.server.drop_table()
        for manager in self.running.values():
            self.server.unregister(manager)
        if not is_listed:
            del self.server.tables[TABLE]
        if seen:
            self.server.tick()
        for manager in self.running.values():
            manager.stop()
        self.running.clear()
        self.server.create_table()
        self.tick()

    @rule()
    @precondition(lambda self: not self.away)
    def lose_zookeeper(self) -> None:
        def fail(*_: object) -> Any:
            raise UnreachableError("ZooKeeper is away")

        self.away = pytest.MonkeyPatch()
        for name in ("read", "read_children", "creation_order"):
            self.away.setattr(self.server.zookeeper, name, fail)
        self.server.zookeeper.cut()

    @rule()
    @precondition(lambda self: self.away)
    def find_zookeeper(self) -> None:
        assert self.away
        self.away.undo()
        self.away = None
        self.tick()

    @invariant()
    def held_is_what_is_known_to_be_paused(self) -> None:
        self.waiting &= self.running.keys()
        for partition in list(self.waiting):
            manager = self.running[partition]
            if partition in self.known.paused_partitions and not self.known.table_paused:
                assert manager.is_held()
            else:
                manager.assert_ended()
                self.waiting.discard(partition)

    def teardown(self) -> None:
        if self.away:
            self.away.undo()
        for manager in self.running.values():
            self.server.unregister(manager)
            manager.stop()
        assert not self.server.errors.count(hook_module.NAME)
        self.server.close()


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=settings().max_examples // 3)
