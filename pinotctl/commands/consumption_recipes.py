"""Multi-step recipes for the consumption of one table: each step is announced, and each can be run again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from controller_client.common.names import TableName, TableType
from controller_client.errors import ConfigError
from pinotctl.arguments import key_values, read_text
from pinotctl.context import CliContext, pass_cli
from pinotctl.named_arguments import table_argument
from pinotctl.options import dry_run_option, output_option, timeout_option

if TYPE_CHECKING:
    from controller_client.consumption.pauses.offset_jumps import OffsetJump
    from controller_client.consumption.table_control import TableControl

__all__ = ["RECIPES", "note_jumps", "note_warnings"]

_TABLE = table_argument()
_TIMEOUT = timeout_option("Seconds to wait in each step.")


@click.command(name="change-stream")
@_TABLE
@click.option(
    "--set", "values", multiple=True, metavar="KEY=VALUE", help="Set a key of the stream config. Repeatable."
)
@click.option(
    "--set-from-file",
    "files",
    multiple=True,
    metavar="KEY=FILE",
    help="Set a key to the content of a file, for credentials. Repeatable.",
)
@click.option("--unset", "removed", multiple=True, metavar="KEY", help="Remove a key. Repeatable.")
@click.option(
    "--consume-from",
    type=click.Choice(["smallest", "largest", "lastConsumed"], case_sensitive=False),
    help="Where to start in the new stream; lastConsumed only if its offsets equal those of the old one.",
)
@click.option(
    "--no-stream",
    is_flag=True,
    help="Do not check the new stream first, e.g. if only the cluster can reach it.",
)
@_TIMEOUT
@dry_run_option
@output_option()
@pass_cli
def change_stream(
    cli: CliContext,
    table_name: str,
    values: tuple[str, ...],
    files: tuple[str, ...],
    removed: tuple[str, ...],
    consume_from: str | None,
    no_stream: bool,
    timeout_s: float,
    dry_run: bool,
) -> None:
    """Move a table to another stream: pause, change its stream config, resume.

    If a partition does not start consuming in time, the old config and offsets are restored and the command
    fails. If a run was killed, run it again without --set to finish it.
    """
    from controller_client.consumption.recipes.change_stream import change_stream as change
    from controller_client.rest.consumption import ConsumeFrom

    changes: dict[str, str | None] = {**key_values(values, "--set"), **dict.fromkeys(removed)}
    for key, file in key_values(files, "--set-from-file").items():
        changes[key] = read_text(file).strip()
    start = next((each for each in ConsumeFrom if each.lower() == (consume_from or "").lower()), None)
    control = _control(cli, table_name)
    control.watch_stream = not no_stream
    steps = _Steps(cli, control)
    result = change(control, changes, consume_from=start, timeout_s=timeout_s, report=steps, dry_run=dry_run)
    if result is not None:
        cli.out.note(f"{control.table} is consuming from the new stream.")
    steps.report(control, dry_run, changed=result is not None and result.changed)


@click.command()
@_TABLE
@click.option(
    "--until",
    metavar="OFFSETS",
    show_default="the stream's current end offsets",
    help="Offset to reach in each partition, e.g. 0=120,1=77.",
)
@_TIMEOUT
@dry_run_option
@output_option()
@pass_cli
def drain(cli: CliContext, table_name: str, until: str | None, timeout_s: float, dry_run: bool) -> None:
    """Consume the stream up to its current end, then pause the table: for streams that end."""
    from controller_client.consumption.pauses.offsets import parse_consume_from
    from controller_client.consumption.recipes.draining import drain as drain_table

    offsets = parse_consume_from(until) if until else None
    if offsets is not None and not isinstance(offsets, dict):
        raise ConfigError(f"--until {until} contains no offsets", expected="e.g. 0=120,1=77")
    control = _control(cli, table_name)
    steps = _Steps(cli, control)
    end_offsets = drain_table(control, until=offsets, timeout_s=timeout_s, report=steps, dry_run=dry_run)
    steps.report(control, dry_run, ends={str(partition): offset for partition, offset in end_offsets.items()})


@click.command()
@_TABLE
@click.option("--reload", is_flag=True, help="Reload the committed segments too, e.g. for a new column.")
@_TIMEOUT
@dry_run_option
@output_option()
@pass_cli
def recover(cli: CliContext, table_name: str, reload: bool, timeout_s: float, dry_run: bool) -> None:
    """Recover stuck consumption: reset segments in ERROR, pause, resume with new segments.

    The new segments use the current schema and table config.
    """
    from controller_client.consumption.recipes.recovering import recover as recover_table

    control = _control(cli, table_name)
    steps = _Steps(cli, control)
    result = recover_table(control, timeout_s=timeout_s, report=steps, reload=reload, dry_run=dry_run)
    note_jumps(cli, result.jumps)
    steps.report(control, dry_run, **result.to_json())


@click.command()
@_TABLE
@_TIMEOUT
@dry_run_option
@output_option()
@pass_cli
def recreate(cli: CliContext, table_name: str, timeout_s: float, dry_run: bool) -> None:
    """Create consuming segments for partitions that have none, e.g. because the segments were deleted."""
    from controller_client.consumption.recipes.recovering import recreate as recreate_segments

    control = _control(cli, table_name)
    steps = _Steps(cli, control)
    result = recreate_segments(control, timeout_s=timeout_s, report=steps, dry_run=dry_run)
    note_jumps(cli, result.jumps)
    if not result.changed and not dry_run:
        cli.out.note(f"Every partition of {control.table} has a consuming segment.")
    steps.report(control, dry_run, **result.to_json())


@click.command()
@_TABLE
@_TIMEOUT
@dry_run_option
@output_option()
@pass_cli
def reset(cli: CliContext, table_name: str, timeout_s: float, dry_run: bool) -> None:
    """Start new consuming segments with the current schema and config; all rows stay queryable."""
    from controller_client.consumption.recipes.recovering import reset as reset_segments

    control = _control(cli, table_name)
    steps = _Steps(cli, control)
    committed = reset_segments(control, timeout_s=timeout_s, report=steps, dry_run=dry_run)
    steps.report(control, dry_run, committed_segments=list(committed))


def note_jumps(cli: CliContext, jumps: Iterable[OffsetJump]) -> None:
    """Report the partitions that did not resume where their committed rows end."""
    for jump in jumps:
        cli.out.note(f"  {jump}")


def note_warnings(cli: CliContext, control: TableControl) -> list[str]:
    """Report what a pause or forced commit can do to a table with Pinot's own upsert or dedup."""
    warnings = control.upsert_warnings()
    for text in warnings:
        cli.out.note(f"{control.table} has {text}.")
    return warnings


def _control(cli: CliContext, table_name: str) -> TableControl:
    from controller_client.consumption.table_control import TableControl

    table, client = TableName.of(table_name, TableType.REALTIME), cli.client()
    if not client.tables.exists(table):
        raise client.tables.unknown(table)
    return TableControl(client, cli.property_store(), table)


class _Steps:
    """Shows each step of a recipe with its number, and writes all steps as JSON at the end."""

    def __init__(self, cli: CliContext, control: TableControl) -> None:
        self._out = cli.out
        self._texts: list[str] = []
        self._warnings = note_warnings(cli, control)

    def __call__(self, text: str) -> None:
        self._texts.append(text)
        self._out.note(f"{len(self._texts)}. {text[:1].upper()}{text[1:]}.")

    def report(self, control: TableControl, dry_run: bool, **more: Any) -> None:
        if self._out.is_json:
            done = {"changed": not dry_run, "warnings": self._warnings, **more}
            self._out.json({"table": control.table, "dry_run": dry_run, "steps": self._texts, **done})


RECIPES = (change_stream, drain, recover, recreate, reset)
