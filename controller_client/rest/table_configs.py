"""Table configs, as they were written and as the controller uses them.

A text ``${NAME}`` or ``${NAME:default}`` in a config is a template: Pinot's roles replace it by a variable of
their environment when they read the config. Before Pinot 1.3, the controller's own answer has the replaced
texts. Whatever is written back, copied or exported must have the templates, or they would be lost, and the
controller's environment would be in the config. So it is read together with its record in ZooKeeper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller_client.common.names import TableName, TableType
from controller_client.common.references import is_template, misread_by_pinot
from controller_client.errors import AuthError, ConfigError, ConflictError, NotFoundError, PinotPluginError
from controller_client.models.table import record_document
from controller_client.rest.capabilities import Capability
from controller_client.rest.cluster import ClusterApi
from controller_client.rest.paths import path_of
from controller_client.rest.transport import Transport

__all__ = ["TableConfigs", "check_references", "with_templates"]

_ATTEMPTS = 3
_FAILED = 500


class TableConfigs:
    """Reads table configs.

    Args:
        transport: The controller's.
        cluster: The cluster, for its name and version.
    """

    def __init__(self, transport: Transport, cluster: ClusterApi) -> None:
        self._transport = transport
        self._cluster = cluster

    def in_use(self, raw_name: str, table_type: TableType | None = None) -> dict[TableName, dict[str, Any]]:
        """Return the configs of the tables with a raw name as the controller answers; for reading only.

        Before Pinot 1.3 templates are replaced.

        Args:
            raw_name: Name without type.
            table_type: Only the table of this type; None: of both.
        """
        params = {"type": None if table_type is None else table_type.lower()}
        try:
            # For an unknown table, versions before 1.4 return an empty document.
            return self._transport.get_value(
                path_of("tables", raw_name),
                dict,
                lambda answer: {
                    TableName.of(raw_name, TableType(key)): dict(value) for key, value in answer.items()
                },
                params=params,
            )
        except NotFoundError:
            return {}

    def written(self, raw_name: str, table_type: TableType | None = None) -> dict[TableName, dict[str, Any]]:
        """Return the configs of the tables with a raw name as they were written, with their templates.

        Arguments: see :meth:`in_use`.

        Raises:
            AuthError: The caller may not read the records, and the version replaces templates.
            ConflictError: A config is being changed, or its record does not match.
        """
        types = TableType if table_type is None else (table_type,)
        try:
            configs = self.in_use(raw_name, table_type)
        except PinotPluginError as error:
            if error.http_status != _FAILED:
                raise
            # Before Pinot 1.3: a variable is not set, so that the controller itself cannot read the config.
            records = {name: self._record(name) for name in (TableName.of(raw_name, each) for each in types)}
            configs = {name: each for name, each in records.items() if each is not None and _templates(each)}
            if not configs:
                raise
            return configs
        try:
            originals = {name: self._restored(name, config) for name, config in configs.items()}
        except AuthError as error:
            if self._cluster.capabilities().has(Capability.CONFIGS_AS_WRITTEN):
                return configs
            raise AuthError(
                f"the config of {raw_name} cannot be read as it was written: {error.message}",
                where=error.where,
                remedy="use a user who may read records of ZooKeeper through the controller (GET /zk/get):"
                " before Pinot 1.3, templates such as ${NAME:default} would be lost otherwise",
                http_status=error.http_status,
            ) from error
        return {name: config for name, config in originals.items() if config is not None}

    def _restored(self, name: TableName, config: dict[str, Any]) -> dict[str, Any] | None:
        """Return a config with its templates; None if the table was deleted meanwhile."""
        record = self._record(name)
        for _ in range(_ATTEMPTS):
            if record is None or not _templates(record):
                return None if record is None else config
            # Both must be of the same moment: the answer lies between two equal records.
            before, answer = record, self.in_use(name.raw, name.type).get(name)
            record = self._record(name)
            if answer is not None and record == before:
                restored: dict[str, Any] = with_templates(answer, record, str(name))
                return restored
        raise ConflictError(
            f"the config of {name} is being changed", where=name, remedy="run it again when nobody changes it"
        )

    def _record(self, name: TableName) -> dict[str, Any] | None:
        path = f"/{self._cluster.name()}/PROPERTYSTORE/CONFIGS/TABLE/{name}"
        try:
            fields = self._transport.get_json("/zk/get", dict, key="simpleFields", params={"path": path})
        except NotFoundError:
            return None
        return record_document(fields)


def check_references(document: Mapping[str, Any], present: Mapping[str, Any] | None = None) -> None:
    """Check that Pinot would not take a reference in a table's config for one of its own templates.

    Args:
        document: The config to be written.
        present: The config in the cluster; what is already there is no fault.

    Raises:
        ConfigError: It would; the error names the fields, not their values.
    """
    misread = [".".join(path) for path in _misread(document, present, ())]
    if misread:
        raise ConfigError(
            f"Pinot would take a reference for its own template, ${{NAME:default}}: {', '.join(misread)}",
            expected="a text that does not both start with ${ and end with }",
            remedy="put a blank before the reference, if a task resolves it; otherwise write the value, or a"
            " template of Pinot such as ${NAME}",
        )


def _misread(value: Any, present: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if isinstance(value, str):
        if misread_by_pinot(value) and value != present:
            yield path
    elif isinstance(value, Mapping):
        inner = present if isinstance(present, Mapping) else {}
        for key, child in value.items():
            yield from _misread(child, inner.get(key), (*path, str(key)))
    elif isinstance(value, list):
        items = present if isinstance(present, list) else []
        for number, child in enumerate(value):
            yield from _misread(child, items[number] if number < len(items) else None, (*path, str(number)))


def with_templates(answer: Any, written: Any, where: str) -> Any:
    """Return a config with the texts of another one wherever that has templates.

    Args:
        answer: The config as the controller answers.
        written: The config as it was written.
        where: The place of both, for the error.

    Raises:
        ConflictError: There is a template where the controller's answer has no text.
    """
    if isinstance(answer, str) and isinstance(written, str):
        return written if is_template(written) else answer
    if isinstance(answer, Mapping) and isinstance(written, Mapping) and answer.keys() >= _templates(written):
        return {
            key: with_templates(value, written[key], f"{where}.{key}") if key in written else value
            for key, value in answer.items()
        }
    if isinstance(answer, list) and isinstance(written, list) and len(answer) == len(written):
        pairs = enumerate(zip(answer, written, strict=True))
        return [with_templates(value, text, f"{where}[{number}]") for number, (value, text) in pairs]
    if _templates(written):
        raise ConflictError(
            f"{where} has a template in ZooKeeper, but not in the controller's answer",
            expected="the same fields in both",
            where=where,
            remedy="write the config anew with 'pinotctl table update', in the form of this version of Pinot",
        )
    return answer


def _templates(value: Any) -> set[Any]:
    """Return the keys or positions of a document below which there are templates."""
    if isinstance(value, str):
        return {""} if is_template(value) else set()
    inner = (
        value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    )
    return {key for key, each in inner if _templates(each)}
