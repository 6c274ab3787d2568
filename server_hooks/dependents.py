"""Finds the tables that depend on a hook of a server or broker; used when a hook cannot start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from controller_client.common.names import TableName, TableType
from controller_client.errors import NotFoundError
from controller_client.helix.ideal_state import read_ideal_state
from controller_client.helix.paused_tables import read_paused_tables
from controller_client.helix.table_config import TABLES_PATH, read_table_config
from controller_client.models import ServerTags
from controller_client.upsert.settings import is_upsert
from controller_client.zookeeper import PropertyStore

__all__ = ["paused_partitions", "upsert_tables"]


def paused_partitions(store: PropertyStore, instance: str) -> tuple[str, ...]:
    """Describe the paused partitions of the tables of which a server has segments.

    Raises:
        UnreachableError: ZooKeeper does not answer.
        DataError: A table's ideal state is invalid.
    """
    descriptions = []
    for table in sorted(read_paused_tables(store).names):
        with suppress(NotFoundError):  # the table was dropped while it was paused
            state = read_ideal_state(store, table)
            paused = sorted(state.flags.paused_partitions)
            if paused and any(instance in replicas for replicas in state.segments.values()):
                many = "s" if len(paused) > 1 else ""
                descriptions.append(
                    f"the paused partition{many} {', '.join(map(str, paused))} of table {table.raw}"
                )
    return tuple(descriptions)


def upsert_tables(store: PropertyStore, instance: str | None = None) -> tuple[str, ...]:
    """Describe the upsert tables of which a server has segments or may get some.

    Args:
        store: The cluster's property store.
        instance: The server; None for all upsert tables.

    Raises:
        UnreachableError: ZooKeeper does not answer.
        ConfigError: A table's config cannot be read.
    """
    tags = set() if instance is None else _tags(store, instance)
    descriptions = []
    for table in _realtime_tables(store):
        config = read_table_config(store, table)
        if config is None or not is_upsert(config):
            continue
        if instance is None or tags & ServerTags.of(config).all or _serves(store, table, instance):
            descriptions.append(f"the upsert table {table.raw}")
    return tuple(descriptions)


def _tags(store: PropertyStore, instance: str) -> set[str]:
    try:
        return set(store.instance_tags(instance))
    except NotFoundError:
        return {f"DefaultTenant_{TableType.REALTIME}"}  # the tag that Pinot gives to a new server


def _serves(store: PropertyStore, table: TableName, instance: str) -> bool:
    try:
        segments = read_ideal_state(store, table).segments
    except NotFoundError:
        return False
    return any(instance in replicas for replicas in segments.values())


def _realtime_tables(store: PropertyStore) -> Iterator[TableName]:
    for name in store.children(TABLES_PATH):
        table = TableName(name)
        if table.type is TableType.REALTIME:
            yield table
