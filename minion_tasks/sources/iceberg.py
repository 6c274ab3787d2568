"""Iceberg tables as a source, read by pyiceberg: all kinds of deletes are applied."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.io.pyarrow import UnsupportedPyArrowTypeException, pyarrow_to_schema, schema_to_pyarrow
from pyiceberg.manifest import FileFormat
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.types import FixedType, TimeType, UUIDType

from controller_client.common.redaction import Redactor
from controller_client.common.text import visible
from controller_client.errors import SourceError
from controller_client.filestore import FileInfo
from minion_tasks.sources.base import Columns, PinKind, SourceVersion, VersionPin
from minion_tasks.sources.iceberg_catalog import load_table, open_catalog
from minion_tasks.sources.iceberg_deletes import FORMATS, DataFileUnit, plan_units
from minion_tasks.sources.iceberg_properties import IcebergTable, secret_values
from minion_tasks.sources.iceberg_reader import UnitReader
from minion_tasks.sources.units import (
    KeptListings,
    LakehouseSource,
    Units,
    changed,
    check_size,
    digest,
    write_parquet,
)

__all__ = ["IcebergSource"]

_NOT_IN_ORC = (FixedType, TimeType, UUIDType)

_LISTINGS: KeptListings[DataFileUnit] = KeptListings()


class IcebergSource(LakehouseSource[DataFileUnit]):
    """A table of an Iceberg catalog.

    Args:
        uri: ``iceberg://CATALOG/NAMESPACE.TABLE``.
        properties: The catalog's checked properties, with resolved references.
        pin: The version to read instead of the current one.
    """

    def __init__(self, uri: str, properties: Mapping[str, str], pin: VersionPin | None = None) -> None:
        super().__init__(f"Iceberg table {uri}", Redactor(secret_values(properties)))
        self._uri = uri.rstrip("/")
        self._named = IcebergTable.parse(uri)
        self._properties = properties
        self._pin = pin
        self._opened: UnitReader | None = None

    def _units(self, columns: Columns, version: SourceVersion | None) -> Units[DataFileUnit] | None:
        self._opened = self._load()
        snapshot = self._snapshot() if version is None else self._snapshot_of(version)
        return None if snapshot is None else self._units_of(snapshot, self._selected(snapshot, columns))

    def _copy(self, file: FileInfo, version: SourceVersion, columns: Columns, path: Path) -> None:
        snapshot = self._snapshot_of(version)
        selected = self._selected(snapshot, columns)
        unit = self._units_of(snapshot, selected).plan(file)
        try:
            self._download(unit, file, path)
            if not unit.delete_paths and _is_as_selected(path, self._table, selected, columns):
                return
            # The rows that are not deleted, with the table's names and types.
            batches = self._reader.batches(unit, selected)
            write_parquet(path, schema_to_pyarrow(selected, include_field_ids=False), batches)
        except FileNotFoundError:
            raise changed(file, "was removed after it was listed, as its snapshot has expired") from None

    def _download(self, unit: DataFileUnit, file: FileInfo, path: Path) -> None:
        with self._table.io.new_input(unit.task.file.file_path).open() as source, path.open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
        check_size(file, path, "the table's metadata")

    @cached_property
    def _catalog(self) -> Catalog:
        return open_catalog(self._named.catalog, self._properties)

    def _load(self) -> UnitReader:
        return UnitReader(load_table(self._catalog, self._named.name, self._properties))

    @property
    def _reader(self) -> UnitReader:
        """Reads the table as it was listed, or as it is when the first unit is read."""
        if self._opened is None:
            self._opened = self._load()
        return self._opened

    @property
    def _table(self) -> Table:
        return self._reader.table

    def _snapshot_of(self, version: SourceVersion) -> Snapshot:
        snapshot = self._table.snapshot_by_id(int(version.id))
        if snapshot is None:
            raise SourceError(
                f"the Iceberg table {self._uri} no longer has the snapshot {version.id}: it has expired",
                remedy="run the task again; it will read the current snapshot",
            )
        return snapshot

    def _snapshot(self) -> Snapshot | None:
        """Return the snapshot that is read now; None if the table has none yet."""
        pin, table = self._pin, self._table
        if pin is None:
            return table.current_snapshot()
        if pin.kind is PinKind.TIME:
            snapshot = table.snapshot_as_of_timestamp(int(pin.time.timestamp() * 1000))
        elif pin.kind is PinKind.ID:
            snapshot = table.snapshot_by_id(int(pin.name))
        else:
            reference = table.metadata.refs.get(pin.name)
            is_kind = reference is not None and reference.snapshot_ref_type == pin.kind.value
            snapshot = table.snapshot_by_id(reference.snapshot_id) if reference and is_kind else None
        if snapshot is None:
            raise SourceError(
                f"the Iceberg table {self._uri} has no {pin.kind} {visible(pin.name)}",
                expected="a branch, tag or snapshot that the table has, or a time after its first snapshot",
                remedy="correct sourceVersion, or remove it to follow the table",
            )
        return snapshot

    def _schema(self, snapshot: Snapshot) -> Schema:
        """Return the schema by which a snapshot is read: the table's own, or that of a pinned snapshot."""
        table = self._table
        if self._pin is None or self._pin.kind is PinKind.BRANCH or snapshot.schema_id is None:
            return table.schema()
        return table.schemas()[snapshot.schema_id]

    def _selected(self, snapshot: Snapshot, columns: Columns) -> Schema:
        """Return the fields that the Pinot table reads."""
        schema = self._schema(snapshot)
        names = [field.name for field in schema.fields if columns is None or field.name in columns]
        return schema.select(*names) if names else Schema()

    def _units_of(self, snapshot: Snapshot, selected: Schema) -> Units[DataFileUnit]:
        fields = sorted(selected.fields, key=lambda field: field.name)
        projection = digest(
            [(field.name, field.field_id, str(field.field_type), field.initial_default) for field in fields]
        )
        key = (self._uri, str(self._table.metadata.table_uuid), snapshot.snapshot_id, projection)
        return _LISTINGS.get(key, lambda: self._plan(snapshot, selected, projection))

    def _plan(self, snapshot: Snapshot, selected: Schema, projection: str) -> Units[DataFileUnit]:
        files: dict[str, FileInfo] = {}
        plans, rows = {}, 0
        not_in_orc = _not_in_orc(selected)
        for unit in plan_units(self._uri, self._table, snapshot, self._schema(snapshot)):
            data = unit.task.file
            if data.file_format not in FORMATS:
                raise SourceError(
                    f"the Iceberg table {self._uri} has a data file in the format {data.file_format.value}",
                    expected="Parquet or ORC",
                    where=visible(data.file_path),
                )
            if data.file_format == FileFormat.ORC and not_in_orc:
                raise SourceError(
                    f"the Iceberg table {self._uri} has columns not read from ORC files: {not_in_orc}",
                    expected="columns of other types, or Parquet files",
                    where=visible(data.file_path),
                    remedy="leave them out of the Pinot table, or rewrite the files of the Iceberg table as"
                    " Parquet",
                )
            uri = f"{self._uri}/{data.file_path}"
            identity = digest(data.file_path, projection, unit.delete_paths)
            files[uri] = FileInfo(uri, data.file_size_in_bytes, 0, identity)
            plans[uri] = unit
            rows += data.record_count
        version = SourceVersion(str(snapshot.snapshot_id), snapshot.timestamp_ms)
        return Units(version, dict(sorted(files.items())), plans, rows)

    def _known(self, error: Exception) -> SourceError | None:
        if isinstance(error, NoSuchTableError):
            return SourceError(
                f"there is no Iceberg table {self._uri}",
                expected="a table of the catalog with these properties",
                remedy="check the namespace and the table in inputDirURI, and input.fs.prop.uri",
            )
        return None


def _not_in_orc(selected: Schema) -> str:
    """List the columns whose types pyiceberg does not find in ORC files, which store them as others."""
    kinds = [(field.name, field.field_type) for field in selected.fields]
    return ", ".join(f"{visible(name)} ({kind})" for name, kind in kinds if isinstance(kind, _NOT_IN_ORC))


def _is_as_selected(path: Path, table: Table, selected: Schema, columns: Columns) -> bool:
    """Whether a data file has each column by its present name, id and type, and no old one by such a name."""
    try:
        arrow = pq.read_schema(path)
        # Files that were added to the table may lack field ids.
        metadata = table.metadata
        file = pyarrow_to_schema(arrow, metadata.name_mapping(), format_version=metadata.format_version)
        present = {field.name: field for field in file.fields}
    except (ValueError, TypeError, pa.ArrowException, UnsupportedPyArrowTypeException):
        return False  # ORC, or columns that only a projection can read
    for field in selected.fields:
        there = present.pop(field.name, None)
        if there is None or (there.field_id, there.field_type) != (field.field_id, field.field_type):
            return False
    return not (present if columns is None else present.keys() & columns)
