"""Registering an upsert table: its own columns, its settings, then schema and table."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from controller_client.common.names import TableName, TableType
from controller_client.errors import (
    ConfigError,
    ConflictError,
    NotFoundError,
    OutcomeUnknownError,
    PinotPluginError,
    UnsupportedError,
)
from controller_client.helix.failed_hooks import read_failed_hooks
from controller_client.models import Schema, TableConfig
from controller_client.rest.client import RestClient
from controller_client.stream.config import StreamConfig
from controller_client.stream.offsets import StreamUnknownError, open_offsets
from controller_client.upsert.columns import NIL, SYSTEM_COLUMNS
from controller_client.upsert.requirements import check_requirements, retention_ms
from controller_client.upsert.settings import UpsertSettings, is_upsert
from controller_client.zookeeper import PropertyStore

__all__ = [
    "UpsertTable",
    "check_creatable",
    "check_hooks",
    "create_upsert_table",
    "plan_upsert_table",
    "server_tags",
    "servers_without_hooks",
]


@dataclass(frozen=True)
class UpsertTable:
    """What is to be registered.

    Attributes:
        schema: With the columns of an upsert table.
        table: With their indexes and the settings.
        warnings: What is allowed and may surprise.
    """

    schema: Schema
    table: TableConfig
    warnings: tuple[str, ...] = ()


def plan_upsert_table(
    schema: Schema,
    table: TableConfig,
    *,
    primary_key: Sequence[str],
    timestamp_column: str,
    updates_topic: str | None = None,
    order: str | None = None,
) -> UpsertTable:
    """Make an upsert table's schema and config of a realtime table's; nothing is sent.

    Args:
        schema: The users' columns.
        table: A realtime table with a Kafka stream, and with a retention.
        primary_key: Columns whose values make a key; a later row replaces the one with the same.
        timestamp_column: Milliseconds by which rows of a key are put into order.
        updates_topic: Kafka topic of the updates; default ``<table>_REALTIME.updates``.
        order: ``module:function`` that ranks rows instead of the timestamp.

    Raises:
        ConfigError: The table cannot be one; all faults are in it.
    """
    settings = UpsertSettings(
        primary_key=tuple(primary_key),
        timestamp_column=timestamp_column,
        updates_topic=updates_topic or f"{table.name_with_type}.updates",
        retention_ms=retention_ms(table),
        order=order,
    )
    warnings = check_requirements(schema, table, settings)
    if settings.updates_topic == StreamConfig.of(table).topic:
        raise ConfigError(
            f"{settings.updates_topic} is the input topic of {table.name_with_type}",
            expected="a topic of its own for the updates",
            where=table.name_with_type,
        )
    return UpsertTable(_with_columns(schema), settings.put_into(_with_indexes(table)), warnings)


def create_upsert_table(client: RestClient, planned: UpsertTable, *, dry_run: bool = False) -> list[str]:
    """Register schema and table, after all was checked; what is there already and is the same stays.

    Args:
        client: Client of the cluster.
        planned: What :func:`plan_upsert_table` made.
        dry_run: Only check.

    Returns:
        What was registered, or would be, in words; nothing where all of it was there.

    Raises:
        ConflictError: There is something else of that name (the error lists the differences), or an offline
            table.
        RejectedError: Pinot finds the schema or the config wrong.
        NotFoundError: There is no input topic.
        OutcomeUnknownError: A reply was lost: run it again, it goes on from what is there.
    """
    missing_schema, missing_table = check_creatable(client, planned)
    schema, table = planned.schema, planned.table
    done = []
    if missing_schema:
        done.append(f"schema {schema.schema_name}")
        if not dry_run:
            client.schemas.create(schema)
    if missing_table:
        done.append(f"table {table.name_with_type}")
        if not dry_run:
            with _saying_what_is_there(schema.schema_name, table.name_with_type):
                client.tables.create(table)
    return done


def check_creatable(client: RestClient, planned: UpsertTable) -> tuple[bool, bool]:
    """Check all that can be checked before the first write.

    Args:
        client: Client of the cluster.
        planned: What :func:`plan_upsert_table` made.

    Returns:
        Whether the schema is missing, and whether the table is.

    Raises:
        ConflictError: There is something else of that name (the error lists the differences), or an offline
            table, or a logical one.
        RejectedError: Pinot finds the schema or the config wrong.
        NotFoundError: There is no input topic.
    """
    table, raw = planned.table, planned.table.raw_name
    if client.tables.exists(TableName.of(raw, TableType.OFFLINE)):
        raise ConflictError(
            f"there is an offline table {raw}: an upsert table cannot have an offline part",
            where=client.config.url,
            remedy="give the upsert table another name",
        )
    if client.tables.physical_tables(raw):
        raise ConflictError(
            f"there is a logical table {raw}",
            where=client.config.url,
            remedy="give the upsert table another name",
        )
    there = client.tables.get(table.name_with_type) if client.tables.exists(table.name_with_type) else None
    if there and not is_upsert(there):
        raise ConflictError(
            f"{table.name_with_type} exists already and is not an upsert table: its rows have no offsets",
            where=client.config.url,
            remedy="make a new table that reads the topic from its beginning",
        )
    missing_schema = _schema_is_missing(client, planned.schema)
    if there is None:
        _check_new(client, planned)
    else:
        # Pinot's answer has the name with type, whatever was sent.
        wanted = {**table.to_json(), "tableName": table.name_with_type}
        found = there.to_json()
        # Pinot 1.x keeps no name of a schema: it is the table's.
        found["segmentsConfig"] = {"schemaName": raw, **found["segmentsConfig"]}
        _refuse_differences(table.name_with_type, wanted, found)
    return missing_schema, there is None


def _check_new(client: RestClient, planned: UpsertTable) -> None:
    if planned.schema.schema_name == planned.table.raw_name:
        client.tables.validate(planned.schema, planned.table)
    else:
        client.schemas.validate(planned.schema)  # Pinot takes a schema of another name not with the table
    try:
        open_offsets(StreamConfig.of(planned.table)).read()
    except StreamUnknownError:
        return  # only Pinot's Java has this access


@contextmanager
def _saying_what_is_there(schema: str, table: str) -> Iterator[None]:
    """Say in the error of a table's registration that its schema is there."""
    try:
        yield
    except OutcomeUnknownError as error:
        error.remedy = (
            f"the schema {schema} is registered, {table} may be: run the same command again, it goes on from "
            f"what is there"
        )
        raise
    except PinotPluginError as error:
        error.remedy = (
            f"the schema {schema} is registered, {table} is not: fix what it says and run the same command "
            f"again, it goes on from there; or delete the schema by 'pinotctl schema delete {schema}'"
        )
        raise


