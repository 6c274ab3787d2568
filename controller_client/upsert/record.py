"""The records of an upsert table's servers and key coordinator in ZooKeeper, and its low-water mark.

::

    /<cluster>/PINOT_PLUGINS/upsert/<table with type>/
        servers/<instance>        ServerRecord: written by the server, once per version
        coordinator               CoordinatorRecord: written by the key coordinator

Both have their format version in ``simpleFields.format``. Each has one writer, which rewrites it completely:
what a process of another release reported earlier is obsolete.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from controller_client.common.formats import Format, log_skipped
from controller_client.common.names import TableName
from controller_client.errors import FormatVersionError, NotFoundError
from controller_client.helix import read_record_at, read_records_at, write_own_record
from controller_client.upsert.columns import NIL
from controller_client.zookeeper import PropertyStore, ZNRecord

__all__ = [
    "COORDINATOR_FORMAT",
    "LOCK",
    "SERVER_FORMAT",
    "CoordinatorRecord",
    "PartitionProgress",
    "ServerRecord",
    "coordinator_path",
    "forget_server",
    "low_water_mark",
    "read_coordinator",
    "read_server",
    "read_servers",
    "server_path",
    "write_coordinator",
    "write_server",
]

logger = logging.getLogger(__name__)

SERVER_FORMAT = Format("a server's record of an upsert table")
COORDINATOR_FORMAT = Format("the key coordinator's record")

LOCK = "UpsertCoordinator"
"""Takes the place of a task type in the path of the key coordinator's lock."""

_SESSION, _MARK, _AT = "session", "mark", "atMs"
_BY_OPTION, _CREATED = "cutsByOption", "tableCreated"
_SEGMENT, _INDEXED, _APPLIED = "segment", "indexed", "applied"


@dataclass(frozen=True)
class PartitionProgress:
    """The progress of one partition of a table on one server.

    Attributes:
        segment: The consuming segment; None if this server does not consume the partition.
        indexed: The next offset of the input topic to index.
        applied: The version up to which all events have been applied to this partition's rows.
    """

    segment: str | None
    indexed: int
    applied: int


@dataclass(frozen=True)
class ServerRecord:
    """The progress of a server on a table.

    Attributes:
        instance: The server's name in Helix.
        session: Its Helix session; the record counts only while that session is live.
        mark: The newest version complete on this server: every event up to it is applied, and every row in it
            that belongs on this server is indexed; :data:`NIL` before the first.
        at_ms: When the coordinator completed that version, milliseconds since 1970.
        partitions: Progress by partition of the input topic.
        cuts_by_option: Whether the server expects a query's version as an option rather than a condition.
        created: Identifies the table among those of the same name: the creation order of its config in
            ZooKeeper.
    """

    instance: str
    session: str
    mark: int
    at_ms: int
    partitions: Mapping[int, PartitionProgress] = field(default_factory=dict)
    cuts_by_option: bool = False
    created: int = field(kw_only=True)

    def to_record(self) -> ZNRecord:
        """Return the stored form."""
        return ZNRecord(
            self.instance,
            simple_fields=SERVER_FORMAT.stamp(
                {
                    _SESSION: self.session,
                    _CREATED: str(self.created),
                    _MARK: str(self.mark),
                    _AT: str(self.at_ms),
                    **({_BY_OPTION: "true"} if self.cuts_by_option else {}),
                }
            ),
            map_fields={
                str(partition): {
                    _SEGMENT: progress.segment or "",
                    _INDEXED: str(progress.indexed),
                    _APPLIED: str(progress.applied),
                }
                for partition, progress in self.partitions.items()
            },
        )

    @classmethod
    def from_record(cls, record: ZNRecord, where: str) -> ServerRecord:
        """Read the stored form.

        Raises:
            DataError: It lacks a field, or has one of another form.
            FormatVersionError: A later release wrote it.
        """
        simple = record.simple_fields
        with SERVER_FORMAT.reading(simple, where):
            return cls(
                record.id,
                simple.get(_SESSION, ""),
                int(simple.get(_MARK, NIL)),
                int(simple.get(_AT, 0)),
                {
                    int(partition): PartitionProgress(
                        values.get(_SEGMENT) or None, int(values[_INDEXED]), int(values[_APPLIED])
                    )
                    for partition, values in record.map_fields.items()
                },
                simple.get(_BY_OPTION) == "true",
                created=int(simple.get(_CREATED, NIL)),
            )


