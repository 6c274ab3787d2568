"""Opens Iceberg catalogs with what a task's config says, and nothing that a server or a table says instead.

pyiceberg lets the catalog's server and the table's properties name classes to import, the endpoint that gets
the keys of the config, and files on this machine. Whoever may write to a table is not who wrote the config,
so here:

- only listed properties are taken, from the config and from the server, and none of the table's properties;
- the keys of a store and its address have one owner: either the config names both or the server does;
- files of this machine are read only below a local ``warehouse`` of the config, as the operator allows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import requests
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import PyArrowFile, PyArrowFileIO
from pyiceberg.table import Table

from controller_client.common.http_session import HttpSession
from controller_client.common.reply_limits import reply_limits
from controller_client.common.text import visible
from controller_client.config import max_reply_bytes
from controller_client.errors import SourceError
from controller_client.filestore import scheme_of
from controller_client.filestore.local import path_in
from controller_client.filestore.operator_folders import OperatorFolders
from minion_tasks.sources.iceberg_properties import FROM_SERVER, STORE_GROUPS

__all__ = ["load_table", "open_catalog"]

_SCHEMES = frozenset({"s3", "s3a", "s3n", "gs", "gcs", "abfs", "abfss", "file"})
_CONNECT_S, _READ_S = 5.0, 60.0


def open_catalog(name: str, properties: Mapping[str, str]) -> Catalog:
    """Open a catalog; REST catalogs are asked for their configuration.

    Args:
        name: Its name; SQL catalogs have several in one database.
        properties: Checked properties with resolved references.
    """
    named = {key: value for key, value in properties.items() if key != "type"}
    kind = properties["type"]
    catalog: Catalog
    if kind == "rest":
        if "credential" in named:
            # The catalog's own, by Iceberg's specification; pyiceberg guesses it with a warning.
            named.setdefault("oauth2-server-uri", f"{named['uri'].rstrip('/')}/v1/oauth/tokens")
        catalog = _Rest(name, **named)
    elif kind == "sql":
        from pyiceberg.catalog.sql import SqlCatalog

        # A reader creates no tables in the database.
        catalog = SqlCatalog(name, **named, init_catalog_tables="false")
    elif kind == "glue":
        from pyiceberg.catalog.glue import GlueCatalog

        catalog = GlueCatalog(name, **named)
    else:
        from pyiceberg.catalog.hive import HiveCatalog

        catalog = HiveCatalog(name, **named)

    def file_io(properties: Mapping[str, Any] = {}, location: str | None = None) -> FileIO:
        # The first are properties of the table and, from REST, of the server: `load_table` adds the latter.
        return _FileIO(named, {})

    catalog._load_file_io = file_io  # type: ignore[method-assign]  # noqa: SLF001  # no public way
    return catalog


def load_table(catalog: Catalog, name: tuple[str, ...], properties: Mapping[str, str]) -> Table:
    """Load a table's current metadata.

    Args:
        catalog: The catalog.
        name: Namespace and table.
        properties: The properties with which it was opened.
    """
    table = catalog.load_table(name)
    served: dict[str, str] = {}
    if isinstance(catalog, _Rest):
        # The most specific last, as Iceberg's specification says.
        served = {**catalog.served, **table.config, **catalog.vended}
    table.io = _FileIO(properties, served)
    return table


class _Rest(RestCatalog):
    """A REST catalog whose server says neither where credentials go nor what code is imported.

    Attributes:
        served: Properties that its server sets for all tables.
        vended: Credentials that came with the table that was loaded last.
    """

    def __init__(self, name: str, **properties: str) -> None:
        self.served: dict[str, str] = {}
        self.vended: dict[str, str] = {}
        super().__init__(name, **properties)

    def _fetch_config(self) -> None:
        named = dict(self.properties)
        super()._fetch_config()
        self.served = {key: value for key, value in self.properties.items() if named.get(key) != value}
        of_server = {key: value for key, value in self.served.items() if key in FROM_SERVER}
        self.properties = {**named, **of_server}
        self.uri = named["uri"]

    def _create_session(self) -> requests.Session:
        theirs = super()._create_session()
        session = _of_catalog(theirs)
        session.auth = theirs.auth
        return session

    def _create_legacy_oauth2_auth_manager(self, session: requests.Session) -> Any:
        return super()._create_legacy_oauth2_auth_manager(_of_catalog(session))

    def _response_to_table(self, identifier_tuple: tuple[str, ...], table_response: Any) -> Table:
        credentials = self._resolve_storage_credentials(
            table_response.storage_credentials, table_response.metadata_location
        )
        self.vended = dict(credentials)
        return super()._response_to_table(identifier_tuple, table_response)


class _CatalogSession(HttpSession):
    """Waits for no reply without an end, and reads none without a limit."""

    def request(self, *arguments: Any, **options: Any) -> requests.Response:
        options["timeout"] = (_CONNECT_S, _READ_S)
        options["hooks"] = reply_limits(max_reply_bytes())
        return super().request(*arguments, **options)


def _of_catalog(session: requests.Session) -> _CatalogSession:
    ours = _CatalogSession()
    ours.headers.update(session.headers)
    return ours


def _unsigned_if_elsewhere(properties: Mapping[str, str]) -> dict[str, str]:
    """Keep this machine's own keys from an address that neither AWS nor the operator has named."""
    endpoint = properties.get("s3.endpoint")
    if endpoint is None:
        return dict(properties)
    # boto3 takes 200 ms to import.
    from controller_client.filestore.s3 import goes_unsigned

    is_unsigned = goes_unsigned(endpoint, has_own_keys="s3.access-key-id" in properties)
    return {**properties, "s3.anonymous": "true"} if is_unsigned else dict(properties)


class _FileIO(PyArrowFileIO):
    """Reads the files of a table.

    Args:
        named: Properties of the config.
        served: Properties from the catalog's server.
    """

    def __init__(self, named: Mapping[str, str], served: Mapping[str, str]) -> None:
        chosen: dict[str, str] = {}
        for group in STORE_GROUPS:
            of_config = {key: value for key, value in named.items() if key in group}
            of_server = {key: value for key, value in served.items() if key in group}
            chosen |= of_server or of_config
        super().__init__(_unsigned_if_elsewhere(chosen))
        self._warehouse = named.get("warehouse")
        self._folders = OperatorFolders()

    def new_input(self, location: str) -> PyArrowFile:
        """Return a file of the table; called by pyiceberg for each path in metadata."""
        scheme = scheme_of(location)
        if scheme not in _SCHEMES:
            raise SourceError(
                f"the table names a file of the scheme {visible(scheme)!r}: {visible(location)}",
                expected="a file in " + ", ".join(f"{known}:" for known in sorted(_SCHEMES)),
            )
        if scheme == "file":
            self._check_local(Path(path_in(location)), location)
        return super().new_input(location)

    def _check_local(self, path: Path, location: str) -> None:
        target = Path(os.path.realpath(path))
        warehouse = self._warehouse
        folder = None if warehouse is None or scheme_of(warehouse) != "file" else Path(path_in(warehouse))
        if folder is not None and target.is_relative_to(os.path.realpath(folder)):
            self._folders.check_resolved(target, path)
            return
        raise SourceError(
            f"the table names a file of this machine outside of its warehouse: {visible(location)}",
            expected="a file below the warehouse of the catalog" + (f", {folder}" if folder else ""),
            remedy="set input.fs.prop.warehouse to the local folder of the catalog's tables",
        )
