"""Delete what a folder no longer has: only what its owner has applied."""

from __future__ import annotations

from collections.abc import Mapping

from controller_client.as_code.effects import Effect
from controller_client.as_code.files import Folder
from controller_client.as_code.hiding import hide
from controller_client.as_code.inventory import InventoryEntry
from controller_client.as_code.live import schema_name
from controller_client.as_code.objects import Document, Kind, ObjectRef, sort_order
from controller_client.as_code.plan import Action, Step, fingerprint
from controller_client.as_code.table_data import size_of
from controller_client.rest.client import RestClient

__all__ = ["prune_steps"]


def prune_steps(
    client: RestClient,
    entries: Mapping[ObjectRef, InventoryEntry],
    folder: Folder,
    live: Mapping[ObjectRef, Document],
) -> list[Step]:
    """Return the deletions: tables, then schemas. Tenants, instances and pauses are not changed.

    Args:
        client: Client of the controller.
        entries: What the folder's owner has applied.
        folder: The wanted state.
        live: The cluster's objects.
    """
    gone = [
        ref
        for ref, entry in entries.items()
        if entry.applied is not None and ref not in folder.documents and ref in live
    ]
    tables = sorted((ref for ref in gone if ref.kind is Kind.TABLE), key=sort_order)
    schemas = sorted((ref for ref in gone if ref.kind is Kind.SCHEMA), key=sort_order)
    steps = []
    for ref in tables:
        size = size_of(client, ref.table)
        steps.append(
            Step(
                action=Action.DELETE,
                object=ref.key,
                effects=(Effect.DELETION,) if size.segments else (Effect.NOTHING,),
                segments=size.segments,
                size_bytes=size.size_bytes,
                fingerprint=fingerprint(hide(live[ref]), None),
            )
        )
    live_schemas = {ref.name for ref in live if ref.kind is Kind.SCHEMA}
    for ref in schemas:
        users = [
            table.name
            for table, config in live.items()
            if table.kind is Kind.TABLE
            and table not in tables
            and schema_name(table.table, config, live_schemas) == ref.name
        ]
        refusal = f"it is used by {', '.join(users)}" if users else None
        steps.append(
            Step(
                action=Action.DELETE,
                object=ref.key,
                refusal=refusal,
                fingerprint=fingerprint(hide(live[ref]), None),
            )
        )
    return steps
