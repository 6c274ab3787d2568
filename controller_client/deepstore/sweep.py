"""Finds what commits and late uploads have left in the store and nothing needs any more, and takes it away.

There are two kinds of leftovers. Both are in the folders of existing tables and are named after a segment
that servers commit:

- a *temporary name*, under which a commit uploads: ``<segment>.tmp.<uuid>``, in Pinot 0.11
  ``<segment><uuid>``. It is not needed if the segment is deleted, or is committed and its URL points
  elsewhere. While the segment has no URL, the server may still move the object, or a repair may use it.
- an *object of a deleted segment*: its upload finished after Pinot had deleted the segment.

The OFFLINE table of the same name has the same folder, and the realtime table's segments may have been pushed
to it under the same names. So a segment with a record in either table is needed.

Segment records are read after the store was listed, and again before each deletion. A deleted segment does
not come back, because its name contains the time at which it was started. A table without any segment records
is skipped: a realtime table has records at least of its consuming segments.

A missing record proves nothing in the store of another cluster, or after ZooKeeper was restored from an old
backup. So a store must have this cluster's mark (see :mod:`.store_mark`), or gets it before the first
deletion, and a table is left alone if too great a share of its objects has no record. What is taken away is
moved to a quarantine, and deleted for good days later (see :mod:`.quarantine`).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from controller_client.clock import Clock
from controller_client.common.names import SegmentName, TableName, TableType
from controller_client.common.text import WordEnum, visible
from controller_client.deepstore.layout import StoreLayout
from controller_client.deepstore.listing import OpenStore
from controller_client.deepstore.quarantine import DEFAULT_QUARANTINE_DAYS, Quarantine
from controller_client.deepstore.rate import RateLimit
from controller_client.deepstore.segment_record import SegmentRecord, read_record
from controller_client.deepstore.store_mark import StoreOwner
from controller_client.errors import ConfigError, ConflictError, PinotPluginError
from controller_client.filestore import FileInfo, FolderMissingError
from controller_client.zookeeper import PropertyStore, segments_path

__all__ = [
    "DEFAULT_MAX_SHARE",
    "Leftover",
    "LeftoverKind",
    "Sweeper",
    "Swept",
    "TableLeftovers",
    "sweep_tables",
]

logger = logging.getLogger(__name__)

DEFAULT_MAX_SHARE = 0.2
"""The largest share of a table's objects that may be taken away because their segments have no records."""

_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_COMMITTED = re.compile(r".+__\d+__\d+__\d{8}T\d{4}Z")
_TEMPORARY = re.compile(rf"(.+?)(?:\.tmp\.)?{_UUID}")


class LeftoverKind(WordEnum):
    """Why an object is not needed."""

    TEMPORARY = "temporary_name"
    SEGMENT_GONE = "segment_gone"


@dataclass(frozen=True)
class Leftover:
    """An object that is not needed.

    Attributes:
        table: The realtime table.
        segment: The segment that it was uploaded for.
        kind: Why it is not needed.
        uri: Its URI, not percent-encoded.
        size_bytes: Its size.
        age_s: Seconds since it was written.
    """

    table: TableName
    segment: str
    kind: LeftoverKind
    uri: str
    size_bytes: int
    age_s: float


@dataclass(frozen=True)
class TableLeftovers:
    """The leftovers in the folder of a table.

    Attributes:
        table: The realtime table.
        leftovers: The objects that are not needed.
        recorded: Number of objects in the folder whose segments have records in this cluster.
        unrecorded: Number of objects, of any age, that are named after segments of the table without one.
    """

    table: TableName
    leftovers: tuple[Leftover, ...]
    recorded: int
    unrecorded: int

    @property
    def unrecorded_share(self) -> float:
        """The share of the objects whose segments have no records, from 0 to 1."""
        return self.unrecorded / max(1, self.recorded + self.unrecorded)


@dataclass(frozen=True)
class Swept:
    """A leftover that was taken out of its table's folder.

    Attributes:
        leftover: The leftover.
        moved_to: Its URI in the quarantine; None: it was deleted for good.
    """

    leftover: Leftover
    moved_to: str | None


