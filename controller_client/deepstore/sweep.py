"""Finds and deletes what commits and late uploads have left in the store and nothing needs any more.

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
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from controller_client.clock import Clock
from controller_client.common.names import SegmentName, TableName, TableType
from controller_client.common.word_enum import WordEnum
from controller_client.deepstore.layout import StoreLayout
from controller_client.deepstore.listing import OpenStore
from controller_client.deepstore.rate import RateLimit
from controller_client.deepstore.segment_record import SegmentRecord, read_record
from controller_client.errors import ConfigError, PinotPluginError
from controller_client.filestore import FileInfo, scheme_of
from controller_client.filestore.local import local_path
from controller_client.zookeeper import PropertyStore

__all__ = ["Leftover", "LeftoverKind", "Sweeper", "sweep_tables"]

logger = logging.getLogger(__name__)

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


class Sweeper:
    """Finds and deletes leftovers in the folders of tables in the store.

    Args:
        store: Property store, connected.
        layout: The deep store.
        open_store: Returns the file store for a URI.
        rate: Limits requests; reading a record counts as one request.
        clock: The clock.
        min_age_s: Objects that are younger are kept.
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
    ) -> None:
        if min_age_s < 0:
            raise ConfigError(f"the minimum age is {min_age_s} s", expected="0 or more")
        self._store = store
        self._layout = layout
        self._open = open_store
        self._rate = rate
        self._clock = clock
        self._min_age_s = min_age_s

    def find(self, tables: Sequence[TableName]) -> Iterator[Leftover]:
        """Yield the leftovers in the folders of the realtime tables among some tables.

        Raises:
            ConfigError: There is no file store for the deep store's scheme.
            SourceError: It cannot be listed.
            UnreachableError: ZooKeeper does not answer.
        """
        for table in tables:
            if table.type is not TableType.REALTIME:
                continue
            folder = f"{self._layout.root}/{table.raw}"
            if scheme_of(folder) == "file" and not local_path(folder).is_dir():
                continue
            # The complete listing must be read before the first record.
            files = list(self._open(folder).list(folder))
            self._rate.wait()
            segments = set(self._store.children(f"/SEGMENTS/{table}"))
            if not segments:
                logger.warning("%s has no segments at all: its folder in the store is skipped", table)
                continue
            for file in files:
                name = file.uri.removeprefix(f"{folder}/")
                found = None if name in segments else self._judge(table, name, file)
                if found is not None:
                    yield found

    def delete(
        self, leftovers: Sequence[Leftover], stopped: Callable[[], bool] = lambda: False
    ) -> Iterator[Leftover]:
        """Delete the leftovers that are still not needed, and yield each one that was deleted.

        Args:
            leftovers: What :meth:`find` returned.
            stopped: Checked before each deletion.

        Raises:
            SourceError: The store refuses the deletion.
            UnreachableError: ZooKeeper does not answer.
        """
        for each in leftovers:
            if stopped():
                return
            if self._kind(each.table, each.segment, each.uri) is not each.kind:
                continue
            self._open(each.uri).delete(each.uri)
            logger.info("deleted %s: %s", each.uri, each.kind.words)
            yield each

    def _judge(self, table: TableName, name: str, file: FileInfo) -> Leftover | None:
        age_s = self._clock.now() - file.modified_ms / 1000
        if age_s < self._min_age_s:
            return None
        temporary = _TEMPORARY.fullmatch(name)
        segment = temporary[1] if temporary else name
        parsed = SegmentName.parse(segment)
        if parsed is None or parsed.table != table or not _COMMITTED.fullmatch(segment):
            return None
        kind = self._kind(table, segment, file.uri)
        if kind is None:
            return None
        return Leftover(table, segment, kind, file.uri, file.size_bytes, age_s)

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
    """Delete leftovers table by table; a failure of one does not stop the others.

    Args:
        sweeper: Finds and deletes leftovers.
        tables: Names with type.
        stopped: Checked before each deletion.

    Returns:
        How many objects were deleted.
    """
    deleted = 0
    for table in tables:
        try:
            for _ in sweeper.delete(list(sweeper.find([table])), stopped):
                deleted += 1
        except Exception as error:  # a boundary: one table's folder must not affect other tables
            logger.error(
                "the folder of %s in the store was not swept: %s",
                table,
                error,
                exc_info=not isinstance(error, PinotPluginError),
            )
    return deleted
