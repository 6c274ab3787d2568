"""Pause and resume of single partitions on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pinotctl.commands.each_table import each_table
from pinotctl.context import CliContext

if TYPE_CHECKING:
    from controller_client.consumption.table_control import TableControl

__all__ = ["pause_partitions_of", "resume_partitions_of"]


def pause_partitions_of(
    cli: CliContext,
    controls: list[TableControl],
    partitions: tuple[int, ...],
    reason: str | None,
    comment: str | None,
    wait: bool,
    timeout_s: float,
    dry_run: bool,
) -> None:
    """Pause partitions of tables, or check that they could be."""
    from controller_client.consumption.partitions import check_pause, pause_partitions

    named = _named(partitions)
    are, them = ("is", "it") if len(partitions) == 1 else ("are", "them")

    def go(control: TableControl) -> dict[str, Any]:
        record = {"partitions": list(partitions), "changed": False, "dry_run": dry_run, "paused": False}
        if dry_run:
            check_pause(control, partitions)
            cli.out.note(f"{control.table}: {named} would be paused.")
            return record
        began = pause_partitions(
            control, partitions, reason=reason, comment=comment, wait=wait, timeout_s=timeout_s
        )
        if not began:
            cli.out.note(f"{control.table}: {named} had already been paused.")
        if wait:
            cli.out.note(f"{control.table}: {named} {are} paused: no server consumes {them}.")
        return {**record, "changed": began, "paused": wait}

    each_table(cli, controls, go)


def resume_partitions_of(
    cli: CliContext,
    controls: list[TableControl],
    partitions: tuple[int, ...],
    wait: bool,
    timeout_s: float,
    dry_run: bool,
) -> None:
    """Resume partitions of tables, or report which of them would be resumed."""
    from controller_client.consumption.partitions import resume_partitions

    def go(control: TableControl) -> dict[str, Any]:
        record = {"partitions": list(partitions), "changed": False, "dry_run": dry_run}
        if dry_run:
            paused = sorted(control.ideal().flags.paused_partitions & set(partitions))
            text = f"{_named(paused)} would be resumed" if paused else "none of these partitions is paused"
            cli.out.note(f"{control.table}: {text}.")
            return {**record, "would_resume": paused}
        changed = resume_partitions(control, partitions, wait=wait, timeout_s=timeout_s)
        one = len(partitions) == 1
        done = f"{'is' if one else 'are'} resumed" if changed else f"{'was' if one else 'were'} not paused"
        cli.out.note(f"{control.table}: {_named(partitions)} {done}.")
        return {**record, "changed": changed}

    each_table(cli, controls, go)


def _named(partitions: Sequence[int]) -> str:
    return f"partition{'s' if len(partitions) > 1 else ''} {', '.join(map(str, partitions))}"
