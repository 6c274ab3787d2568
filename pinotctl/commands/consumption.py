"""Pause, resume and watch the consumption of realtime tables; change streams; recover from failures."""

from __future__ import annotations

from contextlib import nullcontext
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from controller_client.common.names import TableName, TableType
from controller_client.common.text import counted_text, did_you_mean
from controller_client.errors import LostEndError, NotFoundError
from pinotctl.commands import consumption_recipes
from pinotctl.commands.consumption_partitions import pause_partitions_of, resume_partitions_of
from pinotctl.commands.consumption_recipes import note_jumps, note_warnings
from pinotctl.commands.each_table import each_table
from pinotctl.context import CliContext, pass_cli
from pinotctl.lazy import CommandGroup
from pinotctl.named_arguments import table_argument
from pinotctl.options import (
    confirm,
    dry_run_option,
    html_option,
    output_option,
    timeout_option,
    yes_option,
)

if TYPE_CHECKING:
    from controller_client.consumption.state.status import TableStatus
    from controller_client.consumption.table_control import TableControl
    from pinotctl.pages.consumption import ConsumptionPage

__all__ = ["consumption"]

_TABLES = table_argument("patterns", metavar="TABLE...", nargs=-1, required=True)
_NO_WAIT = click.option("--no-wait", is_flag=True, help="Return without waiting for the result.")
_TIMEOUT = timeout_option("Seconds to wait, for each table.")
_PARTITIONS = click.option(
    "--partition",
    "partitions",
    type=click.IntRange(min=0),
    multiple=True,
    metavar="NUMBER",
    help="Only this partition; all servers of the table must be hosted in Python. Repeatable.",
)
_COMMENT = click.option("--comment", help="Comment in free text; Pinot 1.3 and later also store it.")
_NO_STREAM = click.option(
    "--no-stream",
    is_flag=True,
    help="Do not read the stream itself (lag, lost rows), e.g. if it cannot be reached from here.",
)


@click.group(help=__doc__, cls=CommandGroup)
def consumption() -> None:  # noqa: D103  # help is the module's docstring
    pass


@consumption.command()
@_TABLES
@_PARTITIONS
@click.option("--reason", help="Short reason for the pause.")
@_COMMENT
@click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    help="Number of segments to commit at a time (Pinot 1.5 and later).",
)
@_NO_WAIT
@_TIMEOUT
@dry_run_option
@output_option()
@pass_cli
def pause(
    cli: CliContext,
    patterns: tuple[str, ...],
    partitions: tuple[int, ...],
    reason: str | None,
    comment: str | None,
    batch_size: int | None,
    no_wait: bool,
    timeout_s: float,
    dry_run: bool,
) -> None:
    """Pause tables and wait until no server consumes them.

    TABLE is a name, or a pattern such as 'web_*'. All pauses are requested first, then the command waits for
    each table. If you run it again, it continues to wait, and forces the commit of segments that have not
    committed yet.
    """
    from controller_client.consumption.pauses.pausing import pause as pause_table
    from controller_client.consumption.pauses.pausing import wait_paused

    controls = _controls(cli, patterns)
    if partitions:
        if batch_size:
            raise click.UsageError("--batch-size cannot be combined with --partition")
        pause_partitions_of(cli, controls, partitions, reason, comment, not no_wait, timeout_s, dry_run)
        return

    def preview(control: TableControl) -> dict[str, Any]:
        ideal = control.ideal()
        what = "is already paused" if ideal.flags.table_paused else "would be paused"
        consuming = counted_text(len(ideal.consuming), "consuming segment")
        cli.out.note(f"{control.table} {what}: {consuming}.")
        return {
            "warnings": note_warnings(cli, control),
            "changed": False,
            "dry_run": True,
            "paused": False,
            "consuming_segments": len(ideal.consuming),
        }

    def request(control: TableControl) -> dict[str, Any]:
        warnings = note_warnings(cli, control)
        began = pause_table(
            control, reason=reason, comment=comment, wait=False, timeout_s=timeout_s, batch_size=batch_size
        )
        if not began:
            cli.out.note(f"{control.table} was already paused.")
        return {"changed": began, "dry_run": False, "paused": False, "warnings": warnings}

    def wait(control: TableControl) -> dict[str, Any]:
        wait_paused(control, timeout_s=timeout_s)
        cli.out.note(f"{control.table} is paused: no server consumes it.")
        return {"paused": True}

    if dry_run:
        each_table(cli, controls, preview)
    else:
        each_table(cli, controls, request, *(() if no_wait else (wait,)))


