"""Display of a plan: one line for each step, with its fields below it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from controller_client.as_code import Action, Effect, Plan, PlannedField, Step
from controller_client.common.text import bytes_text, counted_text
from pinotctl.output import Output

__all__ = ["show_plan"]

_SIGNS = {
    Action.CREATE: "+",
    Action.UPDATE: "~",
    Action.DELETE: "-",
    Action.RELOAD: "*",
    Action.PAUSE: "*",
    Action.RESUME: "*",
}
_LONGEST_VALUE = 200


def show_plan(out: Output, plan: Plan) -> None:
    """Write a plan to stdout: complete as JSON, or as text for people."""
    if out.is_json:
        out.json(plan.to_json())
        return
    for step in plan.steps:
        for line in _step(step):
            out.line(line)
    if plan.has_changes:
        counted = ", ".join(
            f"{count} to {action}"
            for action in Action
            if (count := sum(step.action is action for step in plan.steps))
        )
        out.note(f"Plan {plan.id} for {plan.controller}: {counted}.")
    else:
        out.note(f"No differences: {plan.controller} matches the files.")
    if plan.left_alone:
        out.note(f"Left unchanged because they have no file: {counted_text(len(plan.left_alone), 'object')}.")
    if plan.refused:
        refused = counted_text(len(plan.refused), "step")
        out.note(f"The cluster would refuse {refused}, so this plan cannot be applied.")


def _data(step: Step) -> str:
    """Return what a step does to data, e.g. ``data: reload (12 segments, 34.1 MiB on all servers)``."""
    named = [_words(each) for each in step.effects if each is not Effect.NOTHING]
    if step.action is Action.RELOAD:
        named = ["reload"]
    if not named:
        return "data: nothing"
    if not step.segments and not {Effect.RESTART, Effect.NEW_SEGMENTS, Effect.IMPOSSIBLE} & {*step.effects}:
        return "data: nothing, as there are no segments"
    if step.action is not Action.RELOAD and not step.segments:
        return f"data: {' and '.join(named)}"
    size = "" if step.size_bytes is None else f", {bytes_text(step.size_bytes)} on all servers"
    return f"data: {' and '.join(named)} ({counted_text(step.segments, 'segment')}{size})"


def _step(step: Step) -> Iterator[str]:
    yield f"{_SIGNS[step.action]} {step.action} {step.object}  [{_data(step)}]"
    last_reason = ""
    for field in step.fields:
        yield from _field(field)
        # The fields of a new column share one reason, which is shown once.
        if field.effect is not Effect.NOTHING and field.reason != last_reason:
            yield f"        {_words(field.effect)}: {field.reason}"
            last_reason = field.reason
    for note in step.notes:
        yield f"    note: {note}"
    if step.refusal:
        yield f"    REFUSED: {step.refusal}"


def _field(field: PlannedField) -> Iterator[str]:
    if field.is_new:
        yield f"    + {field.field}: {_value(field.new)}"
    elif field.is_gone:
        yield f"    - {field.field}: {_value(field.old)}"
    else:
        yield f"    ~ {field.field}: {_value(field.old)} -> {_value(field.new)}"


def _words(effect: Effect) -> str:
    return "re-ingest" if effect is Effect.RE_INGEST else str(effect).replace("_", " ")


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}... ({len(text)} characters)"
