"""Iceberg's own library, in a JVM of this process: what it reads is what a table has.

Its catalog is in a file, and is also served by REST, with the servlet of Iceberg's own tests.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import jpype
import pyspark

from jvm_bridge.jars import JarCache, Repository, cache_folder, parse_pins
from jvm_bridge.jars.download import MIRROR_VARIABLE
from jvm_bridge.jdk import find_java, module_flags

__all__ = ["CATALOG", "JavaCatalog", "JavaTable", "Row", "start_iceberg"]

Row = Mapping[str, Any]
"""The values of a row, by column."""

CATALOG = "prod"

_NAME = "iceberg-1.11.0"
_PINS = Path(__file__).parents[2] / "pins"
_NAMESPACE = "sales"


def start_iceberg() -> None:
    """Start the JVM with Iceberg's jars, which are fetched at the first call on a machine, and Hadoop's."""
    pins = parse_pins(_NAME, (_PINS / f"{_NAME}.txt").read_text(encoding="utf-8"))
    jars = JarCache(cache_folder(), Repository(os.environ.get(MIRROR_VARIABLE) or None)).ensure(pins)
    hadoop = sorted(Path(pyspark.__file__).parent.glob("jars/hadoop-client-*.jar"))
    java = find_java()
    options = ["-Xmx512m", "-Xrs", "-XX:+UseSerialGC", *module_flags(java.version)]
    class_path = [*map(str, jars), *map(str, hadoop)]
    jpype.startJVM(*options, jvmpath=java.jvm_library, classpath=class_path, convertStrings=False)


def _class(name: str) -> Any:
    return jpype.JClass(f"org.apache.iceberg.{name}")


def _list(values: Iterable[Any]) -> Any:
    result = jpype.JClass("java.util.ArrayList")()
    for value in values:
        result.add(value)
    return result


class JavaCatalog:
    """A catalog that this process has, and serves.

    Args:
        folder: For its database and its tables.
    """

    def __init__(self, folder: Path) -> None:
        self._database = f"{folder}/catalog.db"
        self._warehouse = f"file://{folder}/warehouse"
        self._catalog = _class("jdbc.JdbcCatalog")()
        self._catalog.setConf(jpype.JClass("org.apache.hadoop.conf.Configuration")())
        properties = {
            "uri": f"jdbc:sqlite:{self._database}",
            "warehouse": self._warehouse,
            "jdbc.schema-version": "V1",
            "io-impl": "org.apache.iceberg.hadoop.HadoopFileIO",
        }
        self._catalog.initialize(CATALOG, jpype.JClass("java.util.HashMap")(properties))
        self._catalog.createNamespace(_class("catalog.Namespace").of(_NAMESPACE))
        self._server = jpype.JClass("org.eclipse.jetty.server.Server")()
        self._port = self._serve()

    def _serve(self) -> int:
        jetty = "org.eclipse.jetty"
        http = jpype.JClass(f"{jetty}.server.HttpConnectionFactory")()
        connector = jpype.JClass(f"{jetty}.server.ServerConnector")(self._server, http)
        connector.setHost("127.0.0.1")
        self._server.addConnector(connector)
        handler = jpype.JClass(f"{jetty}.ee10.servlet.ServletContextHandler")()
        servlet = _class("rest.RESTCatalogServlet")(_class("rest.RESTCatalogAdapter")(self._catalog))
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
            _class("types.Types$NestedField").optional(number, column, _type(kind))
            for number, (column, kind) in enumerate(columns.items(), 1)
        ]
        schema = _class("Schema")(_list(fields))
        spec = _class("PartitionSpec").unpartitioned()
        identifier = _class("catalog.TableIdentifier").of(_NAMESPACE, name)
        table = self._catalog.createTable(
            identifier, schema, spec, jpype.JClass("java.util.HashMap")(properties)
        )
        return JavaTable(table, f"iceberg://{CATALOG}/{_NAMESPACE}.{name}")

    def drop(self, name: str) -> None:
        """Drop a table with its files."""
        self._catalog.dropTable(_class("catalog.TableIdentifier").of(_NAMESPACE, name), True)


class JavaTable:
    """A table, changed and read by Iceberg's own library.

    Attributes:
        uri: As `inputDirURI` names it.
    """

    def __init__(self, table: Any, uri: str) -> None:
        self._table = table
        self.uri = uri

    @property
    def columns(self) -> dict[str, str]:
        """Column -> its type."""
        return {str(field.name()): str(field.type()) for field in self._table.schema().columns()}

    @property
    def snapshots(self) -> list[int]:
        """The ids of the snapshots that it still has."""
        return [int(snapshot.snapshotId()) for snapshot in self._table.snapshots()]

    @property
    def partition_columns(self) -> list[str]:
        """The names of the columns by which it is partitioned now."""
        schema = self._table.schema()
        return [str(schema.findColumnName(field.sourceId())) for field in self._table.spec().fields()]

    def read(self) -> list[Row]:
        """Return all rows of the current snapshot."""
        columns = list(enumerate(self.columns.items()))
        with _class("data.IcebergGenerics").read(self._table).build() as records:
            return [
                {column: _from_java(record.get(place), kind) for place, (column, kind) in columns}
                for record in records
            ]

    def append(self, *files: Sequence[Row]) -> None:
        """Append rows, those of each file in a file for each partition."""
        change = self._table.newAppend()
        for rows in files:
            for file in self._data_files(rows):
                change.appendFile(file)
        change.commit()

    def overwrite(self, rows: Sequence[Row]) -> None:
        """Replace all rows."""
        change = self._table.newOverwrite().overwriteByRowFilter(
            _class("expressions.Expressions").alwaysTrue()
        )
        for file in self._data_files(rows):
            change.addFile(file)
        change.commit()

    def replace_partitions(self, rows: Sequence[Row]) -> None:
        """Replace the partitions that have these rows."""
        change = self._table.newReplacePartitions()
        for file in self._data_files(rows):
            change.addFile(file)
        change.commit()

    def delete_file(self, number: int) -> None:
        """Delete a data file."""
        tasks = self._tasks()
        self._table.newDelete().deleteFile(tasks[number % len(tasks)].file()).commit()

    def delete_positions(self, places: Sequence[tuple[int, int]]) -> None:
        """Delete rows by their places in data files: by delete files, or in format 3 by deletion vectors.

        Args:
            places: Numbers of data files and of rows in them, each taken modulo how many there are.
        """
        tasks = self._tasks()
        chosen = {
            (file % len(tasks), row % tasks[file % len(tasks)].file().recordCount()) for file, row in places
        }
        by_file = {number: sorted(row for file, row in chosen if file == number) for number, _ in chosen}
        change = self._table.newRowDelta()
        if self._table.operations().current().formatVersion() > 2:
            self._add_vectors(change, {tasks[number]: rows for number, rows in by_file.items()})
        else:
            for number, rows in sorted(by_file.items()):
                change.addDeletes(self._position_deletes(tasks[number].file(), rows))
        change.commit()

    def delete_equal(self, columns: Sequence[str], rows: Sequence[Row], *, add: bool) -> None:
        """Delete the rows that equal others in some columns, in the partitions of these, as Flink does.

        Args:
            columns: The columns.
            rows: The other rows.
            add: Whether they are also added, so that it is an upsert.
        """
        change = self._table.newRowDelta()
        schema = self._table.schema()
        keys = schema.select(*columns)
        ids = jpype.JArray(jpype.JInt)([schema.findField(column).fieldId() for column in columns])
        for partition, records in self._by_partition(rows):
            factory = _class("data.GenericAppenderFactory")(
                self._table, schema, self._table.spec(), None, ids, keys, None
            )
            writer = factory.newEqDeleteWriter(self._new_file(partition), self._format, partition)
            with writer:
                for record in records:
                    writer.write(_record(keys, {c: record.getField(c) for c in columns}))
            change.addDeletes(writer.toDeleteFile())
        for file in self._data_files(rows) if add else ():
            change.addRows(file)
        change.commit()

    def compact(self, *, keep_sequence_number: bool) -> None:
        """Write all rows into new files.

        Args:
            keep_sequence_number: Whether these count as written by the current snapshot, as compactions want
                that deletes committed meanwhile still apply.
        """
        tasks, rows = self._tasks(), self.read()
        snapshot = self._table.currentSnapshot()
        change = self._table.newRewrite().validateFromSnapshot(snapshot.snapshotId())
        if keep_sequence_number:
            change.dataSequenceNumber(snapshot.sequenceNumber())
        deletes = {str(file.location()): file for task in tasks for file in task.deletes()}
        is_vector = self._table.operations().current().formatVersion() > 2
        for file in () if is_vector else deletes.values():
            change.deleteFile(file)
        for task in tasks:
            change.deleteFile(task.file())
            for file in task.deletes() if is_vector else ():
                change.deleteFile(file)
        for file in self._data_files(rows):
            change.addFile(file)
        change.commit()

    def change_schema(self, change: str, *arguments: str) -> None:
        """Change the columns.

        Args:
            change: ``add``, ``drop``, ``rename``, ``promote`` (to long) or ``first`` (move it there).
            arguments: The column, and its type to ``add``, or its new name to ``rename``.
        """
        update = self._table.updateSchema()
        if change == "add":
            update.addColumn(arguments[0], _type(arguments[1]))
        elif change == "drop":
            update.deleteColumn(*arguments)
        elif change == "rename":
            update.renameColumn(*arguments)
        elif change == "first":
            update.moveFirst(*arguments)
        else:
            update.updateColumn(arguments[0], _type("long"))
        update.commit()

    def partition_by(self, column: str, transform: str) -> None:
        """Partition what is written from now on by a column as well."""
        expressions = _class("expressions.Expressions")
        term = expressions.bucket(column, 2) if transform == "bucket" else expressions.ref(column)
        self._table.updateSpec().addField(term).commit()

    def remove_partitions(self) -> None:
        """Write without partitions from now on."""
        update = self._table.updateSpec()
        for field in self._table.spec().fields():
            update.removeField(field.name())
        update.commit()

    def expire(self) -> None:
        """Expire all snapshots but the current one, and delete what only they have."""
        later_ms = self._table.currentSnapshot().timestampMillis() + 1
        self._table.expireSnapshots().expireOlderThan(later_ms).retainLast(1).commit()

    def roll_back(self, snapshot: int) -> None:
        """Make an earlier snapshot the current one."""
        self._table.manageSnapshots().setCurrentSnapshot(snapshot).commit()

    @property
    def _format(self) -> Any:
        return _class("FileFormat").fromString(self._table.properties().get("write.format.default"))

    def _tasks(self) -> list[Any]:
        with self._table.newScan().planFiles() as tasks:
            return sorted(tasks, key=lambda task: str(task.file().location()))

    def _new_file(self, partition: Any, spec: Any = None, suffix: Any = None) -> Any:
        spec = spec or self._table.spec()
        files = _class("io.OutputFileFactory").builderFor(self._table, 1, jpype.java.lang.System.nanoTime())
        files = files.format(suffix or self._format).build()
        return files.newOutputFile() if partition is None else files.newOutputFile(spec, partition)

    def _by_partition(self, rows: Sequence[Row]) -> list[tuple[Any, list[Any]]]:
        """Return each partition, None if the table has none, with its records."""
        schema, spec = self._table.schema(), self._table.spec()
        groups: dict[str, tuple[Any, list[Any]]] = {}
        for row in rows:
            record = _record(schema, row)
            partition = _class("PartitionKey")(spec, schema)
            partition.partition(_class("data.InternalRecordWrapper")(schema.asStruct()).wrap(record))
            group = groups.setdefault(str(partition), (partition if spec.isPartitioned() else None, []))
            group[1].append(record)
        return list(groups.values())

    def _data_files(self, rows: Sequence[Row]) -> list[Any]:
        files = []
        for partition, records in self._by_partition(rows):
            factory = _class("data.GenericAppenderFactory")(self._table.schema(), self._table.spec())
            writer = factory.newDataWriter(self._new_file(partition), self._format, partition)
            with writer:
                for record in records:
                    writer.write(record)
            files.append(writer.toDataFile())
        return files

    def _position_deletes(self, data: Any, rows: Sequence[int]) -> Any:
        spec = self._table.specs().get(data.specId())
        partition = data.partition() if spec.isPartitioned() else None
        factory = _class("data.GenericAppenderFactory")(self._table.schema(), spec)
        writer = factory.newPosDeleteWriter(self._new_file(partition, spec), self._format, partition)
        with writer:
            for row in rows:
                writer.write(_class("deletes.PositionDelete").create().set(data.location(), row, None))
        return writer.toDeleteFile()

    def _add_vectors(self, change: Any, rows_of: Mapping[Any, Sequence[int]]) -> None:
        """Add a deletion vector for each data file, which has what that of before has."""
        loader = _class("data.BaseDeleteLoader")(lambda file: self._table.io().newInputFile(file.location()))
        of_path = {str(task.file().location()): task for task in rows_of}

        def before(path: Any) -> Any:
            by_position = [file for file in of_path[str(path)].deletes() if file.equalityFieldIds() is None]
            return loader.loadPositionDeletes(_list(by_position), path) if by_position else None

        puffin = _class("FileFormat").PUFFIN
        files = _class("io.OutputFileFactory").builderFor(self._table, 1, jpype.java.lang.System.nanoTime())
        writer = _class("deletes.BaseDVFileWriter")(
            files.format(puffin).build(), jpype.JProxy("java.util.function.Function", {"apply": before})
        )
        with writer:
            for task, rows in rows_of.items():
                data = task.file()
                for row in rows:
                    writer.delete(
                        data.location(), row, self._table.specs().get(data.specId()), data.partition()
                    )
        for file in writer.result().deleteFiles():
            change.addDeletes(file)
        for file in writer.result().rewrittenDeleteFiles():
            change.removeDeletes(file)


_TYPES = {
    "int": "IntegerType",
    "long": "LongType",
    "double": "DoubleType",
    "string": "StringType",
    "date": "DateType",
}


def _type(name: str) -> Any:
    if name == "timestamp":
        return _class("types.Types$TimestampType").withoutZone()
    if name.startswith("decimal"):
        return _class("types.Types$DecimalType").of(9, 2)
    return _class(f"types.Types${_TYPES[name]}").get()


def _record(schema: Any, row: Row) -> Any:
    record = _class("data.GenericRecord").create(schema)
    for field in schema.columns():
        value = row.get(str(field.name()))
        record.setField(field.name(), _to_java(value, str(field.type())))
    return record


def _to_java(value: Any, kind: str) -> Any:
    if value is None or isinstance(value, jpype.JObject):
        return value
    if kind in {"int", "long", "double"}:
        names = {"int": "Integer", "long": "Long", "double": "Double"}
        return jpype.JClass(f"java.lang.{names[kind]}")(value)
    if kind == "date":
        return jpype.java.time.LocalDate.parse(value.isoformat())
    if kind == "timestamp":
        return jpype.java.time.LocalDateTime.parse(value.isoformat())
    return jpype.java.math.BigDecimal(str(value)) if kind.startswith("decimal") else jpype.JString(value)


def _from_java(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind in {"int", "long"}:
        return int(value)
    if kind == "double":
        return float(value)
    if kind == "date":
        return date.fromisoformat(str(value))
    if kind == "timestamp":
        return datetime.fromisoformat(str(value))
    return Decimal(str(value)) if kind.startswith("decimal") else str(value)
