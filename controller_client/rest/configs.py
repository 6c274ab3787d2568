"""Table configs and schemas as plain documents, and how the controller's classes read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from controller_client.common.names import TableName, TableType
from controller_client.errors import NotFoundError
from controller_client.rest.capabilities import Capabilities, Capability
from controller_client.rest.column_types import check_columns
from controller_client.rest.paths import path_of
from controller_client.rest.replies import parse_value
from controller_client.rest.table_configs import TableConfigs, check_references
from controller_client.rest.transport import Transport

__all__ = ["ConfigsApi", "ReadConfig"]

_UNRECOGNIZED = "unrecognizedProperties"
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class ReadConfig:
    """A document as the controller reads it.

    Attributes:
        document: The document with the defaults of the controller's version.
        unrecognized: Ignored parts: JSON pointers, or names if the version reports only names.
    """

    document: dict[str, Any]
    unrecognized: tuple[str, ...]


class ConfigsApi:
    """Configs and schemas without a model: all fields are passed through unchanged."""

    def __init__(
        self, transport: Transport, table_configs: TableConfigs, capabilities: Callable[[], Capabilities]
    ) -> None:
        self._transport = transport
        self._table_configs = table_configs
        self._capabilities = capabilities

    def tables(self, raw_name: str) -> dict[TableName, dict[str, Any]]:
        """Return the configs, as written, of the tables with a raw name; empty if there is no such table."""
        return self._table_configs.written(raw_name)

    def table(self, table: TableName) -> dict[str, Any] | None:
        """Return a table's config, as written; None if there is no such table."""
        return self._table_configs.written(table.raw, table.type).get(table)

    def schema(self, name: str) -> dict[str, Any] | None:
        """Return a schema; None if there is no such schema."""
        try:
            return self._transport.get_json(path_of("schemas", name), dict)
        except NotFoundError:
            return None

    def read_table(self, document: Mapping[str, Any]) -> ReadConfig:
        """Return a table config as the controller would store it, without storing it.

        Checks only the form. The table's schema must exist.

        Raises:
            RejectedError: The controller's classes cannot read it.
        """
        table_type = str(document["tableType"]).upper()
        return self._posted(
            "/tables/validate",
            document,
            {"validationTypesToSkip": "ALL"},
            lambda answer: ReadConfig(answer[table_type], _unrecognized(answer)),
        )

    def read_schema(self, document: Mapping[str, Any]) -> ReadConfig:
        """Return a schema as the controller reads it, after its checks.

        Raises:
            RejectedError: The controller cannot read the schema, or rejects it.
            UnsupportedError: The cluster's version has no type for a column.
        """
        check_columns(document, self._capabilities)

        def read(answer: dict[str, Any]) -> ReadConfig:
            schema = {key: value for key, value in answer.items() if key != _UNRECOGNIZED}
            return ReadConfig(schema, _unrecognized(answer))

        return self._posted("/schemas/validate", document, {}, read)

    def check(
        self,
        raw_name: str,
        schema: Mapping[str, Any],
        configs: Mapping[TableType, Mapping[str, Any]],
        *,
        skip: tuple[str, ...] = (),
    ) -> tuple[str, ...]:
        """Let the controller check a schema and its tables; writes nothing.

        Args:
            raw_name: Raw name of the tables. The schema is checked under this name, whatever its own name.
            schema: The schema.
            configs: Table configs by type.
            skip: Kinds of the version's checks to skip, e.g. ``TASK``.

        Returns:
            The parts that the controller ignored.

        Raises:
            RejectedError: The controller rejects one of them.
        """
        document: dict[str, Any] = {"tableName": raw_name, "schema": {**schema, "schemaName": raw_name}}
        document.update({str(key).lower(): value for key, value in configs.items()})
        known = self._capabilities().has(Capability.TASK_VALIDATION)
        params = {"validationTypesToSkip": ",".join(skip) if skip and known else None}
        return self._posted("/tableConfigs/validate", document, params, _unrecognized)

    def create_table(self, document: Mapping[str, Any]) -> None:
        """Add a table; raises what :meth:`.TablesApi.create` raises."""
        check_references(document)
        self._transport.request("POST", "/tables", params=self._skip_tasks(), json=document)

    def update_table(self, table: TableName, document: Mapping[str, Any]) -> None:
        """Replace a table's config; raises what :meth:`.TablesApi.update` raises."""
        self._transport.request("PUT", path_of("tables", table), params=self._skip_tasks(), json=document)

    def create_schema(self, document: Mapping[str, Any]) -> None:
        """Add a schema; raises what :meth:`.SchemasApi.create` raises."""
        check_columns(document, self._capabilities)
        self._transport.request("POST", "/schemas", params={"override": "false"}, json=document)

    def update_schema(self, name: str, document: Mapping[str, Any]) -> None:
        """Replace a schema; raises what :meth:`.SchemasApi.update` raises."""
        check_columns(document, self._capabilities)
        self._transport.request("PUT", path_of("schemas", name), json=document)

    def _posted(
        self,
        path: str,
        document: Mapping[str, Any],
        params: Mapping[str, str | None],
        make: Callable[[dict[str, Any]], _Value],
    ) -> _Value:
        response = self._transport.request("POST", path, params=params, json=document, read_only=True)
        return parse_value(response, dict, make, clean=self._transport.clean, reads=True)

    def _skip_tasks(self) -> dict[str, str | None]:
        # The controller has no generators for task types that Python minions run.
        known = self._capabilities().has(Capability.TASK_VALIDATION)
        return {"validationTypesToSkip": "TASK" if known else None}


def _unrecognized(answer: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(sorted(answer.get(_UNRECOGNIZED) or {}))
