"""One upsert table on one server: Pinot's calls, the updates topic and ZooKeeper together."""

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
from controller_client.coordinator.generation import read_generation
from controller_client.errors import ConflictError
from controller_client.helix.ideal_state import IdealState
from controller_client.helix.stream_segments import newest_by_partition, read_segment
from controller_client.models import TableConfig
from controller_client.stream.config import StreamConfig
from controller_client.upsert.columns import NIL
from controller_client.upsert.low_water_mark import read_mark
from controller_client.upsert.record import ServerRecord, read_server, write_server
from controller_client.upsert.settings import UpsertSettings
from controller_client.zookeeper import PropertyStore
from server_hooks.upsert import served_versions
from server_hooks.upsert.consuming_rows import ConsumingRows
from server_hooks.upsert.follower import Follower
from server_hooks.upsert.place import Place
from server_hooks.upsert.sealed_rows import SealedRows
from server_hooks.upsert.table_state import TableState
from server_hooks.upsert.updates_topic import UpdatesTopic

__all__ = ["TableUpdater"]

logger = logging.getLogger(__name__)

_releasing = ThreadPoolExecutor(4, thread_name_prefix="upsert-release")


class TableUpdater:
    """Keeps a table's rows on this server up to date, and reports how far they are.

    Args:
        config: The table's config.
        store: The cluster's property store.
        instance: This server's name in Helix.
        folder: For the table's logs.
        created: When the table was made: the creation order of its config in ZooKeeper.
        wait_s: How long a segment, or the start of the server, waits at most to be complete.
        guard: As of :class:`~server_hooks.upsert.follower.Follower`.
        place: Where Pinot's segments are, and queries.
        session: Returns this server's session with ZooKeeper, None without one; must be cheap.
        clock: Time.

    Raises:
        ConfigError: The table's settings are not whole.
        FormatVersionError: A later release wrote its settings, or what is kept of it here.
        OSError: The disk refuses.
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
        place: Place,
        session: Callable[[], str | None],
        clock: Clock,
    ) -> None:
        self.table = config.name_with_type
        served_versions.serve(self.table)
        self.state = TableState(folder, clock)
        self._store = store
        self._instance = instance
        self._created = created
        self._wait_s = wait_s
        self._place = place
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
            lambda: UpdatesTopic(stream, settings.updates_topic),
            self._first_version,
            self._publish,
            retention_s=settings.retention_ms / 1000,
            guard=guard,
            clock=clock,
        )
        self._follower.start()

    def stop(self) -> None:
        """End its thread; nothing is reported after that."""
        self._is_stopped = True
        self._follower.stop()

    def before_add(self, segment: SegmentName, added: Any, *, server_is_open: bool) -> None:
        """Bring a sealed segment up to date before queries see it; called in a thread of Pinot's.

        Raises:
            PinotPluginError: It is no segment of an upsert table; or ZooKeeper does not answer.
            OSError: The disk refuses.
        """
        rows = self._sealed(segment, added)
        if server_is_open and not self._is_open:
            self._catch_up(segment.name)
        self.state.attach_sealed(segment.partition, rows)
        if server_is_open:
            self.open()

    def consuming(self, table: Any, segment: SegmentName, *, server_is_open: bool) -> None:
        """Take a consuming segment; called in the thread of its transition, which may wait for its rows."""
        manager = table.acquireSegment(segment.name)
        if manager is None:
            return
        try:
            start = self._place.consuming_start(manager)
            if start is None:
                return  # a sealed one: that came through before_add
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
            self._let_through(f"the rows of {segment.name}", target)
            self.state.count_now(segment.partition)
        self.open()

    def removed(self, segment: str) -> None:
        """A segment is gone."""
        self.state.detach([segment])

    def before_open(self, ideal_state: IdealState) -> None:
        """The server is about to take queries: wait until the table is as far as on the other servers."""
        for number in self._newest_here(ideal_state):
            self.state.count_now(number)
        self.follow_ideal_state(ideal_state)
        self._catch_up("the start of the server")
        self.open()

    def open(self) -> None:
        """From now on the server's record is reported."""
        if not self._is_open:
            self._is_open = True
            self._publish()

    def reconcile(self, table: Any) -> None:
        """Compare with what Pinot has: take what did not come through, forget what is gone."""
        names = self._place.segment_names(table)
        attached = self.state.segments()
        # One that comes or goes just now is on one side already, and about to be on the other.
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
        """Take over which partitions' newest rows this server is to have."""
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
        logger.warning("%s of %s was missed when it came, and is taken now", segment.name, self.table)
        manager = table.acquireSegment(segment.name)
        if manager is None:
            return
        try:
            if self._place.consuming_start(manager) is None:
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
        """Wait until this server is complete up to the mark that queries may be asked with; returns that.

        That mark goes on meanwhile; what it does after the last look, queries wait for.
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
        """The newest mark that queries use: of the others, or of this server in an earlier life."""
        servers = read_mark(self._store, self.table).servers
        others = [each.mark for name, each in servers.items() if each and name != self._instance]
        own = read_server(self._store, self.table, self._instance)
        is_of_this_table = own is not None and own.created == self._created
        return max(min(others, default=NIL), own.mark if own and is_of_this_table else NIL)

    def _let_through(self, what: str, target: int) -> None:
        self.state.allow_lower_mark()
        logger.error(
            "%s: %s waited %g s for version %d and continues without it; this server is complete up to %d, "
            "and holds the table's mark there",
            *(self.table, what, self._wait_s, target, self.state.mark().version),
        )

    def _first_version(self) -> int:
        """The first version of this table; raises where its coordinator has not begun with it yet."""
        generation = read_generation(self._store, self.table)
        of = generation.incarnation if generation else None
        if generation is None or of is None:
            return 0
        if of.table != self._created:
            raise ConflictError(
                f"the versions of {self.table} are those of a table of this name that was deleted",
                where=self.table,
                remedy="start its key coordinator: pinotctl upsert coordinate",
            )
        return generation.since

    def _publish(self) -> None:
        """Write the record where it changed; in the table's thread, and in one that opens the table."""
        mark = self.state.mark()
        if self._is_stopped:
            return  # a later table of the name may be served by now
        if mark.version != self._served:
            self.state.sync()
            served_versions.complete(self.table, mark.version)
            self._served = mark.version
        if not self._is_open:
            return
        progress, session = self.state.progress(), self._session()
        reported = (mark, session, tuple((number, each.segment) for number, each in progress.items()))
        if session is None or reported == self._reported:
            return
        record = ServerRecord(
            *(self._instance, session, mark.version, mark.at_ms, progress, self._place.cuts_by_option),
            created=self._created,
        )
        write_server(self._store, self.table, record)
        self._reported = reported


def _release_in_thread(table: Any, manager: Any) -> None:
    """Release a segment in another thread: the last one to do so may wait for the segment's consumer."""
    _releasing.submit(table.releaseSegment, manager).add_done_callback(_log_failure)


def _log_failure(released: Future[None]) -> None:
    """Log that Pinot could not close a segment: its partition may not go on then; in the releasing thread."""
    if error := released.exception():
        logger.error("Pinot could not close a segment that was given back to it: %s", error)