def servers_without_hooks(store: PropertyStore, table: TableConfig) -> list[str]:
    """Return the live servers of a table's tenant that have never reported as hosted ones do.

    A row on a stock server never becomes visible. That a server has reported once, under its name, does not
    prove that it is hosted now.
    """
    tags = server_tags(table)
    reported = set(store.connection.children(f"/{store.cluster_name}/PINOT_PLUGINS/servers") or ())
    found = []
    for name in store.live_instances():
        try:
            if name.startswith("Server_") and tags & set(store.instance_tags(name)):
                found.append(name)
        except NotFoundError:
            continue  # it left meanwhile
    return sorted(set(found) - reported)


def check_hooks(store: PropertyStore, table: TableConfig) -> None:
    """Check that no role of the table's tenants runs without the hook ``upsert`` because it fails there.

    Raises:
        UnsupportedError: One does; its reason is in it.
    """
    broker = (table.to_json().get("tenants") or {}).get("broker") or "DefaultTenant"
    tags = server_tags(table) | {f"{broker}_BROKER"}
    for instance, reasons in read_failed_hooks(store).items():
        if "upsert" in reasons and tags & set(store.instance_tags(instance)):
            raise UnsupportedError(
                f"{table.name_with_type} cannot be an upsert table: {instance} runs without the hook upsert, "
                f"which failed there: {reasons['upsert']}",
                where=instance,
                remedy="fix what it says and start that role again, or take it out of the table's tenant",
            )


