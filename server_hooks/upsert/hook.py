"""The hook ``upsert``: the upsert tables of this server, and Pinot's calls for them."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from controller_client.clock import SystemClock
from controller_client.common.formats import log_skipped
from controller_client.common.names import SegmentName, TableName, TableType
from controller_client.common.parsing import whole_number
from controller_client.errors import ConfigError, FormatVersionError, NotFoundError, PinotPluginError
from controller_client.helix.ideal_state import read_ideal_state
from controller_client.helix.table_config import read_table_config, table_config_path
from controller_client.upsert.misregistered import MisregisteredError, check_table
from controller_client.upsert.record import forget_server
from controller_client.upsert.settings import is_upsert
from controller_client.zookeeper import PropertyStore
from jvm_bridge.role_host import Dependents, HostedRoleView, HostedServerView, TickingHook
from server_hooks.dependents import upsert_tables
from server_hooks.upsert import served_versions
from server_hooks.upsert.extension_point import TableExtensionPoint, install_extension
from server_hooks.upsert.helix_session import HelixSession
from server_hooks.upsert.metrics import COUNTERS, UpsertMetrics, count
from server_hooks.upsert.table_updater import TableUpdater

__all__ = ["NAME", "UpsertHook"]

logger = logging.getLogger(__name__)

NAME = "upsert"
_DATA_KEY = "pinot.server.instance.dataDir"
_FOLDER_KEY = "pinotPlugins.upsert.dir"
_WAIT_KEY = "pinotPlugins.upsert.catchUpWaitMs"
_WITHOUT_VERSION_KEY = "pinotPlugins.upsert.queriesWithoutVersion"
_DEFAULT_WAIT_MS = "600000"
_TICK_S = 1.0
_QUERY_WAIT_MS = 5_000


class UpsertHook(TickingHook[HostedServerView]):
    """The hook of one server, see :class:`~jvm_bridge.role_host.ServerHook`.

    Creating it patches Pinot's classes: other hooks use reflection on these classes before they start.
    """

    def __init__(self) -> None:
        super().__init__(NAME, pause_s=_TICK_S)
        self._store: PropertyStore | None = None
        self._folder = Path()
        self._wait_s = 0.0
        self._is_open = False
        self._lock = threading.Lock()
        self._tables: dict[TableName, TableUpdater | None] = {}
        self._created: dict[TableName, int] = {}
        self._installed: TableExtensionPoint | None = None
        self._refusal: PinotPluginError | None = None
        self._metrics: UpsertMetrics | None = None
        try:
            self._installed = install_extension(self)
        except PinotPluginError as error:
            self._refusal = error  # raised before the start, when the dependents can be found

    def prepare(self, role: HostedServerView) -> None:
        """Read the configuration; called before the first segment is added."""
        if self._refusal:
            raise self._refusal
        self._wait_s = _wait_s(role.configuration.get(_WAIT_KEY, _DEFAULT_WAIT_MS))
        default = str(Path(role.configuration[_DATA_KEY]) / "pythonUpsert")
        self._folder = Path(role.configuration.get(_FOLDER_KEY, default))
        self._extension.prepare(role)
        served_versions.configure(
            wait_ms=_QUERY_WAIT_MS,
            without_version=_flag(role.configuration.get(_WITHOUT_VERSION_KEY, "false")),
        )
        self._store = PropertyStore(role.zookeeper_address, role.cluster_name)
        self._metrics = UpsertMetrics(role.monitoring)

    def dependents(self, role: HostedRoleView) -> Dependents:
        """The upsert tables of this server; see :class:`~jvm_bridge.role_host.KnowsDependents`."""
        store = PropertyStore(role.zookeeper_address, role.cluster_name)
        with store:
            found = upsert_tables(store, role.instance_id)
        return Dependents(
            found,
            way_out="move the tables to other servers first: without the hook none of their rows become "
            "visible here",
            later="`pinotctl upsert create` is rejected for this server's tenant.",
        )

    def started(self, role: HostedServerView) -> None:
        """Publish the counters beside Pinot's metrics."""
        from jvm_bridge.role_host.metrics import gauge

        metrics = role.starter.getServerInstance().getServerMetrics()
        gauge(metrics, f"pythonHook.{NAME}.tables", lambda: len(self._updaters()))
        gauge(metrics, f"pythonHook.{NAME}.pendingEvents", self._pending)
        gauge(metrics, f"pythonHook.{NAME}.lostPartitions", self._lost)
        for name in COUNTERS:
            gauge(metrics, f"pythonHook.{NAME}.{name}", partial(count, name))

    def stopping(self, role: HostedServerView) -> None:
        """Stop the threads; everything that was written into segments is flushed to the disk then."""
        super().stopping(role)
        for updater in self._updaters():
            updater.stop()

    def before_add(self, table: Any, segment: Any) -> None:
        """Handle a sealed segment before Pinot adds it; called in the thread that adds it."""
        self._for(
            table,
            str(segment.getSegmentName()),
            lambda updater, parsed: updater.before_add(parsed, segment, server_is_open=self._is_open),
        )

    def consuming(self, table: Any, segment: str) -> None:
        """Handle a consuming segment that was created; called in the thread of its transition."""
        self._for(
            table,
            segment,
            lambda updater, parsed: updater.consuming(table, parsed, server_is_open=self._is_open),
        )

    def removed(self, table: Any, segment: str) -> None:
        """Handle a segment that was removed; called in the thread of its transition."""
        self._for(table, segment, lambda updater, _parsed: updater.removed(segment))

    def before_open(self) -> None:
        """Wait until the tables have caught up with the other servers; called in the main thread.

        All segments are loaded by then.
        """
        server = self.role
        for updater in self._updaters():
            with server.errors.guard(NAME, f"while catching up {updater.table} before queries"):
                updater.before_open(read_ideal_state(self._connected(), updater.table))
        self._is_open = True
        with server.errors.guard(NAME, "while cleaning up deleted tables"):
            for folder in self._folder.glob(f"*_{TableType.REALTIME}"):
                self._clean(TableName(folder.name))

    def _for(self, table: Any, segment: str, call: Callable[[TableUpdater, SegmentName], None]) -> None:
        if not self.has_begun:
            return  # the hook could not start: Pinot continues without it
        with self.role.errors.guard(NAME, f"while handling {segment}"):
            parsed = SegmentName.parse(segment)
            name = TableName(str(table.getTableName()))
            updater = self._updater(name) if name.type is TableType.REALTIME else None
            if parsed is not None and updater is not None:
                call(updater, parsed)

    def _updater(self, table: TableName) -> TableUpdater | None:
        """Return the updater of a table, created on first use, or None if it is not an upsert table.

        It is also None if this release cannot read the table's state here, or its settings: until the server
        is upgraded no rows of the table become visible here, and the server holds back the table's mark.

        A table that was deleted and created again in the meantime gets a new updater.
        """
        with self._lock:
            created = self._connected().creation_order(table_config_path(table))
            if created is not None and self._created.get(table, created) != created:
                self._end(table)
            if table not in self._tables and created is not None:
                self._created[table] = created
                try:
                    self._tables[table] = self._make(table, created)
                except FormatVersionError as error:
                    log_skipped(logger, error)
                    self._tables[table] = None
            return self._tables.get(table)

    def _make(self, table: TableName, created: int) -> TableUpdater | None:
        server, store = self.role, self._connected()
        config = read_table_config(store, table)
        if config is None:
            return None
        if not is_upsert(config):
            try:
                check_table(store, config)
            except MisregisteredError as error:
                logger.error("%s", error)
            return None
        forget_server(store, table, server.instance_id, before=created)
        folder = self._folder / table
        for old in folder.glob("*") if folder.is_dir() else ():
            if old.name != str(created):
                shutil.rmtree(old)  # of a deleted table with the same name
        return TableUpdater(
            config,
            store,
            server.instance_id,
            folder / str(created),
            created,
            wait_s=self._wait_s,
            guard=partial(server.errors.guard, NAME),
            extension=self._extension,
            session=HelixSession(server.starter).current,
            clock=SystemClock(),
        )

    def tick(self) -> None:
        """Reconcile with Pinot's tables and segments, and follow the tables' ideal states."""
        server = self.role
        data_manager = server.instance_data_manager()
        if data_manager is None:
            return
        # In this order: a table is in Pinot's list before it is in ours.
        with self._lock:
            tables = dict(self._tables)
        present = {
            name
            for java_name in data_manager.getAllTables()
            if (name := TableName(str(java_name))).type is TableType.REALTIME
        }
        for table in tables.keys() - present:
            self._forget(table, tables[table])
        for table in present:
            # For other tables than upsert tables, the next segment shows that they were created again.
            if table not in tables or tables[table] is not None:
                self._updater(table)
        for updater in self._updaters():
            with server.errors.guard(NAME, f"while reconciling {updater.table}"):
                table = data_manager.getTableDataManager(updater.table)
                if table is None:
                    continue
                updater.reconcile(table)
                try:
                    updater.follow_ideal_state(read_ideal_state(self._connected(), updater.table))
                except NotFoundError:
                    continue  # the table is being deleted
        if self._metrics:
            self._metrics.update({updater.table: updater.state for updater in self._updaters()})

    def _forget(self, table: TableName, updater: TableUpdater | None) -> None:
        """Forget a table that Pinot no longer has, unless another table has its name by now."""
        with self._lock:
            if self._tables.get(table) is not updater:
                return
            self._end(table)
        if updater is not None:
            self._clean(table)

    def _end(self, table: TableName) -> None:
        """Forget a table; call it with the lock, so that work for a new table of its name comes after it."""
        updater = self._tables.pop(table, None)
        self._created.pop(table, None)
        if updater is not None:
            updater.stop()
            served_versions.forget(table)

    def _clean(self, table: TableName) -> None:
        """Delete the state kept here of a table that no longer exists."""
        store = self._connected()
        with self._lock:  # the state of a new table with the name is created with the lock too
            if store.creation_order(table_config_path(table)) is None:
                shutil.rmtree(self._folder / table, ignore_errors=True)
                forget_server(store, table, self.role.instance_id)

    def _updaters(self) -> list[TableUpdater]:
        with self._lock:
            return [updater for updater in self._tables.values() if updater is not None]

    def _pending(self) -> int:
        return sum(updater.state.pending() for updater in self._updaters())

    def _lost(self) -> int:
        return sum(len(updater.state.lost_partitions) for updater in self._updaters())

    @property
    def _extension(self) -> TableExtensionPoint:
        if self._installed is None:
            raise RuntimeError("before_start() was not called")
        return self._installed

    def _connected(self) -> PropertyStore:
        if self._store is None:
            raise RuntimeError("before_start() was not called")
        return self._store


def _wait_s(text: str) -> float:
    wait_ms = whole_number(text)
    if wait_ms is None:
        raise ConfigError(f"{_WAIT_KEY} is {text!r}", expected="milliseconds, e.g. 600000", where=_WAIT_KEY)
    return wait_ms / 1000


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ConfigError(
            f"{_WITHOUT_VERSION_KEY} is {text!r}", expected="true or false", where=_WITHOUT_VERSION_KEY
        )
    return text.lower() == "true"