@dataclass(frozen=True)
class CoordinatorRecord:
    """The progress of the key coordinator.

    Attributes:
        generation: Increases with each rebuild; each generation has its own checkpoint.
        base: The version of the generation's first batch; greater than all previous versions.
        version: The newest version whose end was sent.
        at_ms: When that was, milliseconds since 1970.
        keys: Keys in its state.
        details: More information for users, e.g. rows per second and unreadable records.
    """

    generation: int
    base: int
    version: int = NIL
    at_ms: int = 0
    keys: int = 0
    details: Mapping[str, str] = field(default_factory=dict)

    def to_record(self) -> ZNRecord:
        """Return the stored form."""
        return ZNRecord(
            "coordinator",
            simple_fields=COORDINATOR_FORMAT.stamp(
                {
                    "generation": str(self.generation),
                    "base": str(self.base),
                    "version": str(self.version),
                    _AT: str(self.at_ms),
                    "keys": str(self.keys),
                }
            ),
            map_fields={"details": dict(self.details)},
        )

    @classmethod
    def from_record(cls, record: ZNRecord, where: str) -> CoordinatorRecord:
        """Read the stored form.

        Raises:
            DataError: It lacks a field, or has one of another form.
            FormatVersionError: A later release wrote it.
        """
        simple = record.simple_fields
        with COORDINATOR_FORMAT.reading(simple, where):
            return cls(
                int(simple["generation"]),
                int(simple["base"]),
                int(simple["version"]),
                int(simple[_AT]),
                int(simple["keys"]),
                dict(record.map_fields.get("details", {})),
            )


def low_water_mark(marks: Mapping[str, int]) -> int:
    """Return the mark of a table.

    Args:
        marks: The mark of every server that brokers may send a query of the table to, or :data:`NIL` if it
            has not reported one in its current session. A server that does not report holds the mark back.

    Returns:
        The newest version complete on all of them; :data:`NIL` for none.
    """
    return min(marks.values(), default=NIL)


def server_path(store: PropertyStore, table: TableName, instance: str) -> str:
    """Return the path of a server's record of a table (name with type)."""
    return f"{_folder(store, table)}/servers/{instance}"


def coordinator_path(store: PropertyStore, table: TableName) -> str:
    """Return the path of the key coordinator's record of a table (name with type)."""
    return f"{_folder(store, table)}/coordinator"


def read_servers(store: PropertyStore, table: TableName) -> dict[str, ServerRecord]:
    """Return all servers' records, including those of servers that left and of earlier tables of that name.

    Compare their sessions and :attr:`ServerRecord.created`. A record written by a later release is logged and
    skipped: its server counts as not having reported, and holds the table's mark back.
    """
    names = store.connection.children(f"{_folder(store, table)}/servers") or ()
    paths = [server_path(store, table, name) for name in names]
    records: dict[str, ServerRecord] = {}
    for path, record in zip(paths, read_records_at(store, paths), strict=True):
        if record is None:
            continue
        try:
            records[record.id] = ServerRecord.from_record(record, path)
        except FormatVersionError as error:
            log_skipped(logger, error)
    return records


def read_server(store: PropertyStore, table: TableName, instance: str) -> ServerRecord | None:
    """Return one server's record, see :func:`read_servers`; a later release's record is an error.

    Raises:
        FormatVersionError: A later release wrote it.
        UnreachableError: ZooKeeper does not answer.
    """
    path = server_path(store, table, instance)
    record = read_record_at(store, path)
    return None if record is None else ServerRecord.from_record(record, path)


def write_server(store: PropertyStore, table: TableName, record: ServerRecord) -> None:
    """Write a server's record; the server is its only writer.

    Raises:
        UnreachableError: ZooKeeper does not answer.
        OutcomeUnknownError: The reply was lost; write it again.
    """
    write_own_record(store, server_path(store, table, record.instance), record.to_record())


def forget_server(
    store: PropertyStore, table: TableName, instance: str, *, before: int | None = None
) -> None:
    """Delete a server's record, if it exists.

    Args:
        store: The cluster's property store.
        table: Name with type.
        instance: The server.
        before: Delete only a record older than the znode with this creation order, i.e. of an earlier table
            of the same name.

    Raises:
        UnreachableError: ZooKeeper does not answer.
    """
    path = server_path(store, table, instance)
    made = store.connection.creation_order(path)
    if made is not None and (before is None or made < before):
        with suppress(NotFoundError):
            store.connection.delete(path)


def read_coordinator(store: PropertyStore, table: TableName) -> CoordinatorRecord | None:
    """Return the key coordinator's record; None before its first start.

    Raises:
        FormatVersionError: A later release wrote it.
        UnreachableError: ZooKeeper does not answer.
    """
    path = coordinator_path(store, table)
    record = read_record_at(store, path)
    return None if record is None else CoordinatorRecord.from_record(record, path)


def write_coordinator(store: PropertyStore, table: TableName, record: CoordinatorRecord) -> None:
    """Write the key coordinator's record; raises what :func:`write_server` raises."""
    write_own_record(store, coordinator_path(store, table), record.to_record())


def _folder(store: PropertyStore, table: TableName) -> str:
    return f"/{store.cluster_name}/PINOT_PLUGINS/upsert/{table}"
