"""Which files are in the table already: read from the metadata of the segments that queries see."""

from __future__ import annotations

from controller_client.client import ControllerClient
from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.provenance import Provenance
from minion_tasks.filestore import FileInfo

_PAGE = 1000


def ingested_files(client: ControllerClient, store: PropertyStore, table: str) -> dict[str, FileInfo]:
    """Map the URI of each ingested file to the file as it was then.

    Segments that a lineage entry hides (replaced, or of a switch that did not complete) do not count.
    """
    names = client.segments.list(table, exclude_replaced=True)
    files: dict[str, FileInfo] = {}
    for start in range(0, len(names), _PAGE):
        page = names[start : start + _PAGE]
        found = store.get_many([f"/SEGMENTS/{table}/{name}" for name in page])
        for name, versioned in zip(page, found, strict=True):
            if versioned is None:
                continue  # deleted since it was listed
            provenance = Provenance.from_custom_map(
                versioned.record.map_fields.get("custom.map", {}), segment=name
            )
            for file in provenance.inputs if provenance else ():
                files[file.uri] = file
    return files
