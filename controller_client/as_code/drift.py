"""What others have changed in a cluster since the last apply."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from controller_client.as_code.fields import FieldChange, changes, copy_fields
from controller_client.as_code.files import Folder
from controller_client.as_code.hiding import hide
from controller_client.as_code.inventory import Inventory, InventoryEntry
from controller_client.as_code.live import read_cluster
from controller_client.as_code.membership import without_members
from controller_client.as_code.normal import normal_form
from controller_client.as_code.objects import Document, ObjectRef, sort_order
from controller_client.errors import RejectedError
from controller_client.rest.client import RestClient
from controller_client.zookeeper import PropertyStore

__all__ = ["DriftedObject", "find_drift"]


@dataclass(frozen=True)
class DriftedObject:
    """An object that differs from what was applied.

    Attributes:
        ref: The object.
        is_gone: Whether it was deleted.
        fields: The changed fields; the old value is the applied one. Secrets are not compared.
        plan: Id of the plan that applied it.
        at_ms: When it was applied, in epoch milliseconds.
    """

    ref: ObjectRef
    is_gone: bool
    fields: tuple[FieldChange, ...]
    plan: str
    at_ms: int


def find_drift(client: RestClient, store: PropertyStore, folder: Folder) -> list[DriftedObject]:
    """Compare a cluster with what the folder's owner last applied; the files themselves are not compared.

    Args:
        client: Client of the controller.
        store: The cluster's property store, connected.
        folder: Defines the owner and the unmanaged fields.
    """
    entries = Inventory(store, folder.settings.owner).entries()
    live = read_cluster(client)
    objects = []
    for ref in sorted(entries, key=sort_order):
        drifted = _drifted(client, folder, ref, entries[ref], live.get(ref) or without_members(ref))
        if drifted is not None:
            objects.append(drifted)
    return objects


def _drifted(
    client: RestClient, folder: Folder, ref: ObjectRef, entry: InventoryEntry, live: Document | None
) -> DriftedObject | None:
    if entry.applied is None:
        return None
    if live is None:
        return DriftedObject(ref, True, (), entry.plan, entry.at_ms)
    # The applied document has references instead of secrets, and so must this one. What an older release
    # recorded may have texts that are taken for secrets now.
    present, recorded = hide(live, entry.applied), hide(entry.applied, entry.applied)
    applied = copy_fields(present, recorded, folder.settings.pointers(ref.kind))
    if applied == present:
        return None
    # After an upgrade, the cluster's own defaults may have changed: that is not drift. What this version
    # cannot read is compared unchanged.
    with suppress(RejectedError):
        applied = normal_form(client, ref, applied).document
    fields = tuple(changes(applied, present))
    return DriftedObject(ref, False, fields, entry.plan, entry.at_ms) if fields else None
