"""What a recipe is about to do, recorded first, so that a run that was killed can be finished.

::

    /<cluster>/PROPERTYSTORE/PINOT_PLUGINS/consumption/<table>/plan
        simpleFields.format     version of the record
        simpleFields.recipe     name of the recipe
        simpleFields.step       the last step that was started
        simpleFields.by, since
        simpleFields.data       what the recipe needs to know again, JSON

Only one recipe can run at a time: another one is refused until the first is finished or undone. Everybody may
read the record, so it contains no secrets.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from controller_client.common.formats import Format, with_unknown
from controller_client.common.names import TableName
from controller_client.consumption.state.pause_record import plugin_path, read_record
from controller_client.consumption.table_control import TableControl
from controller_client.errors import ConflictError, NotFoundError
from controller_client.helix.table_config import table_config_path
from controller_client.zookeeper import PropertyStore, ZNRecord

__all__ = ["PLAN_FORMAT", "RecipePlan", "begin", "drop", "in_progress", "read_plan", "save"]

PLAN_FORMAT = Format("the plan of a recipe")

_KNOWN = (PLAN_FORMAT.field, "recipe", "step", "by", "since", "data")


@dataclass(frozen=True)
class RecipePlan:
    """A recipe in progress.

    Attributes:
        recipe: Its name.
        step: The last step that was started.
        by: Who started it.
        since_ms: When it was started, in epoch milliseconds.
        data: What it needs in order to continue.
        version: The znode's version.
        present: The fields of the record, including those that this release does not know.
    """

    recipe: str
    step: str
    by: str
    since_ms: int
    data: Mapping[str, Any]
    version: int = -1
    present: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)


def read_plan(store: PropertyStore, table: TableName) -> RecipePlan | None:
    """Return the recipe in progress for a table; None if there is none.

    Raises:
        FormatVersionError: A later release wrote its plan.
        UnreachableError: ZooKeeper does not answer.
    """
    path = plugin_path(table, "plan")
    znode = store.get(path)
    if znode is None:
        return None
    born, began = store.creation_order(table_config_path(table)), store.creation_order(path)
    if born is not None and began is not None and began < born:
        store.delete(path)  # of a dropped table of the same name
        return None
    fields = znode.record.simple_fields
    with PLAN_FORMAT.reading(fields, path):
        return RecipePlan(
            fields["recipe"],
            fields["step"],
            fields["by"],
            int(fields["since"]),
            json.loads(fields["data"]),
            znode.version,
            fields,
        )


def begin(control: TableControl, recipe: str, data: Mapping[str, Any]) -> RecipePlan:
    """Record a new plan, or return the existing one of the same recipe.

    Args:
        control: The table.
        recipe: Name of the recipe.
        data: What it needs in order to continue; an existing plan keeps its own.

    Raises:
        ConflictError: Another recipe is in progress.
    """
    present = in_progress(control, recipe)
    if present is not None:
        return present
    plan = RecipePlan(recipe, "begun", control.by, control.now_ms(), data, 0)
    control.store.create(plugin_path(control.table, "plan"), _to_record(plan))
    return plan


def in_progress(control: TableControl, recipe: str) -> RecipePlan | None:
    """Return the plan of a recipe in progress; None if there is none.

    Raises:
        ConflictError: Another recipe is in progress.
        FormatVersionError: A later release wrote the plan or the record of who paused the table.
    """
    read_record(control.store, control.table)  # raises before anything is changed, if it cannot be read
    present = read_plan(control.store, control.table)
    if present is not None and present.recipe != recipe:
        raise ConflictError(
            f"the recipe {present.recipe} is in progress for {control.table} (step {present.step}, started "
            f"by {present.by})",
            where=plugin_path(control.table, "plan"),
            remedy=f"finish it with 'pinotctl consumption {present.recipe} {control.table}'",
        )
    return present


def save(control: TableControl, plan: RecipePlan, *, step: str, **data: Any) -> RecipePlan:
    """Record the step that starts now, and the data that it needs.

    Raises:
        ConflictError: Somebody else is running the same plan.
    """
    changed = replace(plan, step=step, data={**plan.data, **data})
    version = control.store.set(plugin_path(control.table, "plan"), _to_record(changed), plan.version)
    return replace(changed, version=version)


def drop(control: TableControl) -> None:
    """Delete the plan once it is finished or undone."""
    try:
        control.store.delete(plugin_path(control.table, "plan"))
    except NotFoundError:
        return


def _to_record(plan: RecipePlan) -> ZNRecord:
    fields = {
        "recipe": plan.recipe,
        "step": plan.step,
        "by": plan.by,
        "since": str(plan.since_ms),
        "data": json.dumps(plan.data),
    }
    return ZNRecord("plan", with_unknown(PLAN_FORMAT.stamp(fields), plan.present, _KNOWN))
