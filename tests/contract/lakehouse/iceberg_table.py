"""A table that Iceberg's own library changes and reads: what it reads is what the table has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jpype

from tests.contract.lakehouse.iceberg_library import iceberg_class, java_list
from tests.contract.lakehouse.iceberg_values import Row, java_record, java_type, python_value

__all__ = ["JavaTable"]


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
        with iceberg_class("data.IcebergGenerics").read(self._table).build() as records:
            return [
                {column: python_value(record.get(place), kind) for place, (column, kind) in columns}
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
            iceberg_class("expressions.Expressions").alwaysTrue()
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
        change = self._table.newRowDelta().validateFromSnapshot(self._table.currentSnapshot().snapshotId())
        if self._is_format_3:
            self._add_vectors(change, {tasks[number]: rows for number, rows in by_file.items()})
        else:
            for file in self._position_deletes(
                [(tasks[number].file(), by_file[number]) for number in sorted(by_file)]
            ):
                change.addDeletes(file)
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
            factory = iceberg_class("data.GenericAppenderFactory")(
                self._table, schema, self._table.spec(), None, ids, keys, None
            )
            writer = factory.newEqDeleteWriter(self._new_file(partition), self._format, partition)
            with writer:
                for record in records:
                    writer.write(java_record(keys, {c: record.getField(c) for c in columns}))
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
        # Several vectors are in one file.
        deletes = {
            f"{file.location()} {file.contentOffset()}": file for task in tasks for file in task.deletes()
        }
        for file in (*deletes.values(), *(task.file() for task in tasks)):
            change.deleteFile(file)
        for file in self._data_files(rows):
            change.addFile(file)
        change.commit()

    def add_with_default(self, column: str, default: int | str) -> None:
        """Add a column that earlier rows have with a value (format 3)."""
        is_text = isinstance(default, str)
        literal = iceberg_class("expressions.Literal").of(
            jpype.JString(default) if is_text else jpype.JInt(default)
        )
        kind = java_type("string" if is_text else "int")
        self._table.updateSchema().addColumn(column, kind, literal).commit()

    def change_schema(self, change: str, *arguments: str) -> None:
        """Change the columns.

        Args:
            change: ``add``, ``drop``, ``rename``, ``promote`` (to long) or ``first`` (move it there).
            arguments: The column, and its type to ``add``, or its new name to ``rename``.
        """
        update = self._table.updateSchema()
        if change == "add":
            update.addColumn(arguments[0], java_type(arguments[1]))
        elif change == "drop":
            update.deleteColumn(*arguments)
        elif change == "rename":
            update.renameColumn(*arguments)
        elif change == "first":
            update.moveFirst(*arguments)
        else:
            update.updateColumn(arguments[0], java_type("long"))
        update.commit()

    def partition_by(self, column: str, transform: str) -> None:
        """Partition what is written from now on by a column as well."""
        expressions = iceberg_class("expressions.Expressions")
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
    def _is_format_3(self) -> bool:
        return int(self._table.operations().current().formatVersion()) > 2

    @property
    def _format(self) -> Any:
        return iceberg_class("FileFormat").fromString(self._table.properties().get("write.format.default"))

    def _tasks(self) -> list[Any]:
        with self._table.newScan().planFiles() as tasks:
            return sorted(tasks, key=lambda task: str(task.file().location()))

    def _new_file(self, partition: Any, spec: Any = None, suffix: Any = None) -> Any:
        spec = spec or self._table.spec()
        files = iceberg_class("io.OutputFileFactory").builderFor(
            self._table, 1, jpype.java.lang.System.nanoTime()
        )
        files = files.format(suffix or self._format).build()
        return files.newOutputFile() if partition is None else files.newOutputFile(spec, partition)

    def _by_partition(self, rows: Sequence[Row]) -> list[tuple[Any, list[Any]]]:
        """Return each partition, None if the table has none, with its records."""
        schema, spec = self._table.schema(), self._table.spec()
        groups: dict[str, tuple[Any, list[Any]]] = {}
        for row in rows:
            record = java_record(schema, row)
            partition = iceberg_class("PartitionKey")(spec, schema)
            partition.partition(iceberg_class("data.InternalRecordWrapper")(schema.asStruct()).wrap(record))
            group = groups.setdefault(str(partition), (partition if spec.isPartitioned() else None, []))
            group[1].append(record)
        return list(groups.values())

    def _data_files(self, rows: Sequence[Row]) -> list[Any]:
        files = []
        for partition, records in self._by_partition(rows):
            factory = iceberg_class("data.GenericAppenderFactory")(self._table.schema(), self._table.spec())
            writer = factory.newDataWriter(self._new_file(partition), self._format, partition)
            with writer:
                for record in records:
                    writer.write(record)
            files.append(writer.toDataFile())
        return files

    def _position_deletes(self, rows_of: Sequence[tuple[Any, Sequence[int]]]) -> list[Any]:
        """Return a delete file for each partition; the data files come in the order of their paths."""
        groups: dict[tuple[int, str], list[tuple[Any, Sequence[int]]]] = {}
        for data, rows in rows_of:
            groups.setdefault((int(data.specId()), str(data.partition())), []).append((data, rows))
        deletes = []
        for files in groups.values():
            spec = self._table.specs().get(files[0][0].specId())
            partition = files[0][0].partition() if spec.isPartitioned() else None
            factory = iceberg_class("data.GenericAppenderFactory")(self._table.schema(), spec)
            writer = factory.newPosDeleteWriter(self._new_file(partition, spec), self._format, partition)
            with writer:
                for data, rows in files:
                    for row in rows:
                        delete = iceberg_class("deletes.PositionDelete").create()
                        writer.write(delete.set(data.location(), row, None))
            deletes.append(writer.toDeleteFile())
        return deletes

    def _add_vectors(self, change: Any, rows_of: Mapping[Any, Sequence[int]]) -> None:
        """Add a deletion vector for each data file, which has what that of before has."""
        loader = iceberg_class("data.BaseDeleteLoader")(
            lambda file: self._table.io().newInputFile(file.location())
        )
        of_path = {str(task.file().location()): task for task in rows_of}

        def before(path: Any) -> Any:
            by_position = [file for file in of_path[str(path)].deletes() if file.equalityFieldIds() is None]
            return loader.loadPositionDeletes(java_list(by_position), path) if by_position else None

        puffin = iceberg_class("FileFormat").PUFFIN
        files = iceberg_class("io.OutputFileFactory").builderFor(
            self._table, 1, jpype.java.lang.System.nanoTime()
        )
        writer = iceberg_class("deletes.BaseDVFileWriter")(
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
