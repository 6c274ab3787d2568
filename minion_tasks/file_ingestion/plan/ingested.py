"""What the table already contains, read from the metadata of the segments that queries see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.common.parsing import whole_number
from controller_client.filestore import FileInfo
from controller_client.zookeeper import PropertyStore, read_segment_records
from minion_tasks.file_ingestion.plan.provenance import Provenance


@dataclass(frozen=True)
class TableContents:
    """The segments that queries see, and the files that this task built them from.

    Segments hidden by a lineage entry (replaced, or from a switch that did not complete) do not count.

    Attributes:
        files: Maps each URI to the file as it was when it was ingested.
        uris_of: Maps each segment of this task to the URIs of its files; none for a segment without rows.
        foreign: Segments not built by this task.
        rows: Number of rows of each segment.
    """

    files: Mapping[str, FileInfo] = field(default_factory=dict)
    uris_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    foreign: tuple[str, ...] = ()
    rows: Mapping[str, int] = field(default_factory=dict)

    @property
    def segments(self) -> list[str]:
        """All segments."""
        return [*self.uris_of, *self.foreign]


def read_contents(client: ControllerClient, store: PropertyStore, table: TableName) -> TableContents:
    """Read the metadata of all segments that queries see, a page at a time.

    Raises:
        DataError: The list of a segment's source files is corrupt.
        FormatVersionError: A later release wrote that list.
    """
    names = client.segments.list(table, exclude_replaced=True)
    files: dict[str, FileInfo] = {}
    uris_of: dict[str, tuple[str, ...]] = {}
    foreign: list[str] = []
    rows: dict[str, int] = {}
    for name, record in read_segment_records(store, table, names):
        rows[name] = whole_number(record.simple_fields.get("segment.total.docs")) or 0
        provenance = Provenance.from_custom_map(record.map_fields.get("custom.map", {}), segment=name)
        if provenance is None:
            foreign.append(name)
            continue
        inputs = [files.setdefault(file.uri, file) for file in provenance.inputs]
        uris_of[name] = tuple(file.uri for file in inputs)
    return TableContents(files, uris_of, tuple(foreign), rows)