class Sweeper:
    """Finds leftovers in the folders of tables in the store, and takes them away.

    Args:
        store: Property store, connected.
        layout: The deep store.
        open_store: Returns the file store for a URI.
        rate: Limits requests; reading a record counts as one request.
        clock: The clock.
        min_age_s: Objects that are younger are kept.
        max_share: A table is left alone if a greater share of its objects, from 0 to 1, has no record.
        quarantine_days: Full days that leftovers stay in the quarantine; 0: they are deleted at once.
    """

    def __init__(
        self,
        store: PropertyStore,
        layout: StoreLayout,
        open_store: OpenStore,
        rate: RateLimit,
        clock: Clock,
        *,
        min_age_s: float,
        max_share: float = DEFAULT_MAX_SHARE,
        quarantine_days: int = DEFAULT_QUARANTINE_DAYS,
    ) -> None:
        if min_age_s < 0:
            raise ConfigError(f"the minimum age is {min_age_s} s", expected="0 or more")
        self._store = store
        self._layout = layout
        self._open = open_store
        self._rate = rate
        self._clock = clock
        self._min_age_s = min_age_s
        self._max_share = max_share
        self._owner = StoreOwner(store, layout, open_store)
        self._quarantine = Quarantine(layout.root, open_store, clock, quarantine_days)

    def find(self, tables: Sequence[TableName]) -> Iterator[TableLeftovers]:
        """Yield the leftovers in the folders of the realtime tables among some tables, if there are any.

        Raises:
            ConfigError: There is no file store for the deep store's scheme.
            SourceError: It cannot be listed.
            UnreachableError: ZooKeeper does not answer.
        """
        for table in tables:
            if table.type is not TableType.REALTIME:
                continue
            folder = f"{self._layout.root}/{table.raw}"
            try:
                # The complete listing must be read before the first record.
                files = list(self._open(folder).list(folder))
            except FolderMissingError:
                continue
            self._rate.wait()
            segments = set(self._store.children(segments_path(table)))
            if not segments:
                logger.warning("%s has no segments at all: its folder in the store is skipped", table)
                continue
            found = self._judge_folder(table, folder, files, segments)
            if found.leftovers:
                yield found

    def why_kept(self, folder: TableLeftovers) -> str | None:
        """Return why the leftovers of a table are left alone; None if they may be taken away."""
        if folder.unrecorded_share <= self._max_share or not self._has_unrecorded(folder):
            return None
        return (
            f"{folder.unrecorded} of {folder.recorded + folder.unrecorded} objects of {folder.table} in "
            f"{visible(self._layout.root)} are named after segments that this cluster has no record of "
            f"({folder.unrecorded_share:.0%}, more than {self._max_share:.0%}): the store may be that of "
            "another cluster, or ZooKeeper may have been restored from a backup"
        )

    def remove(self, folder: TableLeftovers, stopped: Callable[[], bool] = lambda: False) -> Iterator[Swept]:
        """Take away the leftovers that are still not needed, and yield each one.

        They are moved to the quarantine, or deleted if there is none. A store without a mark gets that of
        this cluster before the first one.

        Args:
            folder: What :meth:`find` returned.
            stopped: Checked before each leftover.

        Raises:
            ConflictError: The store has the mark of another cluster, or too great a share of the objects has
                no record; nothing was taken away.
            SourceError: The store refuses it.
            UnreachableError: ZooKeeper does not answer.
        """
        if reason := self.why_kept(folder):
            raise ConflictError(
                reason,
                where=visible(f"{self._layout.root}/{folder.table.raw}"),
                remedy="check that the store, the cluster and ZooKeeper belong together; if so, accept it: "
                f"`pinotctl deepstore sweep {folder.table} --max-share 100`",
            )
        if not self._owner.check():
            self._owner.claim()
        for leftover in folder.leftovers:
            if stopped():
                return
            if self._kind(leftover.table, leftover.segment, leftover.uri) is not leftover.kind:
                continue
            moved_to = None
            if self._quarantine.keep_days:
                moved_to = self._quarantine.put(leftover.uri)
                if moved_to is None:
                    continue  # another process was first
            else:
                self._open(leftover.uri).delete(leftover.uri)
            did = f"moved to {visible(moved_to)}" if moved_to else "deleted"
            logger.info("%s: %s, %s", visible(leftover.uri), leftover.kind.words, did)
            yield Swept(leftover, moved_to)

    def expired(self) -> int:
        """Return how many objects have been in the quarantine for long enough.

        Raises:
            SourceError: The store cannot be listed.
        """
        return sum(map(len, self._quarantine.expired().values()))

    def delete_expired(self, stopped: Callable[[], bool] = lambda: False) -> int:
        """Delete for good what has been in the quarantine for long enough; return how many objects that were.

        Without this cluster's mark in the store, nothing is deleted.

        Args:
            stopped: Checked before the objects of each day.

        Raises:
            ConflictError: The store has the mark of another cluster.
            SourceError: The store refuses it.
            UnreachableError: ZooKeeper does not answer.
        """
        days = self._quarantine.expired()
        if not days or not self._owner.check():
            return 0
        deleted = 0
        for day in sorted(days):
            if stopped():
                break
            deleted += self._quarantine.delete(day)
            logger.info("deleted for good from the quarantine: what came on %s", day)
        return deleted

    def _judge_folder(
        self, table: TableName, folder: str, files: Sequence[FileInfo], segments: Collection[str]
    ) -> TableLeftovers:
        recorded = unrecorded = 0
        leftovers = []
        for file in files:
            name = file.uri.removeprefix(f"{folder}/")
            segment = _segment_of(table, name)
            if segment is None:
                continue
            age_s = self._clock.now() - file.modified_ms / 1000
            is_old = age_s >= self._min_age_s
            kind = self._kind(table, segment, file.uri) if is_old and name not in segments else None
            if kind is not None:
                leftovers.append(Leftover(table, segment, kind, file.uri, file.size_bytes, age_s))
            if segment in segments or (is_old and kind is None):
                recorded += 1
            else:
                unrecorded += 1
        return TableLeftovers(table, tuple(leftovers), recorded, unrecorded)

    def _has_unrecorded(self, folder: TableLeftovers) -> bool:
        """Whether something is to be taken away because its segment has no record."""
        return any(
            leftover.kind is LeftoverKind.SEGMENT_GONE
            or read_record(self._store, folder.table, leftover.segment) is None
            for leftover in folder.leftovers
        )

    def _kind(self, table: TableName, segment: str, uri: str) -> LeftoverKind | None:
        """Return why an object is not needed; None if it may be needed."""
        self._rate.wait()
        record = read_record(self._store, table, segment)
        is_temporary = not uri.endswith(f"/{segment}")
        if record is None:
            if read_record(self._store, table.as_type(TableType.OFFLINE), segment) is not None:
                return None
            return LeftoverKind.TEMPORARY if is_temporary else LeftoverKind.SEGMENT_GONE
        return LeftoverKind.TEMPORARY if is_temporary and self._points_elsewhere(record, uri) else None

    def _points_elsewhere(self, record: SegmentRecord, uri: str) -> bool:
        if record.consuming or not record.url:
            return False
        return self._layout.object_of(record.url) not in (None, uri)


