"""Make a plan: compare a folder with a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller_client.as_code.files import Folder
from controller_client.as_code.inventory import RELOAD, Inventory, InventoryEntry
from controller_client.as_code.live import read_cluster
from controller_client.as_code.objects import Document, Kind, ObjectRef, sort_order
from controller_client.as_code.plan import Action, Plan, Step, fingerprint
from controller_client.as_code.pruning import prune_steps
from controller_client.as_code.references import References
from controller_client.as_code.refusals import find_refusals
from controller_client.as_code.steps import StepMaker
from controller_client.as_code.wanted import Target, read_targets
from controller_client.common.redaction import mask_text
from controller_client.rest.client import RestClient
from controller_client.zookeeper import PropertyStore

__all__ = ["Planned", "make_plan"]


@dataclass(frozen=True)
class Planned:
    """A plan and what is needed to apply it.

    Attributes:
        plan: The plan, without secrets.
        targets: The wanted objects, with secrets.
        inventory: What the owner has applied.
        others: Objects that other owners have applied, with the owners' names.
    """

    plan: Plan
    targets: Mapping[ObjectRef, Target] = field(repr=False)
    inventory: Mapping[ObjectRef, InventoryEntry] = field(repr=False)
    others: Mapping[ObjectRef, str] = field(repr=False)


def make_plan(
    client: RestClient,
    store: PropertyStore,
    folder: Folder,
    references: References,
    *,
    prune: bool = False,
    keep_unset: bool = False,
) -> Planned:
    """Compare a folder with a cluster; nothing is changed.

    Args:
        client: Client of the controller.
        store: The cluster's property store, connected.
        folder: The wanted state.
        references: Resolves the folder's references.
        prune: Delete what the folder's owner applied and what no longer has a file.
        keep_unset: Leave a field unchanged if a variable or file that it refers to is missing.

    Returns:
        The plan. It includes steps that the cluster will refuse, with the reason.

    Raises:
        ConfigError: The files have errors; the message lists all of them.
        PinotPluginError: The cluster does not answer, or refuses a request.
    """
    live = read_cluster(client)
    inventory = Inventory(store, folder.settings.owner)
    entries, others = inventory.entries(), inventory.others()
    targets = read_targets(client, folder, live, references, keep_unset=keep_unset)
    refusals = find_refusals(client, store, targets, live, others, references)
    maker = StepMaker(client, store, live)
    changes = [maker.step(target, refusals.get(target.ref)) for target in targets if target.differs]
    reloads = _reloads(maker, changes, entries, live)
    last = [step for step in changes if step.ref.kind is Kind.CONSUMPTION]
    steps = [step for step in changes if step.ref.kind is not Kind.CONSUMPTION] + reloads + last
    if prune:
        steps += prune_steps(client, entries, folder, live)
    wanted = set(folder.documents)
    left_alone = [ref.key for ref in sorted(live, key=sort_order) if ref not in wanted]
    plan = Plan(
        owner=folder.settings.owner,
        folder=str(folder.path.resolve()),
        controller=mask_text(client.config.url),
        prune=prune,
        keep_unset=keep_unset,
        steps=tuple(_clean(step, references) for step in steps),
        left_alone=tuple(left_alone),
    )
    return Planned(plan, {target.ref: target for target in targets}, entries, others)


def _clean(step: Step, references: References) -> Step:
    """Return a step whose texts have no values: those may be names, and so in pointers and reasons."""
    fields = tuple(
        each.model_copy(
            update={"field": references.clean(each.field), "reason": references.clean(each.reason)}
        )
        for each in step.fields
    )
    notes = tuple(map(references.clean, step.notes))
    reason = None if step.refusal is None else references.clean(step.refusal)
    return step.model_copy(update={"fields": fields, "notes": notes, "refusal": reason})


def _reloads(
    maker: StepMaker,
    changes: list[Step],
    entries: Mapping[ObjectRef, InventoryEntry],
    live: Mapping[ObjectRef, Document],
) -> list[Step]:
    """Return the reloads that these changes need, and those left over from an unfinished apply."""
    tables = {table for step in changes for table in maker.reloaded_tables(step)}
    left_over = {ref for ref, entry in entries.items() if RELOAD in entry.pending and ref in live}
    steps = []
    for ref in sorted(tables | left_over, key=sort_order):
        size = maker.size(ref.table)
        if size.segments or ref in left_over:
            notes = ("left over from an unfinished apply",) if ref in left_over - tables else ()
            steps.append(
                Step(
                    action=Action.RELOAD,
                    object=ref.key,
                    segments=size.segments,
                    size_bytes=size.size_bytes,
                    notes=notes,
                    fingerprint=fingerprint(None, None),
                )
            )
    return steps
