"""What was changed in a cluster since it was applied, by others than the apply."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from controller_client.as_code.fields import FieldChange, changes, copy_fields
from controller_client.as_code.files import Folder
from controller_client.as_code.inventory import Inventory, InventoryEntry
from controller_client.as_code.live import read_cluster
from controller_client.as_code.membership import without_members
from controller_client.as_code.normal import normal_form
from controller_client.as_code.objects import Document, ObjectRef, sort_order
from controller_client.as_code.references import hide
from controller_client.errors import RejectedError
from controller_client.rest.client import RestClient
from controller_client.zookeeper import PropertyStore

__all__ = ["DriftedObject", "find_drift"]


@dataclass(frozen=True)
class DriftedObject:
    """An object that is not as it was applied.

    Attributes:
        ref: The object.
        is_gone: Whether it was deleted.
        fields: What was changed; the old value is the applied one. Secrets are not compared.
        plan: Id of the plan that applied it.
        at_ms: When that was, epoch milliseconds.
    """

    ref: ObjectRef
    is_gone: bool
    fields: tuple[FieldChange, ...]
    plan: str
    at_ms: int


def find_drift(client: RestClient, store: PropertyStore, folder: Folder) -> list[DriftedObject]:
    """Compare a cluster with what the folder's owner has applied last; the files themselves do not count.

    Args:
        client: Client of the controller.
        store: The cluster's property store, connected.
        folder: For its owner, and for the fields that it leaves to others.
    """
    entries = Inventory(store, folder.settings.owner).entries()
    live = read_cluster(client)
    found = []
    for ref in sorted(entries, key=sort_order):
        drifted = _drifted(client, folder, ref, entries[ref], live.get(ref) or without_members(ref))
        if drifted is not None:
            found.append(drifted)
    return found


def _drifted(
    client: RestClient, folder: Folder, ref: ObjectRef, entry: InventoryEntry, live: Document | None
) -> DriftedObject | None:
    if entry.applied is None:
        return None
    if live is None:
        return DriftedObject(ref, True, (), entry.plan, entry.at_ms)
    # References stand in the applied document in the place of secrets, and so they do in this.
    present = hide(live, entry.applied)
    applied = copy_fields(present, entry.applied, folder.settings.pointers(ref.kind))
    if applied == present:
        return None
    # After an upgrade the cluster's own defaults may be others: they are no drift. What this version cannot
    # read differs as it is.
    with suppress(RejectedError):
        applied = normal_form(client, ref, applied).document
    fields = tuple(changes(applied, present))
    return DriftedObject(ref, False, fields, entry.plan, entry.at_ms) if fields else None
