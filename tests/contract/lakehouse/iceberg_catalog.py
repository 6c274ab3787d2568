"""A catalog of Iceberg's own library, served by REST with the servlet of Iceberg's own tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import jpype

from tests.contract.lakehouse.iceberg_library import iceberg_class, java_list
from tests.contract.lakehouse.iceberg_table import JavaTable
from tests.contract.lakehouse.iceberg_values import java_type

__all__ = ["JavaCatalog"]

_CATALOG, _NAMESPACE = "prod", "sales"


class JavaCatalog:
    """A catalog that this process has, and serves.

    Args:
        folder: For its database and its tables.
    """

    def __init__(self, folder: Path) -> None:
        self._database = f"{folder}/catalog.db"
        self._warehouse = f"file://{folder}/warehouse"
        self._catalog = iceberg_class("jdbc.JdbcCatalog")()
        self._catalog.setConf(jpype.JClass("org.apache.hadoop.conf.Configuration")())
        properties = {
            "uri": f"jdbc:sqlite:{self._database}",
            "warehouse": self._warehouse,
            "jdbc.schema-version": "V1",
            "io-impl": "org.apache.iceberg.hadoop.HadoopFileIO",
        }
        self._catalog.initialize(_CATALOG, jpype.JClass("java.util.HashMap")(properties))
        self._catalog.createNamespace(iceberg_class("catalog.Namespace").of(_NAMESPACE))
        self._server = jpype.JClass("org.eclipse.jetty.server.Server")()
        self._port = self._serve()

    def _serve(self) -> int:
        jetty = "org.eclipse.jetty"
        http = jpype.JClass(f"{jetty}.server.HttpConnectionFactory")()
        connector = jpype.JClass(f"{jetty}.server.ServerConnector")(self._server, http)
        connector.setHost("127.0.0.1")
        self._server.addConnector(connector)
        handler = jpype.JClass(f"{jetty}.ee10.servlet.ServletContextHandler")()
        servlet = iceberg_class("rest.RESTCatalogServlet")(
            iceberg_class("rest.RESTCatalogAdapter")(self._catalog)
        )
        handler.addServlet(jpype.JClass(f"{jetty}.ee10.servlet.ServletHolder")(servlet), "/*")
        self._server.setHandler(handler)
        self._server.start()
        return int(connector.getLocalPort())

    def close(self) -> None:
        """Stop serving it."""
        self._server.stop()

    @property
    def properties(self) -> Sequence[Mapping[str, str]]:
        """The properties by which others open it: by REST, and its database."""
        warehouse = {"warehouse": self._warehouse}
        return [
            {"type": "rest", "uri": f"http://127.0.0.1:{self._port}", **warehouse},
            {"type": "sql", "uri": f"sqlite:///{self._database}", **warehouse},
        ]

    def create(self, name: str, columns: Mapping[str, str], properties: Mapping[str, str]) -> JavaTable:
        """Create a table, without partitions.

        Args:
            name: Its name.
            columns: Column -> its type.
            properties: The table's.
        """
        fields = [
            iceberg_class("types.Types$NestedField").optional(number, column, java_type(kind))
            for number, (column, kind) in enumerate(columns.items(), 1)
        ]
        schema = iceberg_class("Schema")(java_list(fields))
        spec = iceberg_class("PartitionSpec").unpartitioned()
        identifier = iceberg_class("catalog.TableIdentifier").of(_NAMESPACE, name)
        table = self._catalog.createTable(
            identifier, schema, spec, jpype.JClass("java.util.HashMap")(properties)
        )
        return JavaTable(table, f"iceberg://{_CATALOG}/{_NAMESPACE}.{name}")

    def drop(self, name: str) -> None:
        """Drop a table with its files."""
        self._catalog.dropTable(iceberg_class("catalog.TableIdentifier").of(_NAMESPACE, name), True)
