"""Tables: configs, task configs, ideal state and external view."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, overload

from controller_client.common.names import TableName, TableType
from controller_client.common.text import did_you_mean
from controller_client.errors import ConflictError, NotFoundError, PinotPluginError
from controller_client.models import Schema, TableConfig
from controller_client.rest.capabilities import Capabilities, Capability
from controller_client.rest.databases import list_everywhere
from controller_client.rest.paths import path_of
from controller_client.rest.replies import parse_reply
from controller_client.rest.segment_states import SegmentStates
from controller_client.rest.table_configs import TableConfigs, check_references
from controller_client.rest.table_size import TableSize
from controller_client.rest.transport import Transport

__all__ = ["SegmentStates", "TablesApi"]


class TablesApi:
    """Resource group ``/tables``. Names with type (``flights_OFFLINE``) unless stated otherwise."""

    def __init__(
        self, transport: Transport, configs: TableConfigs, capabilities: Callable[[], Capabilities]
    ) -> None:
        self._transport = transport
        self._configs = configs
        self._capabilities = capabilities

    @overload
    def list(self, table_type: None = None) -> list[str]: ...

    @overload
    def list(self, table_type: TableType | str) -> list[TableName]: ...

    def list(self, table_type: TableType | str | None = None) -> Sequence[str]:
        """Return names of the tables of all databases: raw names, or names with type for a type."""
        if table_type is None:
            return sorted(self._names())
        # Given a type, 0.11.0 returns names with type, newer versions raw names: normalize them.
        wanted = TableType(str(table_type).upper())
        return sorted(TableName.of(name, wanted) for name in self._names({"type": wanted.lower()}))

    def list_typed(self) -> Sequence[TableName]:
        """Return the names with type of all tables."""
        return sorted(name for each in TableType for name in self.list(each))

    def all_in_use(self) -> Iterator[tuple[TableName, TableConfig]]:
        """Yield the name with type and the config of each table, as in :meth:`in_use`.

        A table that is deleted between the list and its config is left out.
        """
        for name in self.list_typed():
            try:
                config = self.in_use(name)
            except NotFoundError:
                continue
            yield name, config

    def exists(self, table: str) -> bool:
        """Return whether a table exists; for a raw name, of any type."""
        try:
            document = self._transport.get_json(path_of("tables", table), dict)
        except NotFoundError:  # since Pinot 1.4; older versions return an empty document
            return False
        name = TableName.parse(table)
        return bool(document) if name is None else name.type in document

    def unknown(self, table: str) -> NotFoundError:
        """Return the error for a nonexistent table, with the most similar names.

        For a logical table it names the physical ones: everything except queries works on those.
        """
        logical = self.logical_error(table)
        if logical is not None:
            return logical
        name = TableName.parse(table)
        raw = table if name is None else name.raw
        try:
            raw_names = self.list()
        except PinotPluginError:
            raw_names = []
        # The table may exist with the other type.
        others = (TableName.of(raw, each) for each in TableType if raw in raw_names)
        other = next(filter(self.exists, others), None)
        remedy = f"there is {other}" if other else None
        return NotFoundError(
            f"there is no table {table}",
            where=self._transport.base_url,
            remedy=remedy
            or did_you_mean(raw, raw_names, otherwise="see 'pinotctl table list', or create it first"),
        )

    def physical_tables(self, table: str) -> tuple[str, ...]:
        """Return the physical tables (names with type) of a logical table; empty if there is no such table.

        Args:
            table: Its name; a type suffix is ignored.
        """
        if not self._capabilities().has(Capability.LOGICAL_TABLES):
            return ()
        name = TableName.parse(table)
        try:
            path = path_of("logicalTables", table if name is None else name.raw)
            return tuple(sorted(self._transport.get_json(path, dict, key="physicalTableConfigMap")))
        except NotFoundError:
            return ()

    def logical_error(self, table: str) -> NotFoundError | None:
        """Return the error for a logical table; None if the table is not logical."""
        try:
            physical = self.physical_tables(table)
        except PinotPluginError:
            return None
        if not physical:
            return None
        return NotFoundError(
            f"{table} is a logical table, which only supports queries: it has no segments, tasks or stream",
            expected="a physical table",
            where=self._transport.base_url,
            remedy=f"use one of its physical tables: {', '.join(physical)}",
        )

    def get(self, table: str) -> TableConfig:
        """Return a table's config as it was written, with its templates: to be shown, copied or changed.

        Raises:
            NotFoundError: There is no such table.
            AuthError: The user may not read it, see :meth:`.TableConfigs.written`.
            ConflictError: It is being changed, or its record does not match.
        """
        name = TableName(table)
        return self._config(name, self._configs.written(name.raw, name.type))

    def in_use(self, table: str) -> TableConfig:
        """Return a table's config as the controller answers, for reading only: never write it back.

        Before Pinot 1.3, its templates (``${NAME:default}``) are replaced.

        Raises:
            NotFoundError: There is no such table.
        """
        name = TableName(table)
        return self._config(name, self._configs.in_use(name.raw, name.type))

    def create(self, config: TableConfig, *, skip_task_validation: bool = False) -> None:
        """Add a table; its schema must exist.

        Args:
            config: The config to add.
            skip_task_validation: Do not let the controller check the task configs: it has no generators for
                task types of Python-hosted minions, so Pinot 1.0 and later would refuse them.

        Raises:
            ConflictError: The table already exists.
            ConfigError: Pinot would misread a reference in the config.
            RejectedError: Pinot rejects the config.
        """
        document = config.to_json()
        check_references(document)
        self._transport.request("POST", "/tables", params=self._skip(skip_task_validation), json=document)

    def validate(
        self, schema: Schema | None, config: TableConfig, *, skip_task_validation: bool = False
    ) -> tuple[str, ...]:
        """Let Pinot check a table config and, optionally, its schema; writes nothing.

        Args:
            schema: The schema, named like the table: Pinot does not check a schema of another name together
                with the table. None: the schema in the cluster.
            config: The table's config.
            skip_task_validation: See :meth:`create`.

        Returns:
            Unknown parts of the documents, which Pinot would ignore, e.g.
            ``tableIndexConfig.invertedColumns``.

        Raises:
            RejectedError: Pinot rejects one of them.
            NotFoundError: The cluster has no such schema.
        """
        path, document = "/tables/validate", config.to_json()
        if schema is not None:
            path = "/tableConfigs/validate"
            document = {
                "tableName": config.raw_name,
                "schema": schema.to_json(),
                config.table_type.lower(): document,
            }
        response = self._transport.request(
            "POST", path, params=self._skip(skip_task_validation), json=document, read_only=True
        )
        answer = parse_reply(response, dict, clean=self._transport.clean, reads=True)
        # Pointers to single values in the sent document: "/offline/tableIndexConfig/odd/0".
        pointers = (
            re.sub(r"^/(offline|realtime)(?=/)|(/\d+)+$", "", pointer)
            for pointer in answer.get("unrecognizedProperties") or ()
        )
        return tuple(sorted({pointer.lstrip("/").replace("/", ".") for pointer in pointers}))

    def update(self, config: TableConfig, *, skip_task_validation: bool = False) -> None:
        """Replace a table's config; arguments: see :meth:`create`.

        Raises:
            NotFoundError: There is no such table.
            RejectedError: Pinot rejects the config.
        """
        self._transport.request(
            "PUT",
            path_of("tables", config.name_with_type),
            params=self._skip(skip_task_validation),
            json=config.to_json(),
        )

    def delete(self, table: str) -> None:
        """Delete a table with its segments; its schema stays.

        Raises:
            NotFoundError: There is no such table.
        """
        name = TableName(table)
        raw, table_type = name.raw, name.type
        self._transport.request("DELETE", path_of("tables", raw), params={"type": table_type.lower()})

    def ideal_state(self, table: str) -> SegmentStates:
        """Return the intended states: segment -> instance -> state.

        Raises:
            NotFoundError: There is no such table.
        """
        return self._view(table, "idealstate")

    def external_view(self, table: str) -> SegmentStates:
        """Return the states reported by the servers: segment -> instance -> state.

        Raises:
            NotFoundError: There is no such table.
        """
        try:
            return self._view(table, "externalview")
        except NotFoundError:
            # Helix creates the external view a moment after the table; until then "Table not found".
            self.ideal_state(table)
            return {}

    def size(self, table: str) -> TableSize:
        """Return the size of a table on its servers' disks, by segment and server.

        Raises:
            NotFoundError: There is no such table.
        """
        name = TableName(table)
        document = self._transport.get_json(
            path_of("tables", name.raw, "size"), dict, params={"detailed": "true", "verbose": "true"}
        )
        return TableSize.from_json(table, document, self.ideal_state(table))

    def enabled(self, table: str) -> bool:
        """Return whether a table is enabled; servers do not load the segments of a disabled table.

        Raises:
            NotFoundError: There is no such table.
        """
        name = TableName(table)
        path, params = path_of("tables", name.raw, "state"), {"type": name.type.lower()}
        return self._transport.get_json(path, str, key="state", params=params) == "enabled"

    def set_enabled(self, table: str, enabled: bool) -> None:
        """Enable or disable a table: servers unload a disabled table's segments, and queries find no rows.

        Raises:
            NotFoundError: There is no such table.
            OutcomeUnknownError: The reply was lost; repeating the call does no harm.
        """
        name = TableName(table)
        params = {"type": name.type.lower(), "state": "enable" if enabled else "disable"}
        if self._capabilities().has(Capability.STATES_BY_PUT):
            self._transport.request("PUT", path_of("tables", name.raw, "state"), params=params)
            return
        self.ideal_state(table)  # Pinot 0.11 returns 500 for an unknown table
        self._transport.request("GET", path_of("tables", name.raw), params=params, read_only=False)

    def rebuild_brokers(self, table: str) -> str:
        """Assign the table to exactly the brokers currently tagged with its tenant.

        Returns:
            Pinot's status text.

        Raises:
            NotFoundError: There is no such table.
            OutcomeUnknownError: The reply was lost; repeating the call does no harm.
        """
        path = path_of("tables", TableName(table), "rebuildBrokerResourceFromHelixTags")
        response = self._transport.request("POST", path)
        return parse_reply(response, str, key="status", clean=self._transport.clean)

    def set_tenants(self, table: str, *, server: str | None = None, broker: str | None = None) -> TableConfig:
        """Move a table to other tenants; segments stay where they are until the next rebalance.

        Pinot has no compare-and-set for table configs, so the config is read back afterwards.

        Args:
            table: Table.
            server: Tenant of its servers; None: unchanged.
            broker: Tenant of its brokers; None: unchanged. A change takes effect at once.

        Returns:
            The table's new config.

        Raises:
            NotFoundError: There is no such table.
            RejectedError: There is no such tenant.
            ConflictError: Someone else wrote the table's config at the same time.
        """
        changed = self.get(table).with_tenants(server=server, broker=broker)
        self.update(changed, skip_task_validation=True)
        config = self.get(table)
        if config.tenants != changed.tenants:
            raise ConflictError(
                f"someone else changed the tenants of {table} at the same time",
                where=table,
                remedy="read the table's config and set them again",
            )
        return config

    def task_config(self, table: str, task_type: str) -> dict[str, str] | None:
        """Return the configs of a task type, as in :meth:`in_use`; None if the table has none."""
        return self.in_use(table).task_config(task_type)

    def set_task_config(self, table: str, task_type: str, configs: Mapping[str, str] | None) -> None:
        """Replace a task type's configs (None removes them); the rest of the table's config stays.

        Pinot has no compare-and-set for table configs, so the config is read back afterwards.

        Raises:
            NotFoundError: There is no such table.
            ConfigError: Pinot would misread a reference in the configs.
            ConflictError: Someone else wrote the table's config at the same time.
        """
        present = self.get(table)
        changed = present.with_task_config(task_type, configs)
        check_references(changed.to_json(), present.to_json())
        self.update(changed, skip_task_validation=True)
        found = self.get(table).task_config(task_type)
        if found != (None if configs is None else dict(configs)):
            raise ConflictError(
                f"someone else changed the {task_type} config of {table} at the same time",
                where=table,
                remedy="read the table's config and set it again",
            )

    def _names(self, params: Mapping[str, str | None] | None = None) -> Iterator[str]:
        return list_everywhere(self._transport, self._capabilities, "/tables", key="tables", params=params)

    def _config(self, name: TableName, found: Mapping[TableName, Mapping[str, Any]]) -> TableConfig:
        if name not in found:
            raise NotFoundError(f"there is no table {name}", where=self._transport.base_url)
        return TableConfig.from_json(found[name])

    def _view(self, table: str, view: str) -> SegmentStates:
        table_type = TableName(table).type
        path, params = path_of("tables", table, view), {"tableType": table_type}
        return self._transport.get_json(path, dict, key=table_type, params=params)

    def _skip(self, skip_task_validation: bool) -> dict[str, str | None]:
        # Older versions do not check task configs against generators, so there is nothing to skip.
        needed = skip_task_validation and self._capabilities().has(Capability.TASK_VALIDATION)
        return {"validationTypesToSkip": "TASK" if needed else None}
