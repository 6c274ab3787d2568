"""Creates an upsert table: adds its columns and settings, then registers schema and table."""

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
from controller_client.models import Schema, ServerTags, TableConfig
from controller_client.rest.client import RestClient
from controller_client.stream.config import StreamConfig
from controller_client.stream.offsets import StreamUnknownError, open_offsets
from controller_client.upsert.columns import NIL, SYSTEM_COLUMNS
from controller_client.upsert.requirements import check_requirements, check_retention
from controller_client.upsert.settings import UpsertSettings, is_upsert, named_order, named_topic
from controller_client.zookeeper import PropertyStore

__all__ = [
    "UpsertTable",
    "check_creatable",
    "check_hooks",
    "create_upsert_table",
    "plan_upsert_table",
    "servers_without_hooks",
]


@dataclass(frozen=True)
class UpsertTable:
    """An upsert table to register.

    Attributes:
        schema: Its schema, including the columns of upsert.
        table: Its config, including their indexes and the settings.
        warnings: Settings that are allowed but may surprise.
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
    """Derive an upsert table's schema and config from those of a realtime table; sends nothing.

    Args:
        schema: The user's columns.
        table: A realtime table with a Kafka stream and a retention.
        primary_key: The key's columns; a later row replaces the one with the same key.
        timestamp_column: Column of milliseconds that orders the rows of a key.
        updates_topic: Kafka topic of the updates; default: the config's, else ``<table>_REALTIME.updates``.
        order: Name of a registered function that ranks rows instead of the timestamp; default: the config's.

    Raises:
        ConfigError: The table cannot be an upsert table; the error lists all reasons.
    """
    settings = UpsertSettings(
        primary_key=tuple(primary_key),
        timestamp_column=timestamp_column,
        updates_topic=updates_topic or named_topic(table) or f"{table.name_with_type}.updates",
        order=order or named_order(table),
    )
    check_retention(table)
    warnings = check_requirements(schema, table, settings)
    if settings.updates_topic == StreamConfig.of(table).topic:
        raise ConfigError(
            f"{settings.updates_topic} is the input topic of {table.name_with_type}",
            expected="a separate topic for the updates",
            where=table.name_with_type,
        )
    return UpsertTable(_with_columns(schema), settings.put_into(_with_indexes(table)), warnings)


def create_upsert_table(client: RestClient, planned: UpsertTable, *, dry_run: bool = False) -> list[str]:
    """Check everything, then register schema and table; existing identical ones are kept.

    Args:
        client: Client of the cluster.
        planned: The result of :func:`plan_upsert_table`.
        dry_run: Only check.

    Returns:
        What was, or would be, registered, as text; empty if everything exists already.

    Raises:
        ConflictError: A different schema or table of that name exists (the error lists the differences), or
            an offline table.
        RejectedError: Pinot rejects the schema or the config.
        NotFoundError: The input topic does not exist.
        OutcomeUnknownError: A reply was lost: run it again; it continues from what exists.
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
            with _reporting_what_exists(schema.schema_name, table.name_with_type):
                client.tables.create(table)
    return done


def check_creatable(client: RestClient, planned: UpsertTable) -> tuple[bool, bool]:
    """Check everything that can be checked before the first write.

    Args:
        client: Client of the cluster.
        planned: The result of :func:`plan_upsert_table`.

    Returns:
        Whether the schema is missing, and whether the table is.

    Raises:
        ConflictError: A different schema or table of that name exists (the error lists the differences), or
            an offline or a logical table.
        RejectedError: Pinot rejects the schema or the config.
        NotFoundError: The input topic does not exist.
    """
    table, raw = planned.table, planned.table.raw_name
    if client.tables.exists(TableName.of(raw, TableType.OFFLINE)):
        raise ConflictError(
            f"an offline table {raw} exists: an upsert table cannot have an offline part",
            where=client.config.url,
            remedy="choose another name for the upsert table",
        )
    if client.tables.physical_tables(raw):
        raise ConflictError(
            f"a logical table {raw} exists",
            where=client.config.url,
            remedy="choose another name for the upsert table",
        )
    existing = client.tables.get(table.name_with_type) if client.tables.exists(table.name_with_type) else None
    if existing and not is_upsert(existing):
        raise ConflictError(
            f"{table.name_with_type} already exists and is not an upsert table: its rows have no offsets",
            where=client.config.url,
            remedy="create an upsert table with another name, which reads the topic from its beginning, or "
            "delete this table and its schema first",
        )
    missing_schema = _schema_is_missing(client, planned.schema)
    if existing is None:
        _check_new(client, planned)
    else:
        # Pinot returns the name with type, whatever was sent.
        expected = {**table.to_json(), "tableName": table.name_with_type}
        # With the settings in the format of this release, whichever has created the table.
        actual = UpsertSettings.of(existing).put_into(existing).to_json()
        # Pinot 1.x does not store the schema's name: it equals the table's.
        actual["segmentsConfig"] = {"schemaName": raw, **actual["segmentsConfig"]}
        _refuse_differences(table.name_with_type, expected, actual)
    return missing_schema, existing is None


