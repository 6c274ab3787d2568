"""A table's schema and config, copied to another cluster; its data stay where they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller_client.common.names import TableName
from controller_client.common.redaction import is_secret
from controller_client.errors import ConflictError, NotAppliedError, NotFoundError
from controller_client.models import Schema, TableConfig
from controller_client.rest.client import RestClient

__all__ = ["TableCopy", "plan_copy"]


@dataclass(frozen=True)
class TableCopy:
    """A copy that can be made.

    Attributes:
        table: The table, with its type.
        schema_name: Its schema.
        makes_schema: Whether the other cluster lacks the schema; otherwise it has the same.
        secret_settings: Places in the config that hold secrets, which go to the other cluster with it.
        schema: The schema.
        config: The config.
    """

    table: TableName
    schema_name: str
    makes_schema: bool
    secret_settings: tuple[str, ...]
    schema: Schema = field(repr=False)
    config: TableConfig = field(repr=False)

    def run(self, target: RestClient, *, skip_task_validation: bool = False) -> None:
        """Make it.

        Args:
            target: The other cluster.
            skip_task_validation: As of :meth:`~controller_client.rest.tables.TablesApi.create`.

        Raises:
            ConflictError: Schema or table came there meanwhile.
            RejectedError: The other cluster finds something wrong; what was made for this copy is taken back.
            OutcomeUnknownError: A reply was lost: look what is there.
        """
        if self.makes_schema:
            target.schemas.create(self.schema)
        try:
            target.tables.create(self.config, skip_task_validation=skip_task_validation)
        except NotAppliedError:
            if self.makes_schema:
                target.schemas.delete(self.schema_name)
            raise


def plan_copy(source: RestClient, target: RestClient, table: TableName) -> TableCopy:
    """Look whether a table can be copied; nothing is changed.

    Args:
        source: The cluster that has it.
        target: The other one.
        table: The table.

    Raises:
        NotFoundError: There is no such table, or it has no schema.
        ConflictError: The other cluster has a table of that name, or another schema of that name.
        RejectedError: The other cluster finds the schema wrong.
    """
    config = source.tables.get(table)
    schema = source.schemas.of_table(config)
    if target.tables.exists(table):
        raise ConflictError(
            f"there is a table {table} already",
            where=target.config.url,
            remedy="change it by 'pinotctl table update', or delete it first",
        )
    present = _schema(target, schema.schema_name)
    if present is None:
        target.schemas.validate(schema)
    elif _fields(present) != _fields(schema):
        raise ConflictError(
            f"there is another schema {schema.schema_name} already",
            where=target.config.url,
            remedy="make it the same by 'pinotctl schema update', or delete it first",
        )
    return TableCopy(
        table,
        schema.schema_name,
        makes_schema=present is None,
        secret_settings=tuple(sorted(_secrets("", config.to_json()))),
        schema=schema,
        config=config,
    )


def _schema(client: RestClient, name: str) -> Schema | None:
    try:
        return client.schemas.get(name)
    except NotFoundError:
        return None


def _fields(schema: Schema) -> dict[str, tuple[object, ...]]:
    return {each.name: (each.data_type, each.role, each.single_value, each.format) for each in schema.fields}


def _secrets(place: str, value: Any) -> Iterator[str]:
    """Walk through a config; yield where it holds a secret, by its key or as credentials in an address."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _secrets(f"{place}.{key}" if place else str(key), inner)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _secrets(f"{place}[{number}]", inner)
    elif isinstance(value, str) and is_secret(place.rpartition(".")[2], value):
        yield place
