"""Taking an upsert table away: the table, its schema, the topic of its updates, and what is kept of it.

The table's config, which names the topic, is noted beside what is kept, so that a drop that was killed is
finished by the next one, also when the table has gone already.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from controller_client.common.formats import Format
from controller_client.common.names import TableName, TableType
from controller_client.errors import ConflictError, NotFoundError
from controller_client.helix import read_record_at, write_own_record
from controller_client.models import TableConfig
from controller_client.rest.client import RestClient
from controller_client.stream.config import StreamConfig
from controller_client.upsert.record import LOCK, coordinator_path
from controller_client.upsert.settings import UpsertSettings, is_upsert
from controller_client.upsert.updates import delete_topic, topic_exists
from controller_client.zookeeper import PropertyStore, TableLock, ZNRecord, process_name

__all__ = ["DROP_FORMAT", "Drop", "note_drop", "noted_drop", "plan_drop"]

DROP_FORMAT = Format("the note of a table that is being dropped")

_CONFIG = "config"
_NOTE = "drop"


@dataclass(frozen=True)
class Drop:
    """What is there of an upsert table, and how it goes.

    Attributes:
        table: Name with type.
        config: Its config.
        steps: What goes, in words, and what takes it away; in their order.
    """

    table: TableName
    config: TableConfig
    steps: tuple[tuple[str, Callable[[], None]], ...]

    @property
    def what(self) -> list[str]:
        """What goes, in words."""
        return [what for what, _ in self.steps]

    def run(self, store: PropertyStore, said: Callable[[str], None]) -> None:
        """Take all of it away, while no key coordinator can begin.

        Args:
            store: The cluster's property store.
            said: Called with each thing that has gone.

        Raises:
            LockHeldError: A key coordinator runs.
            SourceError: Kafka does not answer: run it again.
            OutcomeUnknownError: A reply was lost: run it again.
        """
        with TableLock(store, self.table, LOCK, process_name()) as lock:
            lock.acquire(0.0)
            note_drop(store, self.table, self.config)
            for what, take_away in self.steps:
                take_away()
                said(what)


def plan_drop(client: RestClient, store: PropertyStore, name: str, *, keep_schema: bool = False) -> Drop:
    """Look up what is there of an upsert table; nothing is changed.

    Args:
        client: Client of the cluster.
        store: Its property store.
        name: The table, with or without type.
        keep_schema: Leave its schema.

    Raises:
        NotFoundError: Nothing is there of such a table.
        ConflictError: It is no upsert table.
        SourceError: Kafka does not answer about the topic of updates.
        FormatVersionError: A later release has begun to drop it.
    """
    parsed = TableName.parse(name)
    table = TableName.of(parsed.raw if parsed else name, TableType.REALTIME)
    present = client.tables.get(table) if client.tables.exists(table) else None
    if present is not None and not is_upsert(present):
        raise ConflictError(
            f"{table} is not an upsert table",
            where=client.config.url,
            remedy=f"delete it by 'pinotctl table delete {table}'",
        )
    config = present or noted_drop(store, table)
    if config is None:
        raise NotFoundError(f"there is no upsert table {table}", where=client.config.url)
    steps: list[tuple[str, Callable[[], None]]] = []
    if present:
        segments = len(client.segments.list(table, exclude_replaced=False))
        steps.append((f"table {table} with {segments} segments", lambda: client.tables.delete(table)))
    schema = None if keep_schema else _schema_of(client, config)
    if schema:
        steps.append((f"schema {schema}", lambda: client.schemas.delete(schema)))
    stream, topic = StreamConfig.of(config), UpsertSettings.of(config).updates_topic
    if topic_exists(stream, topic):
        steps.append((f"topic {topic}", lambda: delete_topic(stream, topic)))
    # Last: the note is in it.
    records = _folder(store, table)
    steps.append((f"records {records}", lambda: _forget(store, records)))
    return Drop(table, config, tuple(steps))


def _schema_of(client: RestClient, config: TableConfig) -> str | None:
    """The table's schema, where no other table has it."""
    there = set(client.schemas.list())
    name = next((each for each in config.schema_names if each in there), None)
    others = set(client.tables.list_typed())
    others.discard(config.name_with_type)
    if name and any(each.raw == name or name in client.tables.get(each).schema_names for each in others):
        return None
    return name


def note_drop(store: PropertyStore, table: TableName, config: TableConfig) -> None:
    """Note the config of a table (with type) that a drop begins to take away."""
    note = ZNRecord(_NOTE, DROP_FORMAT.stamp({_CONFIG: json.dumps(config.to_json())}))
    write_own_record(store, _note_path(store, table), note)


def noted_drop(store: PropertyStore, table: TableName) -> TableConfig | None:
    """Return the config of a table that a drop has begun to take away; None where none has.

    Raises:
        FormatVersionError: A later release has begun it.
    """
    path = _note_path(store, table)
    note = read_record_at(store, path)
    if note is None:
        return None
    DROP_FORMAT.check(note.simple_fields, path)
    return TableConfig.from_json(json.loads(note.simple_fields[_CONFIG]))


def _forget(store: PropertyStore, folder: str) -> None:
    """Delete what is kept of a table, the note last: while that is there, a drop can be finished."""
    for name in store.connection.children(folder) or ():
        if name != _NOTE:
            with suppress(NotFoundError):
                store.connection.delete(f"{folder}/{name}", recursive=True)
    store.connection.delete(folder, recursive=True)


def _note_path(store: PropertyStore, table: TableName) -> str:
    return f"{_folder(store, table)}/{_NOTE}"


def _folder(store: PropertyStore, table: TableName) -> str:
    return coordinator_path(store, table).rpartition("/")[0]
