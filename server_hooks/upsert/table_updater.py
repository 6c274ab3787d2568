"""One upsert table on one server: connects Pinot's calls, the updates topic and ZooKeeper."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

from controller_client.clock import Clock
from controller_client.common.names import SegmentName
from controller_client.errors import ConflictError
from controller_client.helix.ideal_state import IdealState
from controller_client.helix.stream_segments import newest_by_partition, read_segment
from controller_client.models import TableConfig
from controller_client.stream.config import StreamConfig
from controller_client.upsert.columns import NIL
from controller_client.upsert.floors import read_floors
from controller_client.upsert.generation import Generation, read_generation
from controller_client.upsert.low_water_mark import read_mark
from controller_client.upsert.record import ServerRecord, read_server, write_server
from controller_client.upsert.settings import UpsertSettings
from controller_client.zookeeper import PropertyStore
from server_hooks.upsert import served_versions
from server_hooks.upsert.consuming_rows import ConsumingRows
from server_hooks.upsert.extension_point import TableExtensionPoint
from server_hooks.upsert.follower import Follower
from server_hooks.upsert.sealed_rows import SealedRows
from server_hooks.upsert.table_state import UpsertTableState
from server_hooks.upsert.updates_topic import UpdatesReader

__all__ = ["TableUpdater"]

logger = logging.getLogger(__name__)

_releasing = ThreadPoolExecutor(4, thread_name_prefix="upsert-release")


class TableUpdater:
    """Keeps a table's rows on this server up to date, and reports their progress.

    Args:
        config: The table's config.
        store: The cluster's property store.
        instance: This server's instance name in Helix.
        folder: The folder of the table's logs.
        created: When the table was created: the creation order of its config in ZooKeeper.
        wait_s: How long a segment, or the start of the server, waits at most to catch up.
        guard: As for :class:`~server_hooks.upsert.follower.Follower`.
        extension: Gives access to Pinot's segments and queries.
        session: Returns this server's session with ZooKeeper, or None; must be cheap.
        clock: The clock.

    Raises:
        ConfigError: The table's settings are incomplete.
        FormatVersionError: A later release wrote its settings, or its state on this server.
        OSError: The files of its state cannot be read or written.
    """

    def __init__(
        self,
        config: TableConfig,
        store: PropertyStore,
        instance: str,
        folder: Path,
        created: int,
        *,
        wait_s: float,
        guard: Callable[[str], AbstractContextManager[None]],
        extension: TableExtensionPoint,
        session: Callable[[], str | None],
        clock: Clock,
    ) -> None:
        self.table = config.name_with_type
        served_versions.serve(self.table)
        self.state = UpsertTableState(folder, clock)
        self._store = store
        self._instance = instance
        self._created = created
        self._wait_s = wait_s
        self._extension = extension
        self._clock = clock
        self._is_open = self._is_stopped = False
        self._missing: frozenset[str] = frozenset()
        self._gone: frozenset[str] = frozenset()
        self._reported: tuple[object, ...] = ()
        self._served = NIL
        self._session = session
        settings, stream = UpsertSettings.of(config), StreamConfig.of(config)
        self._follower = Follower(
            self.table,
            self.state,
            lambda: UpdatesReader(stream, settings.updates_topic),
            self._generation,
            self._publish,
            partial(read_floors, store, self.table),
            guard=guard,
            clock=clock,
        )
        self._follower.start()

    def stop(self) -> None:
        """Stop the thread; nothing is reported after that."""
        self._is_stopped = True
        self._follower.stop()

    def before_add(self, segment: SegmentName, added: Any, *, server_is_open: bool) -> None:
        """Bring a sealed segment up to date before queries see it; called in a Pinot thread.

        Raises:
            PinotPluginError: It is not a segment of an upsert table, or ZooKeeper does not answer.
            OSError: The log cannot be read, or the segment cannot be written.
        """
        rows = self._sealed(segment, added)
        if server_is_open and not self._is_open:
            self._catch_up(segment.name)
        self.state.attach_sealed(segment.partition, rows)
        if server_is_open:
            self.open()

    def consuming(self, table: Any, segment: SegmentName, *, server_is_open: bool) -> None:
        """Attach a consuming segment; called in the thread of its transition, which may wait for its rows."""
        manager = table.acquireSegment(segment.name)
        if manager is None:
            return
        try:
            start = self._extension.consuming_start(manager)
            if start is None:
                return  # a sealed segment, which came through before_add()
            part = ConsumingRows(
                table,
                manager,
                segment.name,
                segment.sequence,
                start,
                served_versions.attach(self.table, manager.getSegment()),
                _release_in_thread,
            )
            self.state.attach_consuming(segment.partition, part)
        finally:
            table.releaseSegment(manager)
        if not server_is_open:
            self.state.count_now(segment.partition)
            return
        target = NIL if self._is_open else self._catch_up(segment.name)
        if not self.state.wait_for(lambda: self.state.count(segment.partition, version=target), self._wait_s):
            self.state.count_now(segment.partition)
            self._let_through(f"the rows of {segment.name}", target)
        self.open()

    def removed(self, segment: str) -> None:
        """Detach a segment that was removed."""
        self.state.detach([segment])

    def before_open(self, ideal_state: IdealState) -> None:
        """Wait until the table has caught up with the other servers; called before the first query."""
        for number in self._newest_here(ideal_state):
            self.state.count_now(number)
        self.follow_ideal_state(ideal_state)
        self._catch_up("the start of the server")
        self.open()

    def open(self) -> None:
        """Start reporting the server's record."""
        if not self._is_open:
            self._is_open = True
            self._publish()

    def reconcile(self, table: Any) -> None:
        """Compare with Pinot's segments: attach those that were missed, detach those that were removed."""
        names = self._extension.segment_names(table)
        attached = self.state.segments()
        # Twice in a row, as a segment that is being added or removed is on one side only for a moment.
        gone, self._gone = (attached - names) & self._gone, attached - names
        missing, self._missing = (names - attached) & self._missing, names - attached
        self.state.detach(gone)
        segments = [segment for name in missing if (segment := SegmentName.parse(name))]
        self.state.is_missing_segments = bool(segments)
        for segment in segments:
            self._take_missing(table, segment)
        if segments:
            self.state.is_missing_segments = not missing <= self.state.segments()

    def follow_ideal_state(self, ideal_state: IdealState) -> None:
        """Update the partitions whose newest rows are assigned to this server."""
        newest: dict[int, int | None] = {}
        for number, segment in self._newest_here(ideal_state).items():
            newest[number] = None
            if ideal_state.segments[segment.name][self._instance] == "ONLINE":
                record = read_segment(self._store, self.table, segment)
                attached = segment.name in self.state.segments()
                if record and record.end_offset and attached:
                    newest[number] = int(record.end_offset)
        self.state.settle_counting(newest)

    def _take_missing(self, table: Any, segment: SegmentName) -> None:
        logger.warning("%s: segment %s was missed when it was added, adding it now", self.table, segment.name)
        manager = table.acquireSegment(segment.name)
        if manager is None:
            return
        try:
            if self._extension.consuming_start(manager) is None:
                self.state.attach_sealed(segment.partition, self._sealed(segment, manager.getSegment()))
                return
        finally:
            table.releaseSegment(manager)
        self.consuming(table, segment, server_is_open=False)

    def _sealed(self, segment: SegmentName, pinot_segment: Any) -> SealedRows:
        metadata = pinot_segment.getSegmentMetadata()
        folder = Path(str(metadata.getIndexDir().getPath()))
        versions = served_versions.attach(self.table, pinot_segment)
        return SealedRows(segment.name, folder, int(metadata.getTotalDocs()), versions)

    def _newest_here(self, ideal_state: IdealState) -> dict[int, SegmentName]:
        return {
            number: segment
            for number, segment in newest_by_partition(ideal_state.segments).items()
            if ideal_state.segments[segment.name].get(self._instance) in ("ONLINE", "CONSUMING")
        }

    def _catch_up(self, what: str) -> int:
        """Wait until this server is complete up to the mark that queries may use; returns that mark.

        The mark advances meanwhile; queries wait for versions after the last check.
        """
        deadline = self._clock.monotonic() + self._wait_s
        while self.state.mark().version < (target := self._others_mark()):
            left_s = deadline - self._clock.monotonic()
            if not self.state.wait_for(partial(self._has, target), left_s):
                self._let_through(what, target)
                break
        return target

    def _has(self, version: int) -> bool:
        return self.state.mark().version >= version

    def _others_mark(self) -> int:
        """Return the newest mark that queries use: of other servers, or of this one before its restart."""
        servers = read_mark(self._store, self.table).servers
        others = [each.mark for name, each in servers.items() if each and name != self._instance]
        own = read_server(self._store, self.table, self._instance)
        is_of_this_table = own is not None and own.created == self._created
        return max(min(others, default=NIL), own.mark if own and is_of_this_table else NIL)

    def _let_through(self, what: str, target: int) -> None:
        self.state.allow_lower_mark()
        logger.error(
            "%s: %s waited %g s for version %d and continues without it; this server is complete up to "
            "version %d and holds back the table's mark",
            self.table,
            what,
            self._wait_s,
            target,
            self.state.mark().version,
        )

    def _generation(self) -> Generation | None:
        """Return the coordinator's generation; raises if it has not started with this table yet."""
        generation = read_generation(self._store, self.table)
        of = generation.incarnation if generation else None
        if of is not None and of.table != self._created:
            raise ConflictError(
                f"the versions of {self.table} belong to a deleted table with the same name",
                where=self.table,
                remedy="start the table's key coordinator: pinotctl upsert coordinate",
            )
        return generation

    def _publish(self) -> None:
        """Write the record if it has changed; called in the table's thread, and when the table opens."""
        mark = self.state.mark()
        # Before it opens, a version may be taken for complete whose rows come with a segment that is not
        # attached yet; once it has stopped, a new table with the same name may be served.
        if not self._is_open or self._is_stopped:
            return
        if mark.version != self._served:
            self.state.sync()
            served_versions.complete(self.table, mark.version)
            self._served = mark.version
        progress, session = self.state.progress(), self._session()
        reported = (mark, session, tuple((number, each.segment) for number, each in progress.items()))
        if session is None or reported == self._reported:
            return
        record = ServerRecord(
            self._instance,
            session,
            mark.version,
            mark.at_ms,
            progress,
            self._extension.cuts_by_option,
            created=self._created,
        )
        write_server(self._store, self.table, record)
        self._reported = reported


def _release_in_thread(table: Any, manager: Any) -> None:
    """Release a segment in another thread: the last release may wait for the segment's consumer."""
    _releasing.submit(table.releaseSegment, manager).add_done_callback(_log_failure)


def _log_failure(released: Future[None]) -> None:
    """Log that Pinot could not close a segment, as its partition may then be stuck."""
    if error := released.exception():
        logger.error("Pinot could not close a segment after the hook released it: %s", error)
