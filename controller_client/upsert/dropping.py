"""Drops an upsert table: the table, its schema, its updates topic and its records in ZooKeeper.

The table's config, which names the topic, is saved beside the records, so that a drop that was killed can be
finished by the next one even if the table itself is already gone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from controller_client.common.formats import Format
from controller_client.common.names import TableName, TableType
from controller_client.errors import ConflictError, NotFoundError, SourceError
from controller_client.helix import read_record_at, write_own_record
from controller_client.models import TableConfig
from controller_client.rest.client import RestClient
from controller_client.stream.config import StreamConfig
from controller_client.stream.offsets import client_settings, topic_partitions
from controller_client.upsert.record import LOCK, coordinator_path
from controller_client.upsert.settings import UpsertSettings, is_upsert
from controller_client.zookeeper import PropertyStore, TableLock, ZNRecord, process_name

__all__ = ["DROP_FORMAT", "Drop", "delete_topic", "note_drop", "noted_drop", "plan_drop", "topic_exists"]


_TIMEOUT_S = 30.0


def topic_exists(stream: StreamConfig, topic: str) -> bool:
    """Whether a topic exists in a table's Kafka cluster.

    Raises:
        SourceError: Kafka does not answer.
    """
    with _admin_of(stream, topic) as admin:
        return bool(topic_partitions(admin, topic, _TIMEOUT_S))


def delete_topic(stream: StreamConfig, topic: str) -> None:
    """Delete a topic of a table's Kafka cluster, if it exists.

    Raises:
        SourceError: Kafka does not answer, or refuses the request.
    """
    from confluent_kafka import KafkaError, KafkaException

    with _admin_of(stream, topic) as admin:
        try:
            admin.delete_topics([topic], operation_timeout=_TIMEOUT_S)[topic].result(_TIMEOUT_S * 2)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise


@contextmanager
def _admin_of(stream: StreamConfig, topic: str) -> Iterator[Any]:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    try:
        yield AdminClient({**client_settings(stream.values), "log_level": 0})
    except KafkaException as error:
        raise SourceError(
            f"the request to Kafka for the topic {topic} failed: {error.args[0].str()}",
            where=topic,
            remedy="check that Kafka is running and that this machine can reach it, then try again",
        ) from error


DROP_FORMAT = Format("the note of a table that is being dropped")

_CONFIG = "config"

_NOTE = "drop"


@dataclass(frozen=True)
class Drop:
    """The existing parts of an upsert table and how to delete them.

    Attributes:
        table: Name with type.
        config: Its config.
        steps: For each part, in order, its description and the function that deletes it.
    """

    table: TableName
    config: TableConfig
    steps: tuple[tuple[str, Callable[[], None]], ...]

    @property
    def what(self) -> list[str]:
        """Descriptions of the parts to delete."""
        return [what for what, _ in self.steps]

    def run(self, store: PropertyStore, log: Callable[[str], None]) -> None:
        """Delete all parts while keeping key coordinators from starting.

        Args:
            store: The cluster's property store.
            log: Called with each deleted part.

        Raises:
            LockHeldError: A key coordinator is running.
            SourceError: Kafka does not answer: run it again.
            OutcomeUnknownError: A reply was lost: run it again.
        """
        with TableLock(store, self.table, LOCK, process_name()) as lock:
            lock.acquire(0.0)
            note_drop(store, self.table, self.config)
            for what, delete in self.steps:
                delete()
                log(what)


def plan_drop(client: RestClient, store: PropertyStore, name: str, *, keep_schema: bool = False) -> Drop:
    """Find the existing parts of an upsert table; changes nothing.

    Args:
        client: Client of the cluster.
        store: Its property store.
        name: The table, with or without type.
        keep_schema: Keep its schema.

    Raises:
        NotFoundError: No part of such a table exists.
        ConflictError: It is not an upsert table.
        SourceError: Kafka does not answer a request about the updates topic.
        FormatVersionError: A later release has started to drop it.
    """
    parsed = TableName.parse(name)
    table = TableName.of(parsed.raw if parsed else name, TableType.REALTIME)
    present = client.tables.in_use(table) if client.tables.exists(table) else None
    if present is not None and not is_upsert(present):
        raise ConflictError(
            f"{table} is not an upsert table",
            where=client.config.url,
            remedy=f"delete it with 'pinotctl table delete {table}'",
        )
    config = present or noted_drop(store, table)
    if config is None:
        raise NotFoundError(f"the upsert table {table} does not exist", where=client.config.url)
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
    # Last, because it contains the note.
    records = _folder(store, table)
    steps.append((f"records {records}", lambda: _forget(store, records)))
    return Drop(table, config, tuple(steps))


def _schema_of(client: RestClient, config: TableConfig) -> str | None:
    """Return the table's schema unless another table uses it."""
    existing = set(client.schemas.list())
    name = next((each for each in config.schema_names if each in existing), None)
    if name and any(
        table.raw == name or name in other.schema_names
        for table, other in client.tables.all_in_use()
        if table != config.name_with_type
    ):
        return None
    return name


def note_drop(store: PropertyStore, table: TableName, config: TableConfig) -> None:
    """Save the config of a table (name with type) before dropping it."""
    note = ZNRecord(_NOTE, DROP_FORMAT.stamp({_CONFIG: json.dumps(config.to_json())}))
    write_own_record(store, _note_path(store, table), note)


def noted_drop(store: PropertyStore, table: TableName) -> TableConfig | None:
    """Return the saved config of a table whose drop has started; None if none has.

    Raises:
        FormatVersionError: A later release started it.
    """
    path = _note_path(store, table)
    note = read_record_at(store, path)
    if note is None:
        return None
    with DROP_FORMAT.reading(note.simple_fields, path):
        return TableConfig.from_json(json.loads(note.simple_fields[_CONFIG]))


def _forget(store: PropertyStore, folder: str) -> None:
    """Delete a table's records, the note last: as long as it exists, a drop can be finished."""
    for name in store.connection.children(folder) or ():
        if name != _NOTE:
            with suppress(NotFoundError):
                store.connection.delete(f"{folder}/{name}", recursive=True)
    store.connection.delete(folder, recursive=True)


def _note_path(store: PropertyStore, table: TableName) -> str:
    return f"{_folder(store, table)}/{_NOTE}"


def _folder(store: PropertyStore, table: TableName) -> str:
    return coordinator_path(store, table).rpartition("/")[0]
