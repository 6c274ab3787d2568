"""Commits equality deletes to Iceberg tables, as Flink does: pyiceberg only writes data files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyiceberg.io.pyarrow import _dataframe_to_data_files
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriterV2,
)
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update.snapshot import _FastAppendFiles

__all__ = ["BOUNDS", "CONTENT", "FORMAT", "KEYS", "ROWS", "commit_deletes"]

# Places of fields of a data file in a manifest.
CONTENT, FORMAT, ROWS, BOUNDS, KEYS = 0, 2, 4, 10, 14


class _DeleteManifestWriter(ManifestWriterV2):
    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


class _RowDelta(_FastAppendFiles):
    """A commit with data files and delete files.

    Attributes:
        delete_files: The delete files, of the table's present partition spec.
    """

    delete_files: Sequence[DataFile] = ()

    def _manifests(self) -> list[ManifestFile]:
        manifests: list[ManifestFile] = super()._manifests()
        metadata = self._transaction.table_metadata
        with _DeleteManifestWriter(
            metadata.spec(),
            metadata.schema(),
            self.new_manifest_output(),
            self._snapshot_id,
            self._compression,
        ) as writer:
            for file in self.delete_files:
                writer.add(
                    ManifestEntry.from_args(
                        status=ManifestEntryStatus.ADDED,
                        snapshot_id=self._snapshot_id,
                        sequence_number=None,
                        file_sequence_number=None,
                        data_file=file,
                    )
                )
        return [writer.to_manifest_file(), *manifests]


def commit_deletes(
    table: Table,
    keys: pa.Table,
    columns: Sequence[str],
    rows: pa.Table | None = None,
    fields: Mapping[int, Any] | None = None,
) -> None:
    """Delete all rows with some keys, and add rows in the same commit.

    Args:
        table: The table.
        keys: Rows that have the keys; their other columns count only for the partition.
        columns: The names of the keys.
        rows: The rows to add.
        fields: Fields of the delete files that are to have other values, by their place in a manifest.
    """
    ids = [table.schema().find_field(name).field_id for name in columns]
    delete_files = []
    for file in _dataframe_to_data_files(table.metadata, keys, table.io):
        for place, value in {CONTENT: DataFileContent.EQUALITY_DELETES, KEYS: ids, **(fields or {})}.items():
            file[place] = value
        delete_files.append(file)
    with table.transaction() as transaction:
        delta = _RowDelta(Operation.OVERWRITE, transaction, table.io)
        delta.delete_files = delete_files
        if rows is not None:
            for file in _dataframe_to_data_files(table.metadata, rows, table.io):
                delta.append_data_file(file)
        delta.commit()
