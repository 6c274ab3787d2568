"""The hook ``partition-pause``: watches the paused partitions of this server, seals segments, and reports."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from controller_client.clock import SystemClock
from controller_client.common.names import SegmentName, TableName, TableType
from controller_client.consumption.state.partition_record import (
    PartitionReport,
    read_report,
    read_reports,
    write_report,
)
from controller_client.errors import PinotPluginError
from controller_client.helix.ideal_state import IdealState, read_flags_at
from controller_client.zookeeper import PropertyStore, segment_path
from jvm_bridge.role_host import Dependents, HostedRoleView, HostedServerView, TickingHook
from server_hooks.dependents import paused_partitions
from server_hooks.pause.extension_point import ConsumerExtensionPoint, SegmentConsumer, install_extension
from server_hooks.pause.followed import FollowedTables
from server_hooks.pause.gate import Gate, TableFlags
from server_hooks.pause.metrics import PauseMetrics

__all__ = ["NAME", "PauseHook"]

logger = logging.getLogger(__name__)

NAME = "partition-pause"
_TICK_S = 1.0


class PauseHook(TickingHook[HostedServerView]):
    """The hook of one server; see :class:`~jvm_bridge.role_host.ServerHook`.

    Args:
        recheck_s: How often a waiting consumer checks whether Pinot asked it to stop or to commit.
    """

    def __init__(self, *, recheck_s: float = 0.2) -> None:
        super().__init__(NAME, pause_s=_TICK_S)
        self._store: PropertyStore | None = None
        self._extension: ConsumerExtensionPoint | None = None
        self._gate = Gate(self._read_flags, self._on_read_error, self._is_unfinished, recheck_s=recheck_s)
        self._followed: FollowedTables | None = None
        self._tables: set[TableName] = set()
        self._reported: PartitionReport | None = None
        self._last_life: PartitionReport | None = None
        self._first_seen: dict[TableName, int] = {}
        self._metrics: PauseMetrics | None = None

    def prepare(self, role: HostedServerView) -> None:
        """Install the hook before the first consumer exists."""
        self._store = PropertyStore(role.zookeeper_address, role.cluster_name)
        self._followed = FollowedTables(self._store, role.instance_id, self.wake)
        self._last_life = read_report(self._store, role.instance_id)
        self._extension = install_extension(role, self._on_start)
        self._metrics = PauseMetrics(role.monitoring, self._store, SystemClock())
        self._metrics.rows.start()

    def dependents(self, role: HostedRoleView) -> Dependents:
        """Return the partitions paused here; see :class:`~jvm_bridge.role_host.KnowsDependents`."""
        store = PropertyStore(role.zookeeper_address, role.cluster_name)
        with store:
            found = paused_partitions(store, role.instance_id)
        return Dependents(
            found,
            way_out="resume the partitions first (`pinotctl consumption resume TABLE --partition N`): "
            "without the hook the server would consume them",
            later="`pinotctl consumption pause --partition` is rejected for tables on this server.",
        )

    def _on_start(self, manager: Any) -> None:
        """Return when a segment may consume; called in its consumer's thread, must not raise."""
        with self.role.errors.guard(NAME, "before a segment consumes"):
            segment = SegmentName.parse(str(manager.getSegmentName()))
            if segment is not None:
                consumer = SegmentConsumer(
                    manager, self._installed(), partial(self._seal_new, segment.table, manager)
                )
                self._gate.hold(segment.table, segment, consumer)

    def tick(self) -> None:
        """Read the paused tables, seal segments of paused partitions, and report the paused partitions."""
        server = self.role
        data_manager = server.instance_data_manager()
        store, followed = self._connected(), self._following()
        if data_manager is None:
            return
        names = (str(name) for name in data_manager.getAllTables())
        tables = {name for name in map(TableName, names) if name.type is TableType.REALTIME}
        for table in tables - self._tables:
            self._note_first_sight(table)
        here = followed.read(tables)
        for table in (self._tables - tables) | here.dropped:
            self._gate.forget(table)
        for table in self._tables - tables:
            self._first_seen.pop(table, None)
        self._tables = tables
        # First all of them: what waits in one table is not kept waiting by the faults of another.
        for table in here.unlisted:
            self._gate.update(table, here.flags_of_unlisted)
        for table, state in here.states.items():
            self._gate.update(table, TableFlags(state.flags, state.zxid))
        paused = {}
        for table, state in here.states.items():
            with server.errors.guard(NAME, f"when it sealed segments of {table}"):
                paused[table] = self._seal(table, state)
        session = followed.session()
        if session is None:
            return
        report = PartitionReport(
            server.instance_id, session, {table: parts for table, parts in paused.items() if parts}
        )
        if report != self._reported:
            write_report(store, report)
            self._reported = report
        if self._metrics:
            self._metrics.update(report.paused)

    def stopping(self, role: HostedServerView) -> None:
        """End the threads."""
        super().stopping(role)
        if self._metrics:
            self._metrics.rows.stop()

    def _seal(self, table: TableName, state: IdealState) -> dict[int, str]:
        """Commit the released segments of paused partitions; returns the paused segments by partition."""
        paused = {}
        for name, instances in state.consuming.items():
            segment = SegmentName.parse(name)
            if segment is None or self.role.instance_id not in instances:
                continue
            if segment.partition not in state.flags.paused_partitions:
                continue
            if self._gate.is_released(table, segment):
                self._force_commit(table, name)
            elif self._is_consuming(table, name):
                paused[segment.partition] = name
        return paused

    def _seal_new(self, table: TableName, manager: Any) -> None:
        if not self._force_commit(table, str(manager.getSegmentName())):
            manager.forceCommit()  # Pinot 0.11 has not registered it yet, and would not find it

    def _force_commit(self, table: TableName, segment: str) -> bool:
        """Have a segment committed unless Pinot refuses it; returns whether Pinot knows the segment.

        Pinot 1.5 refuses it in upsert tables whose replicas would differ afterwards.
        """
        import jpype

        with self._manager(table, segment) as manager:
            if manager is None:
                return False
            data_manager: Any = self.role.instance_data_manager()
            data_manager.forceCommit(table, jpype.JClass("java.util.Collections").singleton(segment))
        return True

    def _is_consuming(self, table: TableName, segment: str) -> bool:
        with self._manager(table, segment) as manager:
            return manager is not None and self._installed().is_consuming(manager)

    @contextmanager
    def _manager(self, table: str, segment: str) -> Iterator[Any | None]:
        """Provide the data manager of a segment on this server, or None if there is none."""
        data_manager = self.role.instance_data_manager()
        of_table: Any = None if data_manager is None else data_manager.getTableDataManager(table)
        manager = None if of_table is None else of_table.acquireSegment(segment)
        try:
            yield manager
        finally:
            if manager is not None:
                of_table.releaseSegment(manager)

    def _read_flags(self, table: TableName) -> TableFlags:
        self._note_first_sight(table)
        return TableFlags(*read_flags_at(self._connected(), table))

    def _note_first_sight(self, table: TableName) -> None:
        """Record when this process first saw the table: segments that existed then may have rows."""
        if table not in self._first_seen:
            self._first_seen.setdefault(table, self._connected().connection.current_zxid())

    def _is_unfinished(self, table: TableName, segment: SegmentName) -> bool:
        """Return whether it existed before this process saw the table, and no server reported it paused."""
        try:
            born = self._connected().creation_order(segment_path(table, segment.name))
            if born is None or born > self._first_seen.get(table, 0):
                return False
            reports = list(read_reports(self._connected()).values())
        except PinotPluginError as error:
            logger.warning("%s: cannot read ZooKeeper, pausing the segment: %s", segment.name, error)
            return False
        if self._last_life:
            reports.append(self._last_life)
        paused = any(each.paused.get(table, {}).get(segment.partition) == segment.name for each in reports)
        return not paused

    def _on_read_error(self, table: str, error: Exception) -> None:
        logger.warning(
            "%s: cannot read the ideal state; the partitions that were paused before stay paused: %s",
            table,
            error,
        )

    def _connected(self) -> PropertyStore:
        if self._store is None:
            raise RuntimeError("before_start() was not called")
        return self._store

    def _following(self) -> FollowedTables:
        if self._followed is None:
            raise RuntimeError("before_start() was not called")
        return self._followed

    def _installed(self) -> ConsumerExtensionPoint:
        if self._extension is None:
            raise RuntimeError("before_start() was not called")
        return self._extension
