"""Finds what commits and late uploads have left in the store and nobody needs, and deletes it.

Two kinds, both in the folders of tables that there are, both named after a segment that servers commit:

- a *temporary name*, under which a commit uploads: ``<segment>.tmp.<uuid>``, in Pinot 0.11
  ``<segment><uuid>``. Nobody needs it when the segment is gone, or is committed and has a url that leads
  elsewhere. While it has no url the server may still move it, and the repair comes first.
- an *object of a segment that is gone*: its upload ended after Pinot had deleted the segment.

The OFFLINE table of the same name has the same folder, and may have been pushed what the realtime one
committed, under the same names: what either has a record of is needed.

Segments' records are read after the store was listed, and once more before each deletion. A segment that is
gone does not come back: its name has the time at which it was begun. A table without any record, of which a
realtime table has at least those that it consumes, is left alone.
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
    """Why nobody needs it."""

    TEMPORARY = "temporary_name"
    SEGMENT_GONE = "segment_gone"


@dataclass(frozen=True)
class Leftover:
    """An object that nobody needs.

    Attributes:
        table: The realtime table.
        segment: The segment that it was uploaded for.
        kind: Why nobody needs it.
        uri: Where it is, not percent-encoded.
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
    """Looks at the folders of tables in the store.

    Args:
        store: Property store, connected.
        layout: The deep store.
        open_store: Gives the file store for a URI.
        rate: Each look at a record counts as one request.
        clock: Time.
        min_age_s: What was written later is left alone.
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
            raise ConfigError(f"an age of {min_age_s} s", expected="0 or more")
        self._store = store
        self._layout = layout
        self._open = open_store
        self._rate = rate
        self._clock = clock
        self._min_age_s = min_age_s

    def find(self, tables: Sequence[TableName]) -> Iterator[Leftover]:
        """Return what nobody needs in the folders of the realtime ones among some tables.

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
            # Read to its end before the first record is.
            files = list(self._open(folder).list(folder))
            self._rate.wait()
            segments = set(self._store.children(f"/SEGMENTS/{table}"))
            if not segments:
                logger.warning("%s has no segment at all: its folder in the store is left alone", table)
                continue
            for file in files:
                name = file.uri.removeprefix(f"{folder}/")
                found = None if name in segments else self._judge(table, name, file)
                if found is not None:
                    yield found

    def delete(
        self, leftovers: Sequence[Leftover], stopped: Callable[[], bool] = lambda: False
    ) -> Iterator[Leftover]:
        """Delete what is still needed by nobody, and return each that was.

        Args:
            leftovers: What :meth:`find` returned.
            stopped: Asked before each.

        Raises:
            SourceError: The store refuses.
            UnreachableError: ZooKeeper does not answer.
        """
        for each in leftovers:
            if stopped():
                return
            if self._kind(each.table, each.segment, each.uri) is not each.kind:
                continue
            self._open(each.uri).delete(each.uri)
            logger.info("%s was deleted: %s", each.uri, each.kind.words)
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
        """Why nobody needs an object; None: somebody may."""
        self._rate.wait()
        record = read_record(self._store, table, segment)
        is_temporary = not uri.endswith(f"/{segment}")
        if record is None:
            if read_record(self._store, table.as_type(TableType.OFFLINE), segment) is not None:
                return None
            return LeftoverKind.TEMPORARY if is_temporary else LeftoverKind.SEGMENT_GONE
        return LeftoverKind.TEMPORARY if is_temporary and self._leads_elsewhere(record, uri) else None

    def _leads_elsewhere(self, record: SegmentRecord, uri: str) -> bool:
        if record.consuming or not record.url:
            return False
        return self._layout.object_of(record.url) not in (None, uri)


def sweep_tables(sweeper: Sweeper, tables: Iterable[TableName], stopped: Callable[[], bool]) -> int:
    """Delete what nobody needs, table by table; one that fails does not keep the others from it.

    Args:
        sweeper: Finds and deletes.
        tables: Names with type.
        stopped: Asked before each deletion.

    Returns:
        How many objects were deleted.
    """
    deleted = 0
    for table in tables:
        try:
            for _ in sweeper.delete(list(sweeper.find([table])), stopped):
                deleted += 1
        except Exception as error:  # a border: what one table's folder holds is nobody else's matter
            logger.error(
                "the folder of %s in the store was not swept: %s",
                table,
                error,
                exc_info=not isinstance(error, PinotPluginError),
            )
    return deleted
