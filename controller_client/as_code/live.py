"""Read a cluster's present objects as documents."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from controller_client.as_code.fields import without_nulls
from controller_client.as_code.membership import instance_documents
from controller_client.as_code.objects import Document, Kind, ObjectRef
from controller_client.common.names import TableName, TableType
from controller_client.errors import ConfigError, NotFoundError
from controller_client.rest.client import RestClient

__all__ = ["all_of", "read_cluster", "read_object", "read_tables", "schema_name", "schema_names"]

_THREADS = 8

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def read_cluster(client: RestClient, kinds: Iterable[Kind] = tuple(Kind)) -> dict[ObjectRef, Document]:
    """Return all objects of some kinds.

    This takes a few requests for each table, schema and instance, eight at a time.

    Raises:
        PinotPluginError: The controller does not answer, or refuses.
    """
    requested = set(kinds)
    documents: dict[ObjectRef, Document] = {}
    if Kind.SCHEMA in requested:
        documents.update(_schemas(client, client.schemas.list()))
    if requested & {Kind.TABLE, Kind.CONSUMPTION}:
        documents.update(_tables(client, client.tables.list()))
    if requested & {Kind.TENANT, Kind.INSTANCE}:
        instances = all_of(client.instances.find, client.instances.list())
        tags = {instance.name: instance.tags for instance in instances if instance is not None}
        documents.update(instance_documents(tags))
    return {ref: document for ref, document in documents.items() if ref.kind in requested}


def read_tables(client: RestClient, raw_names: Collection[str]) -> dict[ObjectRef, Document]:
    """Return the tables with some raw names, with their schemas and consumption; no others are read.

    Raises:
        ConfigError: There is no table with one of the names.
        PinotPluginError: The controller does not answer, or refuses.
    """
    tables = _tables(client, sorted(set(raw_names)))
    missing = set(raw_names) - {ref.table.raw for ref in tables}
    if missing:
        raise ConfigError(
            f"there is no table {', '.join(sorted(missing))}", remedy="see 'pinotctl table list'"
        )
    schemas = {
        name
        for ref, config in tables.items()
        if ref.kind is Kind.TABLE
        for name in schema_names(ref.table, config)
    }
    return tables | _schemas(client, sorted(schemas))


def _schemas(client: RestClient, names: Sequence[str]) -> dict[ObjectRef, Document]:
    return {
        ObjectRef(Kind.SCHEMA, name): without_nulls(schema)
        for name, schema in zip(names, all_of(client.configs.schema, names), strict=True)
        if schema is not None  # deleted meanwhile
    }


def _tables(client: RestClient, raw_names: Sequence[str]) -> dict[ObjectRef, Document]:
    documents: dict[ObjectRef, Document] = {}
    for configs in all_of(client.configs.tables, raw_names):
        for name, config in configs.items():
            documents[ObjectRef(Kind.TABLE, name)] = without_nulls(config)
    realtime = [ref.table for ref in documents if ref.table.type is TableType.REALTIME]
    for table, document in zip(
        realtime, all_of(lambda each: _consumption(client, each), realtime), strict=True
    ):
        if document is not None:
            documents[ObjectRef(Kind.CONSUMPTION, table)] = document
    return documents


def read_object(client: RestClient, ref: ObjectRef) -> Document | None:
    """Return one object; None if it does not exist.

    A tenant without members, or an instance without tags, is never missing: it is just empty.
    """
    if ref.kind is Kind.SCHEMA:
        return _present(client.configs.schema(ref.name))
    if ref.kind is Kind.TABLE:
        return _present(client.configs.table(ref.table))
    if ref.kind is Kind.CONSUMPTION:
        return _consumption(client, ref.table)
    return read_cluster(client, [ref.kind]).get(ref)


def schema_name(table: TableName, config: Mapping[str, Any], schemas: Iterable[str]) -> str | None:
    """Return the name of a table's schema among existing ones, by Pinot's own rule."""
    known = set(schemas)
    return next((name for name in schema_names(table, config) if name in known), None)


def schema_names(table: TableName, config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names under which Pinot searches for a table's schema, in this order."""
    named = (config.get("segmentsConfig") or {}).get("schemaName")
    return (table.raw, named) if named and isinstance(named, str) else (table.raw,)


def all_of(function: Callable[[_Item], _Result], items: Sequence[_Item]) -> list[_Result]:
    """Call a function for each item, several at a time; it runs in threads of this process."""
    if len(items) < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="cluster-read") as pool:
        return list(pool.map(function, items))


def _consumption(client: RestClient, table: TableName) -> Document | None:
    try:
        return {"table": str(table), "paused": client.consumption.pause_status(table).paused}
    except NotFoundError:
        return None


def _present(document: Mapping[str, Any] | None) -> Document | None:
    return None if document is None else without_nulls(document)
