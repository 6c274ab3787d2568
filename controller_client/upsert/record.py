"""What servers and key coordinator of an upsert table report in ZooKeeper, and the table's low-water mark.

::

    /<cluster>/PINOT_PLUGINS/upsert/<table with type>/
        servers/<instance>        ServerRecord: written by the server, once a version
        coordinator               CoordinatorRecord: written by the key coordinator

Both have the version of their format in ``simpleFields.format``. Each has one writer, which writes all of it:
what a process of another release has reported before is not so any more.
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
"""In the place of a task type in the path of the lock that the key coordinator of a table holds."""

_SESSION, _MARK, _AT = "session", "mark", "atMs"
_BY_OPTION, _CREATED = "cutsByOption", "tableCreated"
_SEGMENT, _INDEXED, _APPLIED = "segment", "indexed", "applied"


@dataclass(frozen=True)
class PartitionProgress:
    """How far one partition of a table is on one server.

    Attributes:
        segment: The consuming segment; None where this server consumes none of the partition.
        indexed: The offset of the input topic that it will index next.
        applied: The version up to which all events are applied to this partition's rows, here.
    """

    segment: str | None
    indexed: int
    applied: int


@dataclass(frozen=True)
class ServerRecord:
    """How far a server is with a table.

    Attributes:
        instance: The server's name in Helix.
        session: Its Helix session; the record counts while that is the live one.
        mark: The newest version that is complete on this server: every event up to it is applied, and every
            row that it names and that this server is to have is indexed; :data:`NIL` before the first.
        at_ms: When that version was complete at the coordinator, milliseconds since 1970.
        partitions: By partition of the input topic.
        cuts_by_option: Whether the version of a query is to be an option of it, and not a condition.
        created: Which table of the name it is about: the creation order of the table's config in ZooKeeper.
    """

    instance: str
    session: str
    mark: int
    at_ms: int
    partitions: Mapping[int, PartitionProgress] = field(default_factory=dict)
    cuts_by_option: bool = False
    created: int = field(kw_only=True)

    def to_record(self) -> ZNRecord:
        """As it is stored."""
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
        """As :meth:`to_record` made it.

        Raises:
            FormatVersionError: A later release wrote it.
        """
        simple = record.simple_fields
        SERVER_FORMAT.check(simple, where)
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
    """Where the key coordinator is.

    Attributes:
        generation: Grows with each rebuild; a generation has a checkpoint of its own.
        base: The version of the generation's first batch; more than all versions before it.
        version: The newest version whose end is sent.
        at_ms: When that was, milliseconds since 1970.
        keys: Keys in its state.
        details: More for people: rows a second, records that were not understood, and so on.
    """

    generation: int
    base: int
    version: int = NIL
    at_ms: int = 0
    keys: int = 0
    details: Mapping[str, str] = field(default_factory=dict)

    def to_record(self) -> ZNRecord:
        """As it is stored."""
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
        """As :meth:`to_record` made it.

        Raises:
            FormatVersionError: A later release wrote it.
        """
        simple = record.simple_fields
        COORDINATOR_FORMAT.check(simple, where)
        return cls(
            int(simple["generation"]),
            int(simple["base"]),
            int(simple["version"]),
            int(simple[_AT]),
            int(simple["keys"]),
            dict(record.map_fields.get("details", {})),
        )


def low_water_mark(marks: Mapping[str, int]) -> int:
    """The mark of a table.

    Args:
        marks: Of every server that brokers may send a query of the table to: its mark, or :data:`NIL` where
            it has not reported one in its present session. A server that does not answer holds the mark.

    Returns:
        The version up to which every one of them is complete; :data:`NIL` for none.
    """
    return min(marks.values(), default=NIL)


def server_path(store: PropertyStore, table: TableName, instance: str) -> str:
    """Where a server's record of a table (with type) is."""
    return f"{_folder(store, table)}/servers/{instance}"


def coordinator_path(store: PropertyStore, table: TableName) -> str:
    """Where the key coordinator's record of a table (with type) is."""
    return f"{_folder(store, table)}/coordinator"


def read_servers(store: PropertyStore, table: TableName) -> dict[str, ServerRecord]:
    """All records of servers, also of those that are gone, or are about a former table of the name.

    Compare their sessions, and :attr:`ServerRecord.created`. A record that a later release wrote is logged
    and left out: its server counts as one that has reported nothing, and holds the table's mark.
    """
    names = store.connection.children(f"{_folder(store, table)}/servers") or ()
    paths = [server_path(store, table, name) for name in names]
    found: dict[str, ServerRecord] = {}
    for path, record in zip(paths, read_records_at(store, paths), strict=True):
        if record is None:
            continue
        try:
            found[record.id] = ServerRecord.from_record(record, path)
        except FormatVersionError as error:
            log_skipped(logger, error)
    return found


def read_server(store: PropertyStore, table: TableName, instance: str) -> ServerRecord | None:
    """The record of one server, as of :func:`read_servers`, one of a later release excepted.

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
    """Delete a server's record; none is no error.

    Args:
        store: The cluster's property store.
        table: Name with type.
        instance: The server.
        before: Only a record that is older than this znode (its creation order): that of a table of the same
            name.

    Raises:
        UnreachableError: ZooKeeper does not answer.
    """
    path = server_path(store, table, instance)
    made = store.connection.creation_order(path)
    if made is not None and (before is None or made < before):
        with suppress(NotFoundError):
            store.connection.delete(path)


def read_coordinator(store: PropertyStore, table: TableName) -> CoordinatorRecord | None:
    """The key coordinator's record; None before its first start.

    Raises:
        FormatVersionError: A later release wrote it.
        UnreachableError: ZooKeeper does not answer.
    """
    path = coordinator_path(store, table)
    record = read_record_at(store, path)
    return None if record is None else CoordinatorRecord.from_record(record, path)


def write_coordinator(store: PropertyStore, table: TableName, record: CoordinatorRecord) -> None:
    """Write the key coordinator's record; errors as of :func:`write_server`."""
    write_own_record(store, coordinator_path(store, table), record.to_record())


def _folder(store: PropertyStore, table: TableName) -> str:
    return f"/{store.cluster_name}/PINOT_PLUGINS/upsert/{table}"
