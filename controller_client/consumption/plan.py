"""What a recipe is about to do, written down first, so that a run that was killed can be finished.

::

    /<cluster>/PROPERTYSTORE/PINOT_PLUGINS/consumption/<table>/plan
        simpleFields.format     version of the record
        simpleFields.recipe     which one
        simpleFields.step       the last step that was begun
        simpleFields.by, since
        simpleFields.data       what the recipe needs to know again, JSON

One recipe at a time: another one is refused until the first is finished or undone. Everybody may read the
record, so no secret is in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from controller_client.common.formats import Format, with_unknown
from controller_client.common.names import TableName
from controller_client.consumption.pause_record import plugin_path, read_record
from controller_client.consumption.table_control import TableControl
from controller_client.errors import ConflictError, NotFoundError
from controller_client.helix.table_config import table_config_path
from controller_client.zookeeper import PropertyStore, ZNRecord

__all__ = ["PLAN_FORMAT", "Plan", "begin", "drop", "read_plan", "save", "under_way"]

PLAN_FORMAT = Format("the plan of a recipe")

_KNOWN = (PLAN_FORMAT.field, "recipe", "step", "by", "since", "data")


@dataclass(frozen=True)
class Plan:
    """A recipe that is under way.

    Attributes:
        recipe: Its name.
        step: The last step that was begun.
        by: Who began it.
        since_ms: When, epoch milliseconds.
        data: What it needs to know again.
        version: The znode's version.
        present: The fields of the record, those among them that this release does not know.
    """

    recipe: str
    step: str
    by: str
    since_ms: int
    data: Mapping[str, Any]
    version: int = -1
    present: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)


def read_plan(store: PropertyStore, table: TableName) -> Plan | None:
    """Return the recipe that is under way for a table; None where there is none.

    Raises:
        FormatVersionError: A later release wrote its plan.
        UnreachableError: ZooKeeper does not answer.
    """
    path = plugin_path(table, "plan")
    found = store.get(path)
    if found is None:
        return None
    born, began = store.creation_order(table_config_path(table)), store.creation_order(path)
    if born is not None and began is not None and began < born:
        store.delete(path)  # of a dropped table of the same name
        return None
    fields = found.record.simple_fields
    PLAN_FORMAT.check(fields, path)
    return Plan(
        fields["recipe"],
        fields["step"],
        fields["by"],
        int(fields["since"]),
        json.loads(fields["data"]),
        found.version,
        fields,
    )


def begin(control: TableControl, recipe: str, data: Mapping[str, Any]) -> Plan:
    """Write a plan down, or resume the one that is there if it is the same.

    Args:
        control: The table.
        recipe: Its name.
        data: What it needs to know again; a plan that is there is resumed with its own.

    Raises:
        ConflictError: Another recipe is under way.
    """
    present = under_way(control, recipe)
    if present is not None:
        return present
    plan = Plan(recipe, "begun", control.by, control.now_ms(), data, 0)
    control.store.create(plugin_path(control.table, "plan"), _to_record(plan))
    return plan


def under_way(control: TableControl, recipe: str) -> Plan | None:
    """Return the plan of a recipe that was begun; None where nothing is under way.

    Raises:
        ConflictError: Another recipe is under way.
        FormatVersionError: A later release wrote the plan, or who paused the table.
    """
    read_record(control.store, control.table)  # what cannot be read is found before anything is begun
    present = read_plan(control.store, control.table)
    if present is not None and present.recipe != recipe:
        raise ConflictError(
            f"the recipe {present.recipe} is under way for {control.table} (step {present.step}, begun by "
            f"{present.by})",
            where=plugin_path(control.table, "plan"),
            remedy=f"finish it with 'pinotctl consumption {present.recipe} {control.table}'",
        )
    return present


def save(control: TableControl, plan: Plan, *, step: str, **data: Any) -> Plan:
    """Note the step that begins now, and what it has to know.

    Raises:
        ConflictError: Somebody else goes on with the same plan.
    """
    changed = replace(plan, step=step, data={**plan.data, **data})
    version = control.store.set(plugin_path(control.table, "plan"), _to_record(changed), plan.version)
    return replace(changed, version=version)


def drop(control: TableControl) -> None:
    """Delete the plan; it is finished or undone."""
    try:
        control.store.delete(plugin_path(control.table, "plan"))
    except NotFoundError:
        return


def _to_record(plan: Plan) -> ZNRecord:
    fields = {
        "recipe": plan.recipe,
        "step": plan.step,
        "by": plan.by,
        "since": str(plan.since_ms),
        "data": json.dumps(plan.data),
    }
    return ZNRecord("plan", with_unknown(PLAN_FORMAT.stamp(fields), plan.present, _KNOWN))