def sweep_tables(sweeper: Sweeper, tables: Iterable[TableName], stopped: Callable[[], bool]) -> int:
    """Take leftovers away table by table, then delete what has been in the quarantine for long enough.

    A failure of one table does not stop the others.

    Args:
        sweeper: Finds leftovers and takes them away.
        tables: Names with type.
        stopped: Checked before each leftover.

    Returns:
        How many objects were taken away.
    """
    swept = 0
    for table in tables:
        try:
            for found in sweeper.find([table]):
                for _ in sweeper.remove(found, stopped):
                    swept += 1
        except Exception as error:  # a boundary: one table's folder must not affect other tables
            logger.error(
                "the folder of %s in the store was not swept: %s",
                table,
                error,
                exc_info=not isinstance(error, PinotPluginError),
            )
    try:
        sweeper.delete_expired(stopped)
    except PinotPluginError as error:
        logger.error("what is over in the quarantine was not deleted: %s", error)
    return swept


def _segment_of(table: TableName, name: str) -> str | None:
    """Return the segment that servers uploaded an object in a table's folder for; None if they did not."""
    temporary = _TEMPORARY.fullmatch(name)
    segment = temporary[1] if temporary else name
    parsed = SegmentName.parse(segment)
    if parsed is None or parsed.table != table or not _COMMITTED.fullmatch(segment):
        return None
    return segment
