"""Gives a segment a good copy in the deep store: fetched from a server, uploaded, entered in its metadata.

The order makes it safe to be killed anywhere and to run twice at once. What is uploaded lies where Pinot
itself would put it. The metadata is changed last, by compare-and-set on the version that the whole repair is
based on; it fails when anybody has changed the segment meanwhile, and the repair begins again. A tar that an
interrupted repair has left at its place is taken as it is, when its content is proven. A copy that is not
proven is never uploaded: the next server is asked.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from controller_client.common.names import TableName
from controller_client.common.word_enum import WordEnum
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

__all__ = ["Outcome", "Repaired", "Repairer"]

logger = logging.getLogger(__name__)

_LOOKS = 4


class Outcome(WordEnum):
    """What became of a segment."""

    REPAIRED = "repaired"
    WOULD_REPAIR = "would_repair"
    GOOD = "good_already"
    """Its copy is right: somebody else has repaired it."""
    GONE = "gone"
    """It was deleted meanwhile."""
    NO_SOURCE = "no_source"
    """No server has it right."""
    FAILED = "failed"


@dataclass(frozen=True)
class Repaired:
    """What was done for a segment.

    Attributes:
        table: Name with type.
        segment: Name.
        outcome: What became of it.
        source: Where the copy came from: a server's name, or ``store`` where a tar lay at its place already.
        url: The download url, without what may be secret in it.
        size_bytes: Size of the copy.
        refused: Places that were passed over, and why.
        message: Why it failed.
        proof: Why the copy is taken for the segment.
    """

    table: TableName
    segment: str
    outcome: Outcome
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
        work_dir: Folder of this machine with space for a tar for each thread.
        open_store: Gives the file store for a URI; default: as the fetcher has it.
        folder_sizes: Whether the cluster's records have the sizes of folders where servers commit.
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
        """Repair one segment; what goes wrong is in the answer.

        Args:
            judged: The segment as an audit saw it; its metadata is read again.
            dry_run: Only say from where the copy would come.
        """
        table, segment = judged.record.table, judged.record.segment
        try:
            if dry_run:
                return self._plan(judged)
            with tempfile.TemporaryDirectory(prefix="repair-", dir=self._work_dir) as folder:
                return self._repair(table, segment, judged.replicas, Path(folder) / "segment.tar.gz")
        except NotFoundError as error:
            return Repaired(table, segment, Outcome.NO_SOURCE, message=error.message)
        except (PinotPluginError, OSError) as error:
            message = error.message if isinstance(error, PinotPluginError) else str(error)
            return Repaired(table, segment, Outcome.FAILED, message=message)

    def _plan(self, judged: Judgement) -> Repaired:
        record = judged.record
        sources = [each.server for each in judged.replicas if each.is_good(record) is not False]
        refused = tuple(
            Refused(each.server, f"it is {each.state}, crc {each.crc}")
            for each in judged.replicas
            if each.server not in sources
        )
        outcome = Outcome.WOULD_REPAIR if sources else Outcome.NO_SOURCE
        return Repaired(
            record.table,
            record.segment,
            outcome,
            source=", ".join(sources) or None,
            url=self._layout.url(record.table, record.segment),
            refused=refused,
            message=None if sources else "no server has it right",
        )

    def _repair(self, table: TableName, segment: str, replicas: Sequence[Replica], tar: Path) -> Repaired:
        uploaded = False
        for _ in range(_LOOKS):
            record = self._read(table, segment)
            if record is None or record.consuming:
                if uploaded and record is None:
                    # Pinot has deleted what it knew of; it will not come back for what was put there since.
                    self._open(self._layout.root).delete(self._layout.object_uri(table, segment))
                return Repaired(table, segment, Outcome.GONE)
            _check_comparable(record)
            target = self._layout.object_uri(table, segment)
            entered = here = self._layout.object_of(record.url) if record.url else None
            found = self._stored_right(record, here, tar)
            if found and record.tar_bytes in (None, found.size_bytes):
                return _repaired(record, Outcome.GOOD, found, record.url)
            if not found and here != target:
                found = self._stored_right(record, target, tar)
                here = target
            if not found:
                found = self._fetcher.fetch_from_replicas(record, replicas, tar)
                if not self._unchanged(record):
                    continue
                uploaded = True
                if not self._uploaded(record, tar, target, found):
                    continue
                here = target
            url = record.url if here == entered else self._layout.url(table, segment)
            try:
                self._store.set(
                    segment_path(table, segment), record.with_copy(url, found.size_bytes), record.version
                )
            except (ConflictError, NotFoundError, OutcomeUnknownError) as error:
                logger.info("%s of %s is read again: %s", segment, table, error.message)
                continue
            return _repaired(record, Outcome.REPAIRED, found, url)
        raise ConflictError(
            f"{segment} of {table} is changed by somebody else again and again",
            remedy="run the repair again",
        )

    def _stored_right(self, record: SegmentRecord, uri: str | None, tar: Path) -> Fetched | None:
        """Return the tar at a place of the store, if it is this segment."""
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

    def _unchanged(self, record: SegmentRecord) -> bool:
        now = self._read(record.table, record.segment)
        return now is not None and now.version == record.version

    def _uploaded(self, record: SegmentRecord, tar: Path, uri: str, found: Fetched) -> bool:
        """Upload a tar; False: a push of the segment has written there meanwhile."""
        store = self._open(uri)
        store.upload(tar, uri)
        size_bytes = store.size_bytes(uri)
        if size_bytes == found.size_bytes:
            return True
        if not self._unchanged(record):
            return False
        raise DataError(
            f"of {found.size_bytes:,} bytes uploaded to {uri}, the store has {size_bytes or 0:,}",
            expected="the tar as it was uploaded",
            where=uri,
            remedy="run the repair again; does anybody else write there?",
        )


def _repaired(record: SegmentRecord, outcome: Outcome, found: Fetched, url: str) -> Repaired:
    return Repaired(
        record.table,
        record.segment,
        outcome,
        found.place,
        shown(url),
        found.size_bytes,
        found.refused,
        proof=found.proof,
    )


def _check_comparable(record: SegmentRecord) -> None:
    if record.encrypted:
        raise DataError(
            f"{record.segment} of {record.table} is encrypted in the store, servers' copies are not",
            remedy="push the segment again: the controller encrypts it",
        )
    if record.crc is None:
        raise DataError(
            f"the metadata of {record.segment} of {record.table} has no crc",
            expected="a crc to compare copies with",
            remedy="push the segment again",
        )