def server_tags(table: TableConfig) -> set[str]:
    """Return the tags of the servers that may have a realtime table's segments."""
    tenants = table.to_json().get("tenants") or {}
    tenant = tenants.get("server") or "DefaultTenant"
    override = tenants.get("tagOverrideConfig") or {}
    return {
        override.get("realtimeConsuming") or f"{tenant}_REALTIME",
        override.get("realtimeCompleted") or f"{tenant}_REALTIME",
    }


def _with_columns(schema: Schema) -> Schema:
    document = schema.to_json()
    others = [
        field for field in document.get("dimensionFieldSpecs") or [] if field["name"] not in SYSTEM_COLUMNS
    ]
    own = [{"name": name, "dataType": "LONG", "defaultNullValue": NIL} for name in SYSTEM_COLUMNS]
    return Schema.from_json({**document, "dimensionFieldSpecs": [*others, *own]})


def _with_indexes(table: TableConfig) -> TableConfig:
    """Plain values at fixed places, so that a version can be written where a row's value is."""
    document = copy.deepcopy(table.to_json())
    index = document["tableIndexConfig"]
    plain = [name for name in index.get("noDictionaryColumns") or [] if name not in SYSTEM_COLUMNS]
    index["noDictionaryColumns"] = [*plain, *SYSTEM_COLUMNS]
    index["loadMode"] = "MMAP"
    fields = [each for each in document.get("fieldConfigList") or [] if each["name"] not in SYSTEM_COLUMNS]
    own = [
        {"name": name, "encodingType": "RAW", "compressionCodec": "PASS_THROUGH"} for name in SYSTEM_COLUMNS
    ]
    document["fieldConfigList"] = [*fields, *own]
    return TableConfig.from_json(document)


def _schema_is_missing(client: RestClient, wanted: Schema) -> bool:
    if wanted.schema_name not in client.schemas.list():
        return True
    found = client.schemas.get(wanted.schema_name)
    _refuse_differences(f"schema {wanted.schema_name}", _columns(wanted), _columns(found))
    return False


def _columns(schema: Schema) -> dict[str, Any]:
    return {
        field.name: {
            "dataType": field.data_type,
            "singleValue": field.single_value,
            "role": str(field.role),
            "format": field.format,
            **({"default": field.default_null_value} if field.name in SYSTEM_COLUMNS else {}),
        }
        for field in schema.fields
    }


def _refuse_differences(what: str, wanted: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    differences = list(_differences(wanted, found, ""))
    if differences:
        raise ConflictError(
            f"{what} exists already and differs: {'; '.join(differences)}",
            where=what,
            remedy="change the files to match it, or delete it first",
        )


def _differences(wanted: Any, found: Any, path: str) -> Iterator[str]:
    """What is wanted and not found so; Pinot adds its defaults, and writes numbers as text."""
    if isinstance(wanted, Mapping):
        if wanted and not isinstance(found, Mapping):
            yield f"{path or 'all'} is missing"
            return
        for key, value in wanted.items():
            yield from _differences(value, (found or {}).get(key), f"{path}.{key}" if path else key)
    elif isinstance(wanted, list):
        other = found if isinstance(found, list) else []
        if len(wanted) != len(other):
            yield f"{path} has {len(other)} entries, not {len(wanted)}"
            return
        for number, (one, two) in enumerate(zip(wanted, other, strict=True)):
            yield from _differences(one, two, f"{path}[{number}]")
    elif wanted is not None and str(wanted).lower() != str(found).lower():
        # The values are left out: a stream config holds credentials.
        yield path
