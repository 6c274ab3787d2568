"""Who paused single partitions of a table, when and why.

::

    /<cluster>/PROPERTYSTORE/PINOT_PLUGINS/consumption/<table>/partitions
        mapFields.<partition>   by, since (epoch milliseconds), reason, comment

``pausedPartitions`` of the ideal state is the truth; this only explains it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from controller_client.common.names import TableName
from controller_client.consumption.pause_record import Holder, plugin_path
from controller_client.zookeeper import PropertyStore, ZNRecord

__all__ = ["note_partitions", "read_partition_holders"]


def read_partition_holders(store: PropertyStore, table: TableName) -> dict[int, Holder]:
    """Return who paused partitions, by partition, those among them that are not paused any more."""
    found = store.get(plugin_path(table, "partitions"))
    fields: Mapping[str, Mapping[str, str]] = found.record.map_fields if found else {}
    return {int(partition): Holder.from_fields(each) for partition, each in fields.items()}


def note_partitions(
    store: PropertyStore,
    table: TableName,
    paused: Collection[int],
    holder: Holder,
    partitions: Collection[int],
) -> None:
    """Write down who pauses partitions.

    Args:
        store: The cluster's property store.
        table: Name with type.
        paused: Partitions that are paused now: their entries stay, and those of others are deleted.
        holder: Who pauses.
        partitions: What they pause.

    Raises:
        UnreachableError: ZooKeeper does not answer.
        OutcomeUnknownError: A reply was lost and ZooKeeper cannot be asked.
    """
    noted = {str(partition): holder.to_fields() for partition in sorted(partitions)}

    def changed(present: ZNRecord | None) -> ZNRecord:
        known = present.map_fields if present else {}
        kept = {name: fields for name, fields in known.items() if int(name) in paused}
        return ZNRecord("partitions", map_fields={**noted, **kept})

    store.change(plugin_path(table, "partitions"), changed)
