"""Schemas: list, read, create, update, delete."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from controller_client.errors import NotFoundError
from controller_client.models import Schema, TableConfig
from controller_client.rest.capabilities import Capabilities
from controller_client.rest.column_types import check_columns
from controller_client.rest.databases import list_everywhere
from controller_client.rest.paths import path_of
from controller_client.rest.transport import Transport

__all__ = ["SchemasApi"]


class SchemasApi:
    """Resource group ``/schemas``."""

    def __init__(self, transport: Transport, capabilities: Callable[[], Capabilities]) -> None:
        self._transport = transport
        self._capabilities = capabilities

    def list(self) -> list[str]:
        """Return the names of all schemas, except those of databases without tables."""
        answers = list_everywhere(self._transport, self._capabilities, "/schemas")
        return sorted(answers)

    def get(self, name: str) -> Schema:
        """Return a schema.

        Raises:
            NotFoundError: There is no such schema.
        """
        return Schema.from_json(self._transport.get_json(path_of("schemas", name), dict))

    def of_table(self, config: TableConfig) -> Schema:
        """Return a table's schema: the one with its raw name, else the one named in its config.

        Raises:
            NotFoundError: Neither exists.
        """
        names = config.schema_names
        for name in names:
            with suppress(NotFoundError):
                return self.get(name)
        raise NotFoundError(
            f"the table {config.name_with_type} has no schema: {' or '.join(names)} does not exist",
            where=self._transport.base_url,
            remedy="create it with 'pinotctl schema create FILE'",
        )

    def create(self, schema: Schema, override: bool = False) -> None:
        """Add a schema.

        Args:
            schema: The schema to add.
            override: Replace a schema of the same name (unless Pinot finds the new one incompatible).

        Raises:
            ConflictError: A schema of that name exists, and ``override`` is false.
            RejectedError: Pinot rejects the schema.
            UnsupportedError: The cluster's version has no type for a column.
        """
        self._transport.request(
            "POST", "/schemas", params={"override": str(override).lower()}, json=self._checked(schema)
        )

    def validate(self, schema: Schema) -> None:
        """Let Pinot check a schema; writes nothing.

        Raises:
            RejectedError: Pinot rejects the schema.
            UnsupportedError: The cluster's version has no type for a column.
        """
        self._transport.request("POST", "/schemas/validate", json=self._checked(schema), read_only=True)

    def update(self, schema: Schema) -> None:
        """Replace a schema.

        Raises:
            NotFoundError: There is no such schema.
            RejectedError: The change is incompatible (a column removed, a type changed).
            UnsupportedError: The cluster's version has no type for a column.
        """
        self._transport.request("PUT", path_of("schemas", schema.schema_name), json=self._checked(schema))

    def delete(self, name: str) -> None:
        """Delete a schema.

        Raises:
            NotFoundError: There is no such schema.
            ConflictError: A table uses it. Version 0.11.0 checks only realtime tables, and deletes the schema
                of an offline table.
        """
        self._transport.request("DELETE", path_of("schemas", name))

    def _checked(self, schema: Schema) -> dict[str, Any]:
        document = schema.to_json()
        check_columns(document, self._capabilities)
        return document
