"""Who paused single partitions of a table, when and why.

::

    /<cluster>/PROPERTYSTORE/PINOT_PLUGINS/consumption/<table>/partitions
        simpleFields.format     version of the record
        mapFields.<partition>   by, since (epoch milliseconds), reason, comment

``pausedPartitions`` in the ideal state is authoritative; this record only explains it.
"""

from __future__ import annotations

from collections.abc import Collection

from controller_client.common.formats import Format, with_unknown
from controller_client.common.names import TableName
from controller_client.consumption.state.pause_record import Holder, plugin_path
from controller_client.zookeeper import PropertyStore, ZNRecord

__all__ = ["PARTITIONS_FORMAT", "note_partitions", "read_partition_holders"]

PARTITIONS_FORMAT = Format("the record of who paused partitions")


def read_partition_holders(store: PropertyStore, table: TableName) -> dict[int, Holder]:
    """Return who paused partitions, by partition, including partitions that are no longer paused.

    Raises:
        DataError: The record lacks a field, or has one of another form.
        FormatVersionError: A later release wrote the record.
        UnreachableError: ZooKeeper does not answer.
    """
    path = plugin_path(table, "partitions")
    found = store.get(path)
    if found is None:
        return {}
    with PARTITIONS_FORMAT.reading(found.record.simple_fields, path):
        return {
            int(partition): Holder.from_fields(fields)
            for partition, fields in found.record.map_fields.items()
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