@consumption.command()
@_TABLES
@_PARTITIONS
@click.option(
    "--consume-from",
    default="lastConsumed",
    show_default=True,
    metavar="POSITION",
    help=(
        "Where to start: smallest, largest, lastConsumed, or an offset for each partition (0=120,3=77). Only "
        "lastConsumed neither skips rows nor reads them twice."
    ),
)
@_COMMENT
@_NO_WAIT
@_TIMEOUT
@_NO_STREAM
@dry_run_option
@yes_option
@output_option()
@pass_cli
def resume(
    cli: CliContext,
    patterns: tuple[str, ...],
    partitions: tuple[int, ...],
    consume_from: str,
    comment: str | None,
    no_wait: bool,
    timeout_s: float,
    no_stream: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Resume tables and wait until every partition consumes.

    If the stream dropped rows during the pause, their offsets are reported. If the newest segments of a
    partition were deleted or merged meanwhile, so that Pinot would read rows again, the command asks first.
    """
    from controller_client.consumption.pauses.offsets import parse_consume_from
    from controller_client.consumption.pauses.resuming import resume as resume_table
    from controller_client.rest.consumption import ConsumeFrom
    from pinotctl.commands.consumption_view import as_json, resume_notes

    start = parse_consume_from(consume_from)
    controls = _controls(cli, patterns, no_stream)
    if partitions:
        if start is not ConsumeFrom.LAST_CONSUMED:
            raise click.UsageError(
                "--consume-from cannot be combined with --partition: a partition resumes where it was paused"
            )
        resume_partitions_of(cli, controls, partitions, not no_wait, timeout_s, dry_run)
        return

    def preview(control: TableControl) -> dict[str, Any]:
        seen = control.status()
        cli.out.note("\n".join(resume_notes(seen, consume_from)))
        return {"changed": False, "dry_run": True, "status": as_json(seen)}

    def go(control: TableControl) -> dict[str, Any]:
        resume_it = partial(
            resume_table,
            control,
            consume_from=start,
            wait=not no_wait,
            timeout_s=timeout_s,
            comment=comment,
        )
        try:
            result = resume_it()
        except LostEndError as error:
            cli.out.note(str(error))
            confirm(f"Resume {control.table} and have these rows read again?", yes=yes)
            result = resume_it(read_again=True)
        if result.changed:
            cli.out.note(f"{control.table} is {'resuming' if no_wait else 'consuming'}.")
            note_jumps(cli, result.jumps)
        else:
            cli.out.note(f"{control.table} is already consuming.")
        return {"dry_run": False, **result.to_json()}

    each_table(cli, controls, preview if dry_run else go)


@consumption.command()
@table_argument("patterns", metavar="[TABLE]...", nargs=-1)
@click.option("--watch", "watching", is_flag=True, help="Keep showing the status until Ctrl-C.")
@click.option(
    "--interval",
    "interval_s",
    type=click.FloatRange(min=0.1),
    default=2.0,
    show_default=True,
    help="With --watch: seconds between updates.",
)
@click.option(
    "--rounds", type=click.IntRange(min=1), show_default="no limit", help="With --watch: number of updates."
)
@_NO_STREAM
@html_option(
    "Also write an HTML page to this file; with --watch again at each reading, with the lag over time."
)
@output_option()
@pass_cli
def status(
    cli: CliContext,
    patterns: tuple[str, ...],
    watching: bool,
    interval_s: float,
    rounds: int | None,
    no_stream: bool,
    html: Path | None,
) -> None:
    """Show state, offset and lag of each partition (of all realtime tables, unless some are named).

    --watch updates the display in place on a terminal; otherwise it writes one line for each change.
    """
    from pinotctl.commands.consumption_view import show, watch

    controls, clock = _controls(cli, patterns, no_stream), cli.client().clock
    page: ConsumptionPage | None = None
    if html is not None:
        from pinotctl.pages.consumption import ConsumptionPage

        page = ConsumptionPage(html, cli.console(), interval_s if watching else None)

    def read() -> list[TableStatus]:
        found = [control.status() for control in controls]
        if page is not None:
            page.show(found, int(clock.now() * 1000))
        return found

    with page or nullcontext():
        if watching:
            watch(cli.out, read, clock, interval_s, rounds=rounds)
        else:
            show(cli.out, read())


@consumption.command(name="force-commit")
@_TABLES
@click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    help="Number of segments to commit at a time (Pinot 1.4 and later).",
)
@_NO_WAIT
@_TIMEOUT
@dry_run_option
@output_option()
@pass_cli
def force_commit(
    cli: CliContext,
    patterns: tuple[str, ...],
    batch_size: int | None,
    no_wait: bool,
    timeout_s: float,
    dry_run: bool,
) -> None:
    """Commit the consuming segments of tables; consumption continues in new segments."""
    from controller_client.consumption.pauses.committing import force_commit as force

    controls = _controls(cli, patterns)

    def go(control: TableControl) -> dict[str, Any]:
        warnings = note_warnings(cli, control)
        if dry_run:
            segments = tuple(control.ideal().consuming)
            done = "would be committed"
        else:
            segments = force(control, timeout_s=timeout_s, wait=not no_wait, batch_size=batch_size)
            done = "asked to commit" if no_wait else "committed"
        cli.out.note(f"{control.table}: {counted_text(len(segments), 'segment')} {done}.")
        return {
            "segments": sorted(segments),
            "changed": bool(segments) and not dry_run,
            "dry_run": dry_run,
            "committed": not (no_wait or dry_run),
            "warnings": warnings,
        }

    each_table(cli, controls, go)


def _controls(cli: CliContext, patterns: tuple[str, ...], no_stream: bool = False) -> list[TableControl]:
    """Return the realtime tables that match patterns, with or without type; all if there are no patterns."""
    from controller_client.consumption.table_control import TableControl

    everything = cli.client().tables.list(TableType.REALTIME)
    tables: list[TableName] = [] if patterns else everything
    for pattern in patterns:
        names = [name for name in everything if fnmatchcase(name, pattern) or fnmatchcase(name.raw, pattern)]
        if not names:
            logical = cli.client().tables.logical_error(pattern)
            if logical is not None:
                raise logical
            raise NotFoundError(
                f"there is no realtime table {pattern}",
                where=cli.client().config.url,
                remedy=did_you_mean(
                    pattern,
                    (name.raw for name in everything),
                    otherwise="see 'pinotctl table list --type realtime'",
                ),
            )
        tables += [name for name in names if name not in tables]
    store = cli.property_store()
    return [TableControl(cli.client(), store, name, watch_stream=not no_stream) for name in tables]


for _recipe in consumption_recipes.RECIPES:
    consumption.add_command(_recipe)