def _check_new(client: RestClient, planned: UpsertTable) -> None:
    if planned.schema.schema_name == planned.table.raw_name:
        client.tables.validate(planned.schema, planned.table)
    else:
        # Pinot does not validate a schema of another name together with the table.
        client.schemas.validate(planned.schema)
    try:
        open_offsets(StreamConfig.of(planned.table)).read()
    except StreamUnknownError:
        return  # only Kafka's Java client supports these security settings


@contextmanager
def _reporting_what_exists(schema: str, table: str) -> Iterator[None]:
    """Add to an error of the table's registration that its schema is registered."""
    try:
        yield
    except OutcomeUnknownError as error:
        error.remedy = (
            f"the schema {schema} is registered and {table} may be: run the same command again, it continues "
            f"from what exists"
        )
        raise
    except PinotPluginError as error:
        error.remedy = (
            f"the schema {schema} is registered, but {table} is not: fix the reported problem and run the "
            f"same command again, it continues from there; or delete the schema with "
            f"'pinotctl schema delete {schema}'"
        )
        raise


def servers_without_hooks(store: PropertyStore, table: TableConfig) -> list[str]:
    """Return the live servers that may get a table's segments and never reported like hosted servers.

    A row on a stock server never becomes visible. A past report under a server's name does not prove that the
    server is hosted now.
    """
    tags = ServerTags.of(table).all
    reported = set(store.connection.children(f"/{store.cluster_name}/PINOT_PLUGINS/servers") or ())
    servers = []
    for name in store.live_instances():
        try:
            if name.startswith("Server_") and tags & set(store.instance_tags(name)):
                servers.append(name)
        except NotFoundError:
            continue  # it left meanwhile
    return sorted(set(servers) - reported)


def check_hooks(store: PropertyStore, table: TableConfig) -> None:
    """Check that no server or broker of the table runs without the hook ``upsert`` because it failed.

    Raises:
        UnsupportedError: A role does; the error contains the reason.
    """
    tags = ServerTags.of(table).all | {f"{table.tenants.get('broker') or 'DefaultTenant'}_BROKER"}
    for instance, reasons in read_failed_hooks(store).items():
        if "upsert" in reasons and tags & set(store.instance_tags(instance)):
            raise UnsupportedError(
                f"{table.name_with_type} cannot be an upsert table: {instance} runs without the hook upsert, "
                f"which failed there: {reasons['upsert']}",
                where=instance,
                remedy="fix the reported problem and restart that role, or take the table's tags from it",
            )


def _with_columns(schema: Schema) -> Schema:
    document = schema.to_json()
    others = [
        field for field in document.get("dimensionFieldSpecs") or [] if field["name"] not in SYSTEM_COLUMNS
    ]
    own = [{"name": name, "dataType": "LONG", "defaultNullValue": NIL} for name in SYSTEM_COLUMNS]
    return Schema.from_json({**document, "dimensionFieldSpecs": [*others, *own]})


def _with_indexes(table: TableConfig) -> TableConfig:
    """Store the columns as raw values at fixed positions, so that versions can be written in place."""
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


def _schema_is_missing(client: RestClient, schema: Schema) -> bool:
    if schema.schema_name not in client.schemas.list():
        return True
    found = client.schemas.get(schema.schema_name)
    _refuse_differences(f"schema {schema.schema_name}", _columns(schema), _columns(found))
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


def _refuse_differences(what: str, expected: Mapping[str, Any], actual: Mapping[str, Any]) -> None:
    differences = list(_differences(expected, actual, ""))
    if differences:
        raise ConflictError(
            f"{what} already exists and differs: {'; '.join(differences)}",
            where=what,
            remedy="change the files to match it, or delete it first",
        )


def _differences(expected: Any, actual: Any, path: str) -> Iterator[str]:
    """Yield the wanted settings that differ; Pinot adds its defaults and writes numbers as strings."""
    if isinstance(expected, Mapping):
        if expected and not isinstance(actual, Mapping):
            yield f"{path or 'all'} is missing"
            return
        for key, value in expected.items():
            yield from _differences(value, (actual or {}).get(key), f"{path}.{key}" if path else key)
    elif isinstance(expected, list):
        other = actual if isinstance(actual, list) else []
        if len(expected) != len(other):
            yield f"{path} has {len(other)} entries, not {len(expected)}"
            return
        for number, (one, two) in enumerate(zip(expected, other, strict=True)):
            yield from _differences(one, two, f"{path}[{number}]")
    elif expected is not None and str(expected).lower() != str(actual).lower():
        # The values are not shown: a stream config contains credentials.
        yield path
