"""Copies a table's schema and config to another cluster, without its data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from controller_client.common.names import TableName
from controller_client.common.parsing import whole_number
from controller_client.common.secret_fields import secret_fields
from controller_client.errors import ConflictError, NotAppliedError, NotFoundError
from controller_client.models import Schema, TableConfig
from controller_client.models.segment import check_segment_times
from controller_client.rest.client import RestClient

__all__ = ["TableCopy", "plan_copy"]


@dataclass(frozen=True)
class TableCopy:
    """A copy that is ready to be made.

    Attributes:
        table: The table, with its type.
        schema_name: Name of its schema.
        makes_schema: Whether the other cluster lacks the schema; otherwise it has the same one.
        secret_settings: Settings in the config that contain secrets, which are copied too.
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
        """Make the copy.

        Args:
            target: The other cluster.
            skip_task_validation: See :meth:`~controller_client.rest.tables.TablesApi.create`.

        Raises:
            ConflictError: The schema or table was created there meanwhile.
            RejectedError: The other cluster rejects the table; a schema created for this copy is deleted
                again.
            OutcomeUnknownError: A reply was lost: check what exists.
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
    """Check whether a table can be copied; changes nothing.

    Args:
        source: The cluster that has it.
        target: The other cluster.
        table: The table.

    Raises:
        NotFoundError: There is no such table, or it has no schema.
        ConflictError: The other cluster has a table of that name, or a different schema of that name.
        RejectedError: The other cluster rejects the schema.
        ConfigError: The table's segments would get wrong times.
    """
    config = source.tables.get(table)
    schema = source.schemas.of_table(config)
    check_segment_times(config, schema)
    if target.tables.exists(table):
        raise ConflictError(
            f"the table {table} already exists",
            where=target.config.url,
            remedy="change it with 'pinotctl table update', or delete it first",
        )
    present = _schema(target, schema.schema_name)
    if present is None:
        target.schemas.validate(schema)
    elif _fields(present) != _fields(schema):
        raise ConflictError(
            f"a different schema {schema.schema_name} already exists",
            where=target.config.url,
            remedy="make it equal with 'pinotctl schema update', or delete it first",
        )
    return TableCopy(
        table,
        schema.schema_name,
        makes_schema=present is None,
        secret_settings=tuple(sorted(map(_path_text, secret_fields(config.to_json())))),
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


def _path_text(path: Sequence[str]) -> str:
    return "".join(f"[{key}]" if whole_number(key) is not None else f".{key}" for key in path).removeprefix(
        "."
    )
