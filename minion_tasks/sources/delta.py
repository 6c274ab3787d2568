"""Delta tables as a source: delta-rs reads the log and the deletion vectors; files are read one by one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from controller_client.common.redaction import Redactor
from controller_client.common.text import visible
from controller_client.errors import SourceError
from controller_client.filestore import FileInfo, FileStore, scheme_of
from controller_client.filestore.local import path_in
from controller_client.filestore.operator_folders import OperatorFolders
from minion_tasks.sources.base import Columns, PinKind, SourceVersion, VersionPin
from minion_tasks.sources.delta_columns import DeltaColumns
from minion_tasks.sources.units import KeptListings, LakehouseSource, Units, check_size, digest, write_parquet

__all__ = ["DeltaSource"]

_BATCH_ROWS = 65_536
_OF_ACTION = ["path", "size_bytes", "modification_time", "num_records"]
# What delta-rs says of a version that does not exist yet, and of one whose log was cleaned up.
_MISSING_VERSION = ("not the same as the specified end version", "No table metadata or protocol found")
_OPTION_NAMES = {
    "region": "AWS_REGION",
    "endpoint": "AWS_ENDPOINT_URL",
    "accessKey": "AWS_ACCESS_KEY_ID",
    "secretKey": "AWS_SECRET_ACCESS_KEY",
}


@dataclass(frozen=True)
class _File:
    """What the reader of a data file needs.

    Attributes:
        uri: Where it is.
        partition: The values of the partition columns.
        kept: Which of its rows are not deleted; None: all.
    """

    uri: str
    partition: Mapping[str, pa.Scalar]
    kept: pa.BooleanArray | None


_LISTINGS: KeptListings[_File] = KeptListings()


class DeltaSource(LakehouseSource[_File]):
    """A Delta table in a folder.

    Args:
        uri: The table's folder, ``file:`` or ``s3:``.
        store: The folder's store.
        properties: The store's properties, with resolved references.
        pin: The version to read instead of the current one.
    """

    def __init__(
        self, uri: str, store: FileStore, properties: Mapping[str, str], pin: VersionPin | None = None
    ) -> None:
        secrets = (properties.get(name, "") for name in ("accessKey", "secretKey"))
        super().__init__(f"Delta table {uri}", Redactor(secrets))
        self._uri = uri.rstrip("/")
        self._store = store
        self._properties = properties
        self._pin = pin
        self._opened: DeltaTable | None = None

    def _units(self, columns: Columns, version: SourceVersion | None) -> Units[_File]:
        self._opened = self._load(version)
        return self._units_of(self._opened, _columns(self._opened, columns))

    def _copy(self, file: FileInfo, version: SourceVersion, columns: Columns, path: Path) -> None:
        if self._opened is None or self._opened.version() != int(version.id):
            self._opened = self._load(version)
        table = self._opened
        selected = _columns(table, columns)
        of_unit = self._units_of(table, selected).plan(file)
        self._store.download(of_unit.uri, path)
        check_size(file, path, "the table's log")
        with pq.ParquetFile(path) as parquet:
            if of_unit.kept is None and selected.are_those_of(parquet.schema_arrow, of_unit.partition):
                return
            batches = _kept_rows(parquet, of_unit.kept)
            rows = (selected.project(batch, of_unit.partition) for batch in batches)
            write_parquet(path, selected.schema, rows)

    def _load(self, of: SourceVersion | None) -> DeltaTable:
        folder = self._uri
        if scheme_of(folder) == "file":
            folder = path_in(folder)
            OperatorFolders().check(Path(folder))
        version, pin = None if of is None else int(of.id), self._pin
        if of is None and pin is not None and pin.kind is PinKind.ID:
            version = int(pin.name)
        table = DeltaTable(folder, version=version, storage_options=_storage_options(self._properties))
        if of is None and pin is not None and pin.kind is PinKind.TIME:
            table.load_as_version(pin.time)
            if _committed_ms(table) > pin.time.timestamp() * 1000:
                raise self._has_no(pin)  # delta-rs reads the first version instead
        return table

    def _units_of(self, table: DeltaTable, selected: DeltaColumns) -> Units[_File]:
        projection = digest(selected.identity)
        key = (self._uri, table.metadata().id, table.version(), projection)
        return _LISTINGS.get(key, lambda: self._plan(table, projection))

    def _plan(self, table: DeltaTable, projection: str) -> Units[_File]:
        actions = pa.table(cast("Any", table.get_add_actions()))
        partitions = actions.column("partition") if "partition" in actions.column_names else None
        kept = _kept_by_path(table)
        files: dict[str, FileInfo] = {}
        plans, rows = {}, 0
        for index, action in enumerate(actions.select(_OF_ACTION).to_pylist()):
            path = action["path"]
            mask = kept.pop(path, None) if path in kept else kept.pop(unquote(path), None)
            uri = self._uri_of(unquote(path))
            identity = digest(path, projection, _digest_of(mask))
            files[uri] = FileInfo(uri, action["size_bytes"], action["modification_time"], identity)
            plans[uri] = _File(uri, {} if partitions is None else dict(partitions[index].items()), mask)
            rows += (action["num_records"] or 0) if mask is None else mask.true_count
        if kept:
            # It would be read with the rows that were deleted.
            raise SourceError(
                f"the Delta table {self._uri} has a deletion vector of a file that its version does not have",
                where=visible(next(iter(kept))),
            )
        version = SourceVersion(str(table.version()), _committed_ms(table))
        return Units(version, dict(sorted(files.items())), plans, rows)

    def _uri_of(self, path: str) -> str:
        if "://" in path or path.startswith("/") or ".." in path.split("/"):
            raise SourceError(
                f"the Delta table {self._uri} has a file outside of its folder, as a shallow clone has",
                where=visible(path),
                remedy="copy the table (in Spark: CREATE TABLE ... DEEP CLONE), or read the cloned one",
            )
        return f"{self._uri}/{path}"

    def _known(self, error: Exception) -> SourceError | None:
        if isinstance(error, TableNotFoundError):
            # Also if the log of the pinned version was cleaned up, when it was the first one.
            of_pin = "" if self._pin is None else f" that has {self._pin}"
            return SourceError(
                f"there is no Delta table in {self._uri}{of_pin}",
                expected="a folder with _delta_log",
                remedy="check inputDirURI, or name the format of the files in inputFormat",
            )
        if self._pin is not None and any(text in str(error) for text in _MISSING_VERSION):
            return self._has_no(self._pin)
        return None

    def _has_no(self, pin: VersionPin) -> SourceError:
        return SourceError(
            f"the Delta table {self._uri} does not have {pin}",
            expected="a version whose log and files were not cleaned up",
            remedy="correct sourceVersion, or remove it to follow the table",
        )


def _committed_ms(table: DeltaTable) -> int:
    # Of an earlier version, delta-rs also returns the later commits: newest first, numbered from this one on.
    return int(table.history(1)[-1]["timestamp"])


def _columns(table: DeltaTable, columns: Columns) -> DeltaColumns:
    schema = table.schema()
    return DeltaColumns(schema.to_json(), columns, pa.schema(cast("Any", schema.to_arrow())))


def _kept_by_path(table: DeltaTable) -> dict[str, pa.BooleanArray]:
    """Return which rows are not deleted, by path below the table's folder, for files with deletes."""
    if "deletionVectors" not in (table.protocol().reader_features or ()):
        return {}
    vectors = pa.table(cast("Any", table.deletion_vectors()))
    folder = table.table_uri.rstrip("/") + "/"
    uris = (str(uri).removeprefix(folder) for uri in vectors.column("filepath").to_pylist())
    masks = vectors.column("selection_vector").combine_chunks()
    return {uri: masks[index].values for index, uri in enumerate(uris)}


