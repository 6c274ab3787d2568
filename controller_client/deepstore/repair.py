"""Gives a segment a good copy in the deep store: fetched from a server, uploaded, recorded in its metadata.

The order of the steps makes it safe to kill a repair at any point, and to run two at the same time. A tar is
uploaded to where Pinot itself would put it. The metadata is changed last, with compare-and-set on the version
that the whole repair is based on: if anybody has changed the segment meanwhile, this fails and the repair
starts over. A tar that an interrupted repair has left in its place is reused if its content can be verified.
A copy that cannot be verified is never uploaded; the next server is tried.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from controller_client.common.folders import scratch_folder
from controller_client.common.names import TableName
from controller_client.common.text import WordEnum
from controller_client.deepstore.fetching import SegmentFetcher
from controller_client.deepstore.judge import Judgement, Replica
from controller_client.deepstore.layout import StoreLayout, shown
from controller_client.deepstore.listing import OpenStore
from controller_client.deepstore.remote_copies import Fetched, Refused
from controller_client.deepstore.segment_record import SegmentRecord, read_record
from controller_client.errors import (
    ConflictError,
    DataError,
    NotFoundError,
    OutcomeUnknownError,
    PinotPluginError,
)
from controller_client.segment_tar import Proof
from controller_client.zookeeper import PropertyStore, segment_path

__all__ = ["RepairOutcome", "Repaired", "Repairer"]

logger = logging.getLogger(__name__)

_ATTEMPTS = 4


class RepairOutcome(WordEnum):
    """The result for a segment."""

    REPAIRED = "repaired"
    WOULD_REPAIR = "would_repair"
    GOOD = "good_already"
    """Its copy is good: somebody else has repaired it."""
    GONE = "gone"
    """It was deleted meanwhile."""
    NO_SOURCE = "no_source"
    """No server has a good copy."""
    FAILED = "failed"


@dataclass(frozen=True)
class Repaired:
    """What was done for a segment.

    Attributes:
        table: Name with type.
        segment: Name.
        outcome: The result.
        source: Where the copy came from: a server's name, or ``store`` if a tar was already in its place.
        url: The download URL, without possible secrets.
        size_bytes: Size of the copy.
        refused: Places that were skipped, and why.
        message: Why it failed.
        proof: How the copy was verified.
    """

    table: TableName
    segment: str
    outcome: RepairOutcome
    source: str | None = None
    url: str | None = None
    size_bytes: int | None = None
    refused: tuple[Refused, ...] = ()
    message: str | None = None
    proof: Proof | None = None


class Repairer:
    """Repairs segments; threads may share it.

    Args:
        store: Property store, connected.
        layout: The deep store.
        fetcher: Fetches tars.
        work_dir: Folder on this machine with space for one tar per thread.
        open_store: Returns the file store for a URI; default: that of the fetcher.
        folder_sizes: Whether the cluster records the size of the unpacked folder for commits by servers.
    """

    def __init__(
        self,
        store: PropertyStore,
        layout: StoreLayout,
        fetcher: SegmentFetcher,
        work_dir: Path,
        *,
        open_store: OpenStore | None = None,
        folder_sizes: bool = False,
    ) -> None:
        self._store = store
        self._folder_sizes = folder_sizes
        self._layout = layout
        self._fetcher = fetcher
        self._work_dir = work_dir
        self._open = open_store or fetcher.open_store

    def repair(self, judged: Judgement, *, dry_run: bool = False) -> Repaired:
        """Repair one segment; failures are part of the result.

        Args:
            judged: The segment as an audit found it; its metadata is read again.
            dry_run: Only report where the copy would come from.
        """
        table, segment = judged.record.table, judged.record.segment
        try:
            if dry_run:
                return self._plan(judged)
            with scratch_folder("repair-", self._work_dir) as folder:
                return self._repair(table, segment, judged.replicas, folder / "segment.tar.gz")
        except NotFoundError as error:
            return Repaired(table, segment, RepairOutcome.NO_SOURCE, message=error.message)
        except (PinotPluginError, OSError) as error:
            message = error.message if isinstance(error, PinotPluginError) else str(error)
            return Repaired(table, segment, RepairOutcome.FAILED, message=message)

    def _plan(self, judged: Judgement) -> Repaired:
        record = judged.record
        sources = [replica.server for replica in judged.replicas if replica.is_good(record) is not False]
        refused = tuple(
            Refused(replica.server, f"it is {replica.state}, crc {replica.crc}")
            for replica in judged.replicas
            if replica.server not in sources
        )
        outcome = RepairOutcome.WOULD_REPAIR if sources else RepairOutcome.NO_SOURCE
        return Repaired(
            record.table,
            record.segment,
            outcome,
            source=", ".join(sources) or None,
            url=self._layout.url(record.table, record.segment),
            refused=refused,
            message=None if sources else "no server has a good copy",
        )

    def _repair(self, table: TableName, segment: str, replicas: Sequence[Replica], tar: Path) -> Repaired:
        uploaded = False
        unknown: OutcomeUnknownError | None = None
        for _ in range(_ATTEMPTS):
            record = self._read(table, segment)
            if record is None or record.consuming:
                if uploaded and record is None:
                    # Pinot has deleted the segment's files of that time, but not what was uploaded since.
                    self._open(self._layout.root).delete(self._layout.object_uri(table, segment))
                return Repaired(table, segment, RepairOutcome.GONE)
            _check_comparable(record)
            target = self._layout.object_uri(table, segment)
            recorded = here = self._layout.object_of(record.url) if record.url else None
            copy = self._good_copy_at(record, here, tar)
            if copy and record.tar_bytes in (None, copy.size_bytes):
                return _repaired(record, RepairOutcome.GOOD, copy, record.url)
            if not copy and here != target:
                copy = self._good_copy_at(record, target, tar)
                here = target
            if not copy:
                copy = self._fetcher.fetch_from_replicas(record, replicas, tar)
                if not self._unchanged(record):
                    continue
                uploaded = True
                if not self._uploaded(record, tar, target, copy):
                    continue
                here = target
            url = record.url if here == recorded else self._layout.url(table, segment)
            try:
                self._record_copy(record, url, copy.size_bytes)
            except (ConflictError, NotFoundError, OutcomeUnknownError) as error:
                logger.info("reading %s of %s again: %s", segment, table, error.message)
                unknown = error if isinstance(error, OutcomeUnknownError) else unknown
                continue
            return _repaired(record, RepairOutcome.REPAIRED, copy, url)
        raise unknown or ConflictError(
            f"somebody else keeps changing {segment} of {table}",
            remedy="run the repair again",
        )

    def _good_copy_at(self, record: SegmentRecord, uri: str | None, tar: Path) -> Fetched | None:
        """Return the tar at a location in the store, if it is this segment."""
        size_bytes = self._open(uri).size_bytes(uri) if uri is not None else None
        if uri is None or not size_bytes:
            return None
        try:
            return self._fetcher.from_store(record, uri, size_bytes, tar)
        except NotFoundError as error:
            logger.warning("%s", error.message)
            return None

    def _read(self, table: TableName, segment: str) -> SegmentRecord | None:
        return read_record(self._store, table, segment, folder_sizes=self._folder_sizes)

    def _record_copy(self, record: SegmentRecord, url: str, size_bytes: int) -> None:
        path = segment_path(record.table, record.segment)
        znode = self._store.get(path)
        if znode is None:
            raise NotFoundError(f"{record.segment} of {record.table} was deleted meanwhile", where=path)
        # Of another version, nothing is written.
        self._store.set(path, record.with_copy(znode.record, url, size_bytes), record.version)

    def _unchanged(self, record: SegmentRecord) -> bool:
        now = self._read(record.table, record.segment)
        return now is not None and now.version == record.version

    def _uploaded(self, record: SegmentRecord, tar: Path, uri: str, copy: Fetched) -> bool:
        """Upload a tar; return False if a push of the segment has written there meanwhile."""
        store = self._open(uri)
        store.upload(tar, uri)
        size_bytes = store.size_bytes(uri)
        if size_bytes == copy.size_bytes:
            return True
        if not self._unchanged(record):
            return False
        raise DataError(
            f"{copy.size_bytes:,} bytes were uploaded to {uri}, but the store has {size_bytes or 0:,}",
            expected="the tar as it was uploaded",
            where=uri,
            remedy="check whether anything else writes there, and run the repair again",
        )


def _repaired(record: SegmentRecord, outcome: RepairOutcome, copy: Fetched, url: str) -> Repaired:
    return Repaired(
        record.table,
        record.segment,
        outcome,
        copy.place,
        shown(url),
        copy.size_bytes,
        copy.refused,
        proof=copy.proof,
    )


def _check_comparable(record: SegmentRecord) -> None:
    if record.encrypted:
        raise DataError(
            f"{record.segment} of {record.table} is encrypted in the store, but servers' copies are not",
            remedy="push the segment again, so that the controller encrypts it",
        )
    if record.crc is None:
        raise DataError(
            f"the metadata of {record.segment} of {record.table} has no crc",
            expected="a crc to compare copies with",
            remedy="push the segment again",
        )
