"""Finds what a table's runs left behind."""

from __future__ import annotations

from typing import Any

from controller_client.errors import SourceError
from controller_client.filestore import open_store
from controller_client.rest.lineage import LineageState
from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.run.purge import purge
from tests.integration.file_ingestion.ingestion import IngestionTable, forget_jobs
from tests.support.cluster import PinotCluster
from tests.support.staging import staging_folder
from tests.support.wait import WaitError, wait_for

__all__ = ["wait_nothing_left"]

_OVER = {"COMPLETED", "FAILED", "ABORTED", "TIMED_OUT", "STOPPED", "TIMING_OUT", "FAILING"}


def wait_nothing_left(table: IngestionTable, pinot: PinotCluster, store: PropertyStore) -> None:
    """Purge, and wait until nothing is left but what is served; sessions are not checked."""
    purge(table.client, store, table.with_type, now_ms=1 << 62, older_than_s=0)
    left: dict[str, Any] = {}

    def gone() -> bool:
        left.clear()
        left.update(_leftovers(table, pinot, store))
        return not left

    try:
        wait_for(gone, "the leftovers of faults to disappear", timeout_s=300)
    except WaitError as error:
        error.add_note(f"left: {left}")
        raise
    forget_jobs(table, pinot)


def _leftovers(table: IngestionTable, pinot: PinotCluster, store: PropertyStore) -> dict[str, Any]:
    client, name = table.client, table.with_type
    served = set(client.segments.list(name, exclude_replaced=True))
    left = {
        "in the property store": set(store.children(f"/SEGMENTS/{name}")) ^ served,
        "in the ideal state": set(client.tables.ideal_state(name)) ^ served,
        "in the external view": set(client.tables.external_view(name)) ^ served,
        "in the deep store": set(_stored(pinot, table.name)) ^ served,
        "staged": _stored(pinot, staging_folder(pinot, name)),
        "in the lineage": [e for e in client.lineage.list(name) if e.state is LineageState.IN_PROGRESS],
        "in Helix": [name for name, state in table.tasks().items() if state not in _OVER],
    }
    return {where: found for where, found in left.items() if found}


def _stored(pinot: PinotCluster, folder: str) -> list[str]:
    """Names of the files in a folder of the deep store."""
    uri = f"{pinot.deep_store_uri}/{folder}"
    try:
        return [file.uri.removeprefix(f"{uri}/") for file in open_store(uri, {}).list(uri)]
    except SourceError:
        return []  # no such folder
