"""Audits the copies of all segments: metadata in ZooKeeper, external view, servers, and the store."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from controller_client.common.folders import scratch_folder
from controller_client.common.names import TableName
from controller_client.deepstore.judge import Fault, Judgement, Replica, Stored, judge
from controller_client.deepstore.layout import StoreLayout
from controller_client.deepstore.listing import OpenStore, StoreListing, deep_stores
from controller_client.deepstore.policy import StorePolicy, policy_of
from controller_client.deepstore.rate import RateLimit
from controller_client.deepstore.segment_record import SegmentRecord, read_records
from controller_client.deepstore.servers import ServerAdmins
from controller_client.errors import ConfigError, NotAppliedError
from controller_client.helix.table_config import read_table_config
from controller_client.rest.capabilities import Capability
from controller_client.rest.client import RestClient
from controller_client.segment_tar import TarLimits
from controller_client.zookeeper import PropertyStore, segments_path

__all__ = ["AuditOptions", "Auditor", "TableAudit"]

logger = logging.getLogger(__name__)

_COMPARED = frozenset({Fault.OBJECT_GONE, Fault.WRONG_SIZE, Fault.WRONG_CRC, Fault.UNPROVEN, Fault.NOT_BUILT})
"""Faults found by comparing the store or servers with metadata that was read earlier."""


@dataclass(frozen=True)
class AuditOptions:
    """What an audit checks.

    Attributes:
        min_copies: Good copies that a segment should have, on servers and in the store together.
        read_tars: Read each stored tar to verify its content; takes as long as reading the store.
        limits: Limits for reading a tar.
    """

    min_copies: int = 2
    read_tars: bool = False
    limits: TarLimits = field(default_factory=TarLimits)

    def __post_init__(self) -> None:
        if self.min_copies < 1:
            raise ConfigError(f"the number of copies is {self.min_copies}", expected="at least 1")


@dataclass(frozen=True)
class TableAudit:
    """The audit of one table.

    Attributes:
        table: Name with type.
        segments: Committed segments that were checked.
        consuming: Segments that are not committed yet.
        committing: Those of them that are fully consumed and are being built.
        policy: Where copies were required.
        faulty: Segments with findings, in the order of their names.
        silent: Servers that did not report their checksums, and why.
    """

    table: TableName
    segments: int
    consuming: int
    faulty: tuple[Judgement, ...]
    silent: tuple[tuple[str, str], ...]
    committing: int = 0
    policy: StorePolicy = StorePolicy.STORE


class Auditor:
    """Audits tables, one after another.

    Nothing is changed. Segments that are deleted or changed during the audit are omitted rather than reported
    as faulty.

    Args:
        client: Client of the cluster.
        store: Its property store, connected.
        layout: Its deep store.
        servers: Client of the servers.
        rate: Limits requests to ZooKeeper (a page of 500 records is one request), controller and servers.
        options: What to check.
        open_store: Returns the file store for a URI.
    """

    def __init__(
        self,
        client: RestClient,
        store: PropertyStore,
        layout: StoreLayout,
        servers: ServerAdmins,
        rate: RateLimit,
        options: AuditOptions | None = None,
        *,
        open_store: OpenStore | None = None,
    ) -> None:
        self.options = options or AuditOptions()
        self.layout = layout
        self._client = client
        self._store = store
        self._servers = servers
        self._rate = rate
        self._open = open_store or deep_stores()

    def tables(self) -> list[TableName]:
        """Return the names, with type, of all tables."""
        return list(self._client.tables.list_typed())

    def audit(self, table: TableName, on_segments: Callable[[int], None] = lambda _count: None) -> TableAudit:
        """Audit a table.

        Args:
            table: Name with type.
            on_segments: Called in this thread with the number of segments judged since the last call.

        Raises:
            NotFoundError: There is no such table.
            NotAppliedError: The controller or ZooKeeper does not answer.
            ConfigError: The table's policy is unknown.
        """
        policy = self._policy(table)
        judged, silent = self._judge(table, None, policy)
        segments = consuming = committing = 0
        faulty = []
        for judgement in judged:
            segments += not judgement.record.consuming
            consuming += judgement.record.consuming
            committing += judgement.record.committing
            if judgement.findings:
                faulty.append(judgement)
            on_segments(1)
        return TableAudit(
            table,
            segments,
            consuming,
            faulty=tuple(self._still_faulty(table, faulty)),
            silent=tuple(sorted(silent.items())),
            committing=committing,
            policy=policy,
        )

    def judge(
        self, table: TableName, segments: Sequence[str] | None = None
    ) -> tuple[list[Judgement], dict[str, str]]:
        """Judge segments of a table (all, unless some are named); also return servers that did not report.

        Errors as for :meth:`audit`.
        """
        judged, silent = self._judge(table, segments, self._policy(table))
        return list(judged), silent

    def _policy(self, table: TableName) -> StorePolicy:
        self._rate.wait()
        return policy_of(read_table_config(self._store, table))

    def _judge(
        self,
        table: TableName,
        segments: Sequence[str] | None,
        policy: StorePolicy,
    ) -> tuple[Iterator[Judgement], dict[str, str]]:
        records = self._records(table, segments)
        self._rate.wait()
        view = self._client.tables.external_view(table)
        crcs, silent = self._crcs(table, view)
        return self._judged(records, view, crcs, policy), silent

    def _judged(
        self,
        records: list[SegmentRecord],
        view: dict[str, dict[str, str]],
        crcs: dict[str, dict[str, int]],
        policy: StorePolicy,
    ) -> Iterator[Judgement]:
        """Judge segments, and forget each record; the list is empty afterwards."""
        listing = StoreListing(self.layout, self._open)
        records.reverse()
        with scratch_folder("deep-store-audit-") as folder:
            while records:
                record = records.pop()
                replicas = tuple(
                    Replica(server, state, crcs.get(server, {}).get(record.segment))
                    for server, state in sorted(view.get(record.segment, {}).items())
                )
                stored = self._stored(record, listing, folder)
                yield judge(record, replicas, stored, self.options.min_copies, policy)

    def _stored(self, record: SegmentRecord, listing: StoreListing, folder: Path) -> Stored | None:
        if record.consuming or not record.url:
            return None
        stored = listing.inspect(record.url)
        if self.options.read_tars and not record.encrypted:
            stored = listing.read(record, stored, folder / "segment.tar.gz", self.options.limits)
        return stored

    def _crcs(
        self, table: TableName, view: dict[str, dict[str, str]]
    ) -> tuple[dict[str, dict[str, int]], dict[str, str]]:
        crcs: dict[str, dict[str, int]] = {}
        silent: dict[str, str] = {}
        online = {server for states in view.values() for server, state in states.items() if state == "ONLINE"}
        for server in sorted(online):
            try:
                crcs[server] = self._servers.crcs(server, table)
            except NotAppliedError as error:
                logger.warning("%s did not report its checksums for %s: %s", server, table, error.message)
                silent[server] = error.message
        return crcs, silent

    def _records(self, table: TableName, segments: Sequence[str] | None) -> list[SegmentRecord]:
        folder_sizes = self._client.cluster.capabilities().has(Capability.FOLDER_SIZES)
        return list(read_records(self._store, table, self._rate, segments, folder_sizes=folder_sizes))

    def _still_faulty(self, table: TableName, faulty: Sequence[Judgement]) -> Iterable[Judgement]:
        """Omit segments that were deleted, or whose metadata has changed since it was read."""
        if not faulty:
            return
        self._rate.wait()
        present = set(self._store.children(segments_path(table)))
        compared = [
            judgement.record.segment
            for judgement in faulty
            if any(finding.fault in _COMPARED for finding in judgement.findings)
        ]
        now = {record.segment: record.version for record in self._records(table, compared)}
        for judgement in faulty:
            segment = judgement.record.segment
            if segment in present and now.get(segment, judgement.record.version) == judgement.record.version:
                yield judgement
