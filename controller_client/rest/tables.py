"""Tables: configs, task configs, ideal state and external view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from controller_client.common.names import TableName, TableType
from controller_client.common.nearest import did_you_mean
from controller_client.errors import ConflictError, NotFoundError, PinotPluginError
from controller_client.models import TableConfig
from controller_client.rest.capabilities import Capabilities, Capability
from controller_client.rest.segment_states import SegmentStates
from controller_client.rest.transport import Transport, path_of

__all__ = ["SegmentStates", "TablesApi"]


class TablesApi:
    """Resource group ``/tables``. Names with type (``flights_OFFLINE``) unless said otherwise."""

    def __init__(self, transport: Transport, capabilities: Callable[[], Capabilities]) -> None:
        self._transport = transport
        self._capabilities = capabilities

    def list(self, table_type: TableType | str | None = None) -> list[str]:
        """Return names of all tables: raw names, or names with type when a type is asked for."""
        if table_type is None:
            return sorted(self._transport.get_json("/tables")["tables"])
        # 0.11.0 answers names with type when a type is given, newer versions raw names: add what is missing.
        wanted = TableType(str(table_type).upper())
        names = self._transport.get_json("/tables", params={"type": wanted.lower()})["tables"]
        return sorted(name if name.endswith(f"_{wanted}") else f"{name}_{wanted}" for name in names)

    def exists(self, table: str) -> bool:
        """Say whether a table is there; by a name with type that type, by a raw name any type."""
        # An unknown table is answered with an empty document, not with 404.
        document = self._transport.get_json(path_of("tables", table)) or {}
        for table_type in TableType:
            if table.endswith(f"_{table_type}"):
                return table_type in document
        return bool(document)

    def unknown(self, table: str) -> NotFoundError:
        """Return the error of a table that is not there, with the names nearest to it."""
        raw = next(
            (table.removesuffix(f"_{each}") for each in TableType if table.endswith(f"_{each}")), table
        )
        try:
            known = self.list()
        except PinotPluginError:
            known = []
        # One of that name is of the other type.
        others = [f"{raw}_{each}" for each in TableType if raw in known and self.exists(f"{raw}_{each}")]
        remedy = f"there is {others[0]}" if others else None
        return NotFoundError(
            f"there is no table {table}",
            where=self._transport.base_url,
            remedy=remedy
            or did_you_mean(raw, known, otherwise="see 'pinotctl table list', or create it first"),
        )

    def get(self, table_name_with_type: str) -> TableConfig:
        """Return a table's config.

        Raises:
            NotFoundError: There is no such table.
        """
        return TableConfig.from_json(self._config_document(table_name_with_type))

    def create(self, config: TableConfig, *, skip_task_validation: bool = False) -> None:
        """Add a table; its schema must be there.

        Args:
            config: What to add.
            skip_task_validation: Do not ask the controller about the task configs: a task type that only
                Python-hosted minions know has no generator there, and Pinot 1.0 and later refuse it.

        Raises:
            ConflictError: The table is there already.
            RejectedError: Pinot finds the config wrong.
        """
        self._transport.request(
            "POST", "/tables", params=self._skip(skip_task_validation), json=config.to_json()
        )

    def update(self, config: TableConfig, *, skip_task_validation: bool = False) -> None:
        """Replace a table's config; arguments and errors as of :meth:`create`.

        Raises:
            NotFoundError: There is no such table.
            RejectedError: Pinot finds the config wrong.
        """
        self._transport.request(
            "PUT",
            path_of("tables", config.name_with_type),
            params=self._skip(skip_task_validation),
            json=config.to_json(),
        )

    def delete(self, table_name_with_type: str) -> None:
        """Delete a table with its segments; its schema stays.

        Raises:
            NotFoundError: There is no such table.
        """
        name = TableName(table_name_with_type)
        raw, table_type = name.raw, name.type
        self._transport.request("DELETE", path_of("tables", raw), params={"type": table_type.lower()})

    def ideal_state(self, table_name_with_type: str) -> SegmentStates:
        """Return what the cluster should hold: segment -> instance -> state.

        Raises:
            NotFoundError: There is no such table.
        """
        return self._view(table_name_with_type, "idealstate")

    def external_view(self, table_name_with_type: str) -> SegmentStates:
        """Return what the servers say they hold: segment -> instance -> state.

        Raises:
            NotFoundError: There is no such table.
        """
        try:
            return self._view(table_name_with_type, "externalview")
        except NotFoundError:
            # Helix makes the external view some moments after the table; until then "Table not found".
            self.ideal_state(table_name_with_type)
            return {}

    def size(self, table_name_with_type: str) -> Mapping[str, Any]:
        """Return Pinot's answer about the table's size in bytes, by segment and server.

        Raises:
            NotFoundError: There is no such table.
        """
        document: Mapping[str, Any] = self._transport.get_json(
            path_of("tables", table_name_with_type, "size"), params={"detailed": "true"}
        )
        return document

    def task_config(self, table_name_with_type: str, task_type: str) -> dict[str, str] | None:
        """Return the configs of a task type; None when the table has none of it."""
        return self.get(table_name_with_type).task_config(task_type)

    def set_task_config(
        self, table_name_with_type: str, task_type: str, configs: Mapping[str, str] | None
    ) -> None:
        """Replace a task type's configs (None takes them out); all else of the table's config stays.

        Pinot has no compare-and-set for table configs, so the config is read back afterwards.

        Raises:
            NotFoundError: There is no such table.
            ConflictError: Somebody else wrote the table's config at the same time.
        """
        changed = self.get(table_name_with_type).with_task_config(task_type, configs)
        self.update(changed, skip_task_validation=True)
        found = self.task_config(table_name_with_type, task_type)
        if found != (None if configs is None else dict(configs)):
            raise ConflictError(
                f"the {task_type} config of {table_name_with_type} was changed by somebody else meanwhile",
                where=table_name_with_type,
                remedy="read the table's config and set it again",
            )

    def _config_document(self, table_name_with_type: str) -> dict[str, Any]:
        name = TableName(table_name_with_type)
        raw, table_type = name.raw, name.type
        # An unknown table is answered with an empty document, not with 404.
        answer = self._transport.get_json(path_of("tables", raw), params={"type": table_type.lower()}) or {}
        document: dict[str, Any] | None = answer.get(table_type)
        if document is None:
            raise NotFoundError(f"there is no table {table_name_with_type}", where=self._transport.base_url)
        return document

    def _view(self, table_name_with_type: str, view: str) -> SegmentStates:
        table_type = TableName(table_name_with_type).type
        answer = self._transport.get_json(
            path_of("tables", table_name_with_type, view), params={"tableType": table_type}
        )
        states: SegmentStates = (answer or {}).get(table_type) or {}
        return states

    def _skip(self, skip_task_validation: bool) -> dict[str, str | None]:
        # Older versions do not check task configs against generators, so there is nothing to skip.
        needed = skip_task_validation and self._capabilities().has(Capability.TASK_VALIDATION)
        return {"validationTypesToSkip": "TASK" if needed else None}
