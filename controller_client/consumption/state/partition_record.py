"""Paused partitions: who paused them, and what servers report about them.

::

    /<cluster>/PROPERTYSTORE/PINOT_PLUGINS/consumption/<table>/partitions
        simpleFields.format     version of the record
        mapFields.<partition>   by, since (epoch milliseconds), reason, comment

    /<cluster>/PINOT_PLUGINS/servers/<instance>
        simpleFields.format             version of the record
        simpleFields.session            the Helix session of the server that wrote it
        mapFields.<table>.<partition>   the consuming segment that stays at its start offset

``pausedPartitions`` in the ideal state is authoritative; the first record only explains it.

A report is valid while the instance's live record has the same session. A stock server that takes over the
name is therefore not mistaken for the hosted one, and a server that is down counts as what it last was.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from controller_client.common.formats import Format, with_unknown
from controller_client.common.names import SegmentName, TableName
from controller_client.consumption.state.pause_record import Holder, plugin_path
from controller_client.helix import live_session, read_record_at, write_own_record
from controller_client.helix.ideal_state import IdealState
from controller_client.helix.stream_segments import newest_by_partition
from controller_client.zookeeper import PropertyStore, ZNRecord

__all__ = [
    "PARTITIONS_FORMAT",
    "REPORT_FORMAT",
    "PartitionPauses",
    "PartitionReport",
    "note_partitions",
    "read_partition_holders",
    "read_partition_pauses",
    "read_report",
    "read_reports",
    "write_report",
]


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
    reports = {}
    for instance in store.connection.children(folder) or ():
        report = read_report(store, instance)
        if report and live_session(store, instance) in {None, report.session}:
            reports[instance] = report
    return reports


def _path(store: PropertyStore, instance: str) -> str:
    return f"/{store.cluster_name}/PINOT_PLUGINS/servers/{instance}"


@dataclass(frozen=True)
class PartitionPauses:
    """Which partitions of a table are paused.

    Attributes:
        wanted: Partitions that should be paused.
        paused_on: Those that certainly are: partition -> its servers. An empty tuple: the partition has no
            consuming segment, so no server has to stop.
        consuming_on: Those that are not yet paused: partition -> the servers that still consume it.
    """

    wanted: frozenset[int]
    paused_on: Mapping[int, tuple[str, ...]]
    consuming_on: Mapping[int, tuple[str, ...]]


def read_partition_pauses(store: PropertyStore, table: TableName, ideal: IdealState) -> PartitionPauses:
    """Return which partitions of a table are paused now, given its ideal state."""
    reports = read_reports(store)
    consuming = newest_by_partition(ideal.consuming)
    paused_on, consuming_on = {}, {}
    for partition in sorted(ideal.flags.paused_partitions):
        segment = consuming.get(partition)
        instances = ideal.consuming[segment.name] if segment else ()
        late = tuple(name for name in instances if not _is_paused(reports, name, table, segment))
        if late:
            consuming_on[partition] = late
        else:
            paused_on[partition] = instances
    return PartitionPauses(ideal.flags.paused_partitions, paused_on, consuming_on)


def _is_paused(
    reports: Mapping[str, PartitionReport], instance: str, table: TableName, segment: SegmentName | None
) -> bool:
    report = reports.get(instance)
    return bool(report and segment and report.paused.get(table, {}).get(segment.partition) == segment.name)


PARTITIONS_FORMAT = Format("the record of who paused partitions")


def read_partition_holders(store: PropertyStore, table: TableName) -> dict[int, Holder]:
    """Return who paused partitions, by partition, including partitions that are no longer paused.

    Raises:
        DataError: The record lacks a field, or has one of another form.
        FormatVersionError: A later release wrote the record.
        UnreachableError: ZooKeeper does not answer.
    """
    path = plugin_path(table, "partitions")
    znode = store.get(path)
    if znode is None:
        return {}
    with PARTITIONS_FORMAT.reading(znode.record.simple_fields, path):
        return {
            int(partition): Holder.from_fields(fields)
            for partition, fields in znode.record.map_fields.items()
        }


def note_partitions(
    store: PropertyStore,
    table: TableName,
    paused: Collection[int],
    holder: Holder,
    partitions: Collection[int],
) -> None:
    """Record who pauses partitions.

    Args:
        store: The cluster's property store.
        table: Name with type.
        paused: Partitions that are paused now: their entries are kept, and those of others are deleted.
        holder: Who pauses.
        partitions: The partitions to pause.

    Raises:
        FormatVersionError: A later release wrote the present record.
        UnreachableError: ZooKeeper does not answer.
        OutcomeUnknownError: A reply was lost, and ZooKeeper cannot be read to find out.
    """
    path = plugin_path(table, "partitions")
    noted = {str(partition): holder.to_fields() for partition in sorted(partitions)}

    def changed(present: ZNRecord | None) -> ZNRecord:
        old = present or ZNRecord("partitions")
        with PARTITIONS_FORMAT.reading(old.simple_fields, path):
            kept = {name: fields for name, fields in old.map_fields.items() if int(name) in paused}
        simple = with_unknown(PARTITIONS_FORMAT.stamp({}), old.simple_fields, (PARTITIONS_FORMAT.field,))
        return ZNRecord("partitions", simple, old.list_fields, {**noted, **kept})

    store.change(path, changed)
