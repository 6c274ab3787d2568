"""Deletes the staged files of a write, and those left behind by dead writes.

A killed driver leaves its staged segments behind, and so does a task that outlives its job, such as a second
attempt in the middle of an upload. Each attempt at a write has its own folder in the table's folder. The
folder of another attempt is deleted

* if the lineage shows that its segments were published or reverted, so nothing reads them any more;
* if it has had no new file for ``stagingTtl``. If its write is alive nevertheless, its commit fails and the
  table is unchanged.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable

from controller_client.client import ControllerClient
from controller_client.errors import PinotPluginError
from controller_client.filestore import FileInfo
from controller_client.rest.lineage import LineageState
from spark_connectors.write.plan import WritePlan

__all__ = ["dead_folders", "delete_folder", "sweep"]

logger = logging.getLogger(__name__)

_MILLIS = 1000


def sweep(plan: WritePlan, client: ControllerClient) -> None:
    """Delete staged files of dead writes of the table; if that fails, a later write deletes them.

    Args:
        plan: A write that has staged files itself, or that was committed before.
        client: The controller; its clock determines how old files are.
    """
    try:
        over = {
            nonce
            for entry in client.lineage.list(plan.table)
            if entry.state is not LineageState.IN_PROGRESS
            for nonce in map(plan.nonce_of, entry.segments_to)
            if nonce is not None
        }
        files = list(plan.staging_store.list(plan.staging_root))
    except PinotPluginError as error:
        logger.info("could not search %s for files of dead writes: %s", plan.staging_root, error)
        return
    ttl_ms = plan.options.staging_ttl_s * _MILLIS
    for name in dead_folders(files, over, now_ms=int(client.clock.now() * _MILLIS), ttl_ms=ttl_ms):
        logger.warning("%s: deleting the staged files of a dead write in %s", plan.table, name)
        delete_folder(plan, plan.staging_uri_of(name))


def dead_folders(files: Iterable[FileInfo], over: Collection[str], *, now_ms: int, ttl_ms: int) -> list[str]:
    """Return the names of folders whose write is dead or has ended.

    Args:
        files: All files in the table's folder, each in the folder of an attempt.
        over: Folders whose write has certainly ended.
        now_ms: Epoch milliseconds.
        ttl_ms: Age of a folder's newest file after which its write is considered dead.
    """
    newest: dict[str, int] = {}
    for file in files:
        name = file.uri.split("/")[-2]
        newest[name] = max(newest.get(name, 0), file.modified_ms)
    return [name for name, at_ms in newest.items() if name in over or now_ms - at_ms >= ttl_ms]


def delete_folder(plan: WritePlan, uri: str) -> None:
    """Delete a staging folder; if that fails, a later write deletes it."""
    try:
        plan.staging_store.delete_tree(uri)
    except PinotPluginError as error:
        logger.warning("the staging folder %s could not be deleted: %s", uri, error)
