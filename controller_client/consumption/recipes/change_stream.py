"""Move a table to another stream: pause, change the stream config, resume; or restore the old stream.

Each step is recorded in the plan before it starts, so that the next run can finish one that was killed::

    begun ──▶ pause ──▶ update ──▶ resume ──▶ (plan deleted)
                                     │ not every partition consumes in time
                                     └──▶ undo ──▶ undo-resume ──▶ (plan deleted, RejectedError)

On Pinot 0.11, a new stream that cannot be read shows only in partitions that do not start: either the
controller cannot read offsets and creates no segments, or servers cannot read and their segments go to ERROR.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn

from controller_client.common.outcomes import keeping_outcome
from controller_client.common.parsing import whole_number
from controller_client.common.redaction import mask_text
from controller_client.common.text import counted_text
from controller_client.consumption.pauses.committing import failed_segments
from controller_client.consumption.pauses.offsets import parse_consume_from
from controller_client.consumption.pauses.pausing import pause, wait_paused
from controller_client.consumption.pauses.resuming import ResumeResult, resume
from controller_client.consumption.recipes.plan import RecipePlan, begin, drop, in_progress, save
from controller_client.consumption.recipes.stream_change import StreamChange
from controller_client.consumption.state.pinots_pauses import refuse_pinots_pause, topic_remedy
from controller_client.consumption.table_control import TableControl
from controller_client.errors import (
    ConfigError,
    ConflictError,
    OutcomeUnknownError,
    RejectedError,
    WaitTimeoutError,
)
from controller_client.helix.stream_segments import read_partitions
from controller_client.models import TableConfig
from controller_client.rest.consumption import ConsumeFrom
from controller_client.rest.delete_risks import DeleteRisk
from controller_client.rest.table_configs import check_references
from controller_client.stream.config import StreamConfig
from controller_client.stream.offsets import StreamUnknownError, open_offsets

__all__ = ["RECIPE", "change_stream"]

RECIPE = "change-stream"

# A controller check that cannot read the stream tries ten times, for up to 15 s with pauses of 5 s, using the
# config it started with. While the pause flag is set, it ends at its next attempt.
_LATE_ATTEMPTS_S = 25.0
# All ten attempts: since Pinot 1.3 a pause waits for the check to end, because both change the ideal state.
_CHECK_S = 240.0


def change_stream(
    control: TableControl,
    changes: Mapping[str, str | None],
    *,
    consume_from: ConsumeFrom | None,
    timeout_s: float,
    report: Callable[[str], None],
    dry_run: bool = False,
) -> ResumeResult | None:
    """Change a table's stream config while nothing consumes, then consume from the new stream.

    Args:
        control: The table.
        changes: Keys of the stream config with their new values; None removes a key. Values that are already
            set are no error. Empty: finish what an earlier run started; if that run ended before the table's
            config was updated, secret values must be given again, see
            :mod:`~controller_client.consumption.recipes.stream_change`.
        consume_from: Where to start in the new stream.
        timeout_s: Seconds for the pause, and for every partition to consume afterwards. Restoring the old
            stream takes up to four more minutes if the controller is still trying to read the new one.
        report: Called with each step before it is taken, in the caller's thread.
        dry_run: Report what would be done, and check what can be checked; change nothing.

    Returns:
        The result of the resume; None for a dry run.

    Raises:
        ConfigError: The changes or the position to start from are missing, or secret values must be given
            again.
        NotFoundError: There is no such table, or no such topic (if the stream's offsets can be read).
        SourceError: The new stream does not answer this process (only with ``watch_stream``).
        ConflictError: Another recipe is in progress, somebody else changed the stream config meanwhile, or
            single partitions or topics are paused.
        RejectedError: The new stream could not be read, and the old one was restored at the old offsets. Or
            Pinot itself has paused the table, and nothing was changed.
        WaitTimeoutError: The pause was not finished; run it again.
    """
    plan = in_progress(control, RECIPE)
    if plan is None:
        change = _wanted(control, changes, consume_from, report)
        if change is None:
            report(f"the stream config of {control.table} already has these values")
            return None if dry_run else ResumeResult(changed=False)
        if dry_run:
            _report_all(control, report, change, str(consume_from))
            return None
        report(f"record the change of {control.table}, so that a killed run can be finished")
        plan = begin(control, RECIPE, {**change.to_data(), "consume_from": str(consume_from)})
    else:
        report(f"continue the recipe that {plan.by} started: step {plan.step}")
        change = StreamChange.from_data(plan.data)
        if dry_run:
            _report_all(control, report, change, plan.data["consume_from"])
            return None
        if changes and not change.is_repeated(changes, control.client.tables.get(control.table)):
            raise ConflictError(
                f"another change of the stream of {control.table} is in progress",
                expected=f"the change of {', '.join(change.keys)} that {plan.by} started",
                remedy="finish that change first: run the command without --set",
            )
    if plan.step.startswith("undo"):
        _undo(control, plan, timeout_s, report)
    return _forward(control, plan, changes, timeout_s, report)


def _forward(
    control: TableControl,
    plan: RecipePlan,
    changes: Mapping[str, str | None],
    timeout_s: float,
    report: Callable[[str], None],
) -> ResumeResult:
    change = StreamChange.from_data(plan.data)
    if plan.step != "resume":
        change.check_secrets(control.client.tables.get(control.table), changes)
        report(f"pause {control.table} and wait until no server consumes it")
        if plan.step != "update":
            plan = save(control, plan, step="pause")
        # Even if an earlier run has paused it: somebody may have resumed since, and servers would then
        # consume with both configs.
        pause(control, reason=RECIPE, timeout_s=timeout_s)
        report("write the new stream to the table's config")
        table = control.client.tables.get(control.table)
        if not change.is_applied(table):
            changed = change.applied(table, changes)
            plan = save(control, plan, step="update", ends=_end_offsets(control))
            _update(control, changed, change.is_applied)
        report(f"resume from {plan.data['consume_from']} and wait until every partition consumes")
        plan = save(control, plan, step="resume")
    try:
        start = parse_consume_from(plan.data["consume_from"])
        result = resume(control, consume_from=start, timeout_s=timeout_s)
    except WaitTimeoutError as error:
        _undo(control, save(control, plan, step="undo", why=mask_text(error.message)), timeout_s, report)
    table = control.client.tables.get(control.table)
    if not change.is_finished(table):
        report("remove the old secrets from the table's config")
        _update(control, change.finished(table), change.is_finished)
    report("done: delete the recipe's record")
    drop(control)
    return result


def _end_offsets(control: TableControl) -> dict[str, str | None]:
    """Return where the committed rows of each partition end; the keys are strings, as in JSON."""
    partitions = read_partitions(control.store, control.table)
    return {str(number): each.next_offset for number, each in partitions.items()}


def _undo(
    control: TableControl, plan: RecipePlan, timeout_s: float, report: Callable[[str], None]
) -> NoReturn:
    """Restore the old stream and continue where the table was."""
    why = plan.data["why"]
    if plan.step == "undo":
        report(f"the new stream cannot be read ({why}): pause {control.table} and restore the old one")
        _stop_new(control, timeout_s, report)
        report("write the old stream to the table's config")
        change, table = StreamChange.from_data(plan.data), control.client.tables.get(control.table)
        if not change.is_undone(table):
            _update(control, change.undone(table), change.is_undone)
        plan = save(control, plan, step="undo-resume", moved=_moved(control, plan.data.get("ends", {})))
    moved = {int(number): offset for number, offset in plan.data["moved"].items()}
    report("resume where the table was" + (f": offsets {moved}" if moved else ""))
    # Once the flag is cleared, the offsets have been used: later segments start after them.
    again = not control.ideal().flags.table_paused
    start = ConsumeFrom.LAST_CONSUMED if again or not moved else moved
    resume(control, consume_from=start, timeout_s=timeout_s)
    report("undone: delete the recipe's record")
    drop(control)
    raise RejectedError(
        f"the new stream of {control.table} could not be read, so the old one was restored: {why}",
        expected="every partition to consume",
        where=control.table,
        remedy="check the new stream's address, topic and decoder",
    )


def _stop_new(control: TableControl, timeout_s: float, report: Callable[[str], None]) -> None:
    pause(control, reason=RECIPE, wait=False, timeout_s=max(timeout_s, _CHECK_S))
    failed = failed_segments(control)
    if failed:
        # They have no rows, cannot be committed, and start at offsets of the new stream.
        report(f"delete the segments that do not consume: {', '.join(failed)}")
        control.client.segments.delete(control.table, failed, accept=set(DeleteRisk))
        control.client.segments.wait_gone(control.table, failed, timeout_s)
    wait_paused(control, timeout_s=timeout_s)
    report(f"wait {_LATE_ATTEMPTS_S:g} s for the controller's last attempts to read the new stream")
    control.clock.sleep(_LATE_ATTEMPTS_S)


def _moved(control: TableControl, end_offsets: Mapping[str, str | None]) -> dict[str, int]:
    """Return the old offsets of the partitions that have committed rows from the new stream."""
    now = _end_offsets(control)
    return {
        number: offset
        for number, end in end_offsets.items()
        if (offset := whole_number(end)) is not None and now.get(number) != end
    }


def _wanted(
    control: TableControl,
    changes: Mapping[str, str | None],
    consume_from: ConsumeFrom | None,
    report: Callable[[str], None],
) -> StreamChange | None:
    if not changes:
        raise ConfigError(
            f"no change of the stream config of {control.table} was given, and no earlier one is unfinished",
            remedy="pass --set KEY=VALUE",
        )
    ideal = control.ideal()
    refuse_pinots_pause(control.table, ideal)
    if ideal.paused_topics:
        raise ConflictError(
            f"the topic of {control.table} is paused separately",
            where=control.table,
            remedy=topic_remedy(control.table, ideal.paused_topics),
        )
    paused = ideal.flags.paused_partitions
    if paused:
        # The consumer of a paused partition was created with the old config, and would keep using it.
        raise ConflictError(
            f"single partitions of {control.table} are paused: {', '.join(map(str, sorted(paused)))}",
            where=control.table,
            remedy="resume them first",
        )
    old = StreamConfig.of(control.client.tables.get(control.table))
    new = old.changed(changes)
    check_references(new.values, old.values)
    if not old.differences(new):
        return None
    if consume_from is None:
        raise ConfigError(
            "no position to start from in the new stream was given",
            expected="smallest, largest, or lastConsumed if it is the same topic with the same offsets",
            remedy="pass --consume-from",
        )
    if control.watch_stream:
        in_use = StreamConfig.of(control.client.tables.in_use(control.table))
        _inspect(in_use.changed(changes), report)
    return StreamChange.between(old, new)


def _inspect(new: StreamConfig, report: Callable[[str], None]) -> None:
    try:
        offsets = open_offsets(new).read()
    except StreamUnknownError as error:
        report(f"the new stream cannot be checked first: {error.message}")
    else:
        report(f"the new stream {new.topic} can be read: {counted_text(len(offsets), 'partition')}")


def _report_all(
    control: TableControl, report: Callable[[str], None], change: StreamChange, consume_from: str
) -> None:
    report(f"would pause {control.table} and change its stream config: {', '.join(change.keys)}")
    report(f"would resume from {consume_from}")
    report("would restore the old config if a partition does not start consuming")


def _update(control: TableControl, wanted: TableConfig, is_done: Callable[[TableConfig], bool]) -> None:
    """Replace the table's config; if the reply is lost, the present config decides."""
    try:
        control.client.tables.update(wanted)
    except OutcomeUnknownError as error:
        with keeping_outcome(error):
            present = control.client.tables.get(control.table)
        if not is_done(present):
            raise