def _digest_of(mask: pa.BooleanArray | None) -> str | None:
    if mask is None:
        return None
    return hashlib.sha256(np.packbits(mask.to_numpy(zero_copy_only=False)).tobytes()).hexdigest()


def _kept_rows(parquet: pq.ParquetFile, kept: pa.BooleanArray | None) -> Iterator[pa.RecordBatch]:
    start = 0
    for batch in parquet.iter_batches(_BATCH_ROWS):
        if kept is None:
            yield batch
            continue
        mask = kept.slice(start, batch.num_rows)
        start += batch.num_rows
        # What a vector does not reach is not deleted.
        rest = pa.repeat(pa.scalar(True), batch.num_rows - len(mask))
        yield batch.filter(pa.concat_arrays([mask, rest]))


def _storage_options(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of `S3Store` by delta-rs's names; this machine's keys go nowhere else."""
    endpoint = properties.get("endpoint")
    options = {name: properties[key] for key, name in _OPTION_NAMES.items() if key in properties}
    if endpoint is None:
        return options
    if endpoint.startswith("http:"):
        options["AWS_ALLOW_HTTP"] = "true"
    # boto3 takes 200 ms to import.
    from controller_client.filestore.s3 import goes_unsigned

    if goes_unsigned(endpoint, has_own_keys="accessKey" in properties):
        options["AWS_SKIP_SIGNATURE"] = "true"
    return options
