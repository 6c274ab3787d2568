"""Deletes what a write has staged, and what writes that ended without a word have left.

A driver that was killed leaves its segments, and so does a task that outlives its job: a second attempt whose
upload was on its way. Each attempt at a write has a folder of its own below the table's. Another's is deleted

* when the lineage shows that its segments were published or taken back: nothing reads them any more;
* when nothing was put into it for ``stagingTtl``. Should its write be alive all the same, it fails in its
  commit, and the table is as it was.
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
    """Delete what dead writes of the table have staged; what cannot be deleted now is left to a later write.

    Args:
        plan: A write that has staged something itself, or was made before.
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
        logger.info("%s was not searched for what dead writes have left: %s", plan.staging_root, error)
        return
    ttl_ms = plan.options.staging_ttl_s * _MILLIS
    for name in dead_folders(files, over, now_ms=int(client.clock.now() * _MILLIS), ttl_ms=ttl_ms):
        logger.warning("%s: what a dead write has staged in %s is deleted", plan.table, name)
        delete_folder(plan, plan.staging_uri_of(name))


def dead_folders(files: Iterable[FileInfo], over: Collection[str], *, now_ms: int, ttl_ms: int) -> list[str]:
    """Return the names of attempts' folders that belong to nobody any more.

    Args:
        files: All below the table's folder; each lies in an attempt's.
        over: Folders whose write is over for certain.
        now_ms: Epoch milliseconds.
        ttl_ms: Age of a folder's newest file from which on its write is dead.
    """
    newest: dict[str, int] = {}
    for file in files:
        name = file.uri.split("/")[-2]
        newest[name] = max(newest.get(name, 0), file.modified_ms)
    return [name for name, at_ms in newest.items() if name in over or now_ms - at_ms >= ttl_ms]


def delete_folder(plan: WritePlan, uri: str) -> None:
    """Delete a staging folder; if that fails, a later write does it."""
    try:
        plan.staging_store.delete_tree(uri)
    except PinotPluginError as error:
        logger.warning("%s stays: %s", uri, error)
