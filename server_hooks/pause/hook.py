"""The hook ``partition-pause``: watches the paused partitions of this server, seals segments, and reports."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

from controller_client.clock import SystemClock
from controller_client.common.names import SegmentName, TableName, TableType
from controller_client.consumption.partition_report import (
    PartitionReport,
    read_report,
    read_reports,
    write_report,
)
from controller_client.errors import PinotPluginError
from controller_client.helix.ideal_state import IdealState
from controller_client.zookeeper import PropertyStore, segment_path
from jvm_bridge.role_host import Dependents, HostedRoleView, HostedServerView, TickingHook
from server_hooks.dependents import paused_partitions
from server_hooks.pause.extension_point import ExtensionPoint, install_extension
from server_hooks.pause.followed import FollowedTables, read_flags
from server_hooks.pause.gate import Gate, TableFlags, Verdict
from server_hooks.pause.metrics import PauseMetrics

__all__ = ["NAME", "PauseHook"]

logger = logging.getLogger(__name__)

NAME = "partition-pause"
_TICK_S = 1.0


class _Consumer:
    """The consumer of one segment, looked up for each call.

    Keeping the segment acquired during a pause would prevent Pinot from stopping it: the last one to release
    a dropped segment destroys it.
    """

    def __init__(
        self, acquired: Callable[[], AbstractContextManager[Any | None]], extension: ExtensionPoint
    ) -> None:
        self._acquired = acquired
        self._extension = extension
        self._seen = False

    def must_stop(self) -> bool:
        with self._acquired() as manager:
            if manager is None:
                # Not seen yet: its constructor is about to finish. Seen before: it was dropped.
                return self._seen
            self._seen = True
            return self._extension.must_stop(manager)

    def must_commit(self) -> bool:
        with self._acquired() as manager:
            return manager is not None and self._extension.must_commit(manager)

    def force_commit(self) -> None:
        with self._acquired() as manager:
            if manager is not None:
                manager.forceCommit()


class PauseHook(TickingHook[HostedServerView]):
    """The hook of one server; see :class:`~jvm_bridge.role_host.ServerHook`."""

    def __init__(self) -> None:
        super().__init__(NAME, pause_s=_TICK_S)
        self._store: PropertyStore | None = None
        self._extension: ExtensionPoint | None = None
        self._gate = Gate(self._read_flags, self._on_read_error, self._is_unfinished)
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
        self._extension = install_extension(role, self._on_batch)
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

    def _on_batch(self, thread_name: str) -> bool:
        """Return whether the segment is released; called in a consumer's thread, must not raise."""
        extension = self._installed()
        with self.role.errors.guard(NAME, f"before a batch of {thread_name}"):
            segment = SegmentName.parse(thread_name)
            if segment is None:
                return False  # a Helix thread that catches up to the offset of another replica's commit
            table = segment.table
            consumer = _Consumer(partial(self._manager, table, segment.name), extension)
            return self._gate.decide(table, segment, consumer) is Verdict.RELEASED
        return False

    def tick(self) -> None:
        """Read the paused tables, seal segments of paused partitions, and report the paused partitions."""
        server = self.role
        data_manager = server.instance_data_manager()
        store, followed = self._connected(), self._following()
        session = followed.session()
        if data_manager is None or session is None:
            return
        names = (str(name) for name in data_manager.getAllTables())
        tables = {name for name in map(TableName, names) if name.type is TableType.REALTIME}
        for table in self._tables - tables:
            self._gate.forget(table)
            self._first_seen.pop(table, None)
        for table in tables - self._tables:
            self._note_first_sight(table)
        self._tables = tables
        here = followed.read(tables)
        paused = {}
        for table in sorted(tables):
            state = here.states.get(table)
            if table in here.dropped:
                # Pinot waits for the end of the table's consumers. One that asks only now finds its segment
                # no more, and would wait to be resumed.
                self._gate.forget(table)
            elif state is None:
                self._gate.update(table, here.unlisted)
            else:
                self._gate.update(table, TableFlags(state.flags, state.zxid))
                paused[table] = self._seal(data_manager, table, state)
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

    def _seal(self, data_manager: Any, table: TableName, state: IdealState) -> dict[int, str]:
        """Commit the released segments of paused partitions; returns the paused segments by partition."""
        paused = {}
        for name, instances in state.consuming.items():
            segment = SegmentName.parse(name)
            if segment is None or self.role.instance_id not in instances:
                continue
            if segment.partition not in state.flags.paused_partitions:
                continue
            if self._gate.is_released(table, segment):
                self._force_commit(data_manager, table, name)
            elif self._is_consuming(table, name):
                paused[segment.partition] = name
        return paused

    def _force_commit(self, data_manager: Any, table: str, segment: str) -> None:
        import jpype

        names = jpype.JClass("java.util.Collections").singleton(segment)
        data_manager.forceCommit(table, names)

    def _is_consuming(self, table: str, segment: str) -> bool:
        with self._manager(table, segment) as manager:
            return manager is not None and self._installed().is_consuming(manager)

    @contextmanager
    def _manager(self, table: str, segment: str) -> Iterator[Any | None]:
        """Provide the data manager of a segment on this server, or None if there is none (yet)."""
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
        return read_flags(self._connected(), table)

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
        logger.warning("%s: cannot read the ideal state, using the last one: %s", table, error)

    def _connected(self) -> PropertyStore:
        if self._store is None:
            raise RuntimeError("before_start() was not called")
        return self._store

    def _following(self) -> FollowedTables:
        if self._followed is None:
            raise RuntimeError("before_start() was not called")
        return self._followed

    def _installed(self) -> ExtensionPoint:
        if self._extension is None:
            raise RuntimeError("before_start() was not called")
        return self._extension
