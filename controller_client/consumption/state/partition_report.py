"""What Python-hosted servers report about paused partitions.

::

    /<cluster>/PINOT_PLUGINS/servers/<instance>
        simpleFields.format             version of the record
        simpleFields.session            the Helix session of the server that wrote it
        mapFields.<table>.<partition>   the consuming segment that stays at its start offset

A report is valid while the instance's live record has the same session. A stock server that takes over the
name is therefore not mistaken for the hosted one, and a server that is down counts as what it last was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller_client.common.formats import Format
from controller_client.helix import live_session, read_record_at, write_own_record
from controller_client.zookeeper import PropertyStore, ZNRecord

__all__ = ["REPORT_FORMAT", "PartitionReport", "read_report", "read_reports", "write_report"]

REPORT_FORMAT = Format("a server's report of paused partitions")

_SESSION = "session"


@dataclass(frozen=True)
class PartitionReport:
    """One server's report.

    Attributes:
        instance: The server's name in Helix.
        session: Its Helix session.
        paused: Table (with type) -> partition group -> consuming segment that stays at its start offset.
    """

    instance: str
    session: str
    paused: Mapping[str, Mapping[int, str]] = field(default_factory=dict)

    def to_record(self) -> ZNRecord:
        """Return the stored form."""
        return ZNRecord(
            self.instance,
            simple_fields=REPORT_FORMAT.stamp({_SESSION: self.session}),
            map_fields={
                table: {str(partition): segment for partition, segment in partitions.items()}
                for table, partitions in self.paused.items()
            },
        )

    @classmethod
    def from_record(cls, record: ZNRecord, where: str) -> PartitionReport:
        """Read what :meth:`to_record` wrote.

        Raises:
            FormatVersionError: A later release wrote it.
        """
        with REPORT_FORMAT.reading(record.simple_fields, where):
            paused = {
                table: {int(partition): segment for partition, segment in partitions.items()}
                for table, partitions in record.map_fields.items()
            }
            return cls(record.id, record.simple_fields.get(_SESSION, ""), paused)


def write_report(store: PropertyStore, report: PartitionReport) -> None:
    """Write a server's report; the server is its only writer.

    Raises:
        UnreachableError: ZooKeeper does not answer.
        OutcomeUnknownError: The reply was lost; write it again.
    """
    write_own_record(store, _path(store, report.instance), report.to_record())


def read_report(store: PropertyStore, instance: str) -> PartitionReport | None:
    """Return the last report of a server, whether it is valid or not.

    Raises:
        FormatVersionError: A later release wrote it.
        UnreachableError: ZooKeeper does not answer.
    """
    path = _path(store, instance)
    record = read_record_at(store, path)
    return PartitionReport.from_record(record, path) if record else None


def read_reports(store: PropertyStore) -> dict[str, PartitionReport]:
    """Return the valid reports by instance: of servers that are down or still in the session of the report.

    Errors as for :func:`read_report`: skipping a server's report would release partitions that it has paused.
    """
    folder = _path(store, "").rstrip("/")
    found = {}
    for instance in store.connection.children(folder) or ():
        report = read_report(store, instance)
        if report and live_session(store, instance) in {None, report.session}:
            found[instance] = report
    return found


def _path(store: PropertyStore, instance: str) -> str:
    return f"/{store.cluster_name}/PINOT_PLUGINS/servers/{instance}"
