"""Pause, resume and watch the consumption of realtime tables; change streams; recover what got stuck."""

from __future__ import annotations

from contextlib import nullcontext
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from controller_client.cli.commands import consumption_recipes
from controller_client.cli.commands.consumption_partitions import pause_partitions_of, resume_partitions_of
from controller_client.cli.commands.consumption_recipes import note_jumps, note_warnings
from controller_client.cli.commands.each_table import each_table
from controller_client.cli.context import CliContext, pass_cli
from controller_client.cli.named_arguments import table_argument
from controller_client.cli.options import dry_run_option, html_option, output_option, timeout_option
from controller_client.common.names import TableName, TableType
from controller_client.common.nearest import did_you_mean
from controller_client.errors import NotFoundError

if TYPE_CHECKING:
    from controller_client.cli.pages.consumption import ConsumptionPage
    from controller_client.consumption.status import TableStatus
    from controller_client.consumption.table_control import TableControl

__all__ = ["consumption"]

_TABLES = table_argument("patterns", metavar="TABLE...", nargs=-1, required=True)
_NO_WAIT = click.option("--no-wait", is_flag=True, help="Do not wait until it is finished.")
_TIMEOUT = timeout_option("Seconds to wait, for each table.")
_PARTITIONS = click.option(
    "--partition",
    "partitions",
    type=click.IntRange(min=0),
    multiple=True,
    metavar="NUMBER",
    help="Only this partition; may be given again. All servers of the table must be hosted in Python.",
)
_COMMENT = click.option("--comment", help="More words; Pinot 1.3 and later keep them too.")
_NO_STREAM = click.option(
    "--no-stream",
    is_flag=True,
    help="Do not read the stream itself (lag, lost rows); e.g. where it cannot be reached from here.",
)


@click.group(help=__doc__)
def consumption() -> None:  # noqa: D103  # help is the module's docstring
    pass


@consumption.command()
@_TABLES
@_PARTITIONS
@click.option("--reason", help="Why, in a word.")
@_COMMENT
@click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    help="How many segments commit at a time; Pinot 1.5 and later.",
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
    """Pause tables and wait until nothing of them consumes on any server.

    TABLE is a name, or a pattern such as 'web_*'. The pause of every table is requested before the first one
    is waited for. Run again, it goes on waiting, and forces the commit of what has not committed.
    """
    from controller_client.consumption.pausing import pause as pause_table
    from controller_client.consumption.pausing import wait_paused

    controls = _controls(cli, patterns)
    if partitions:
        if batch_size:
            raise click.UsageError("--batch-size does not go with --partition")
        pause_partitions_of(cli, controls, partitions, reason, comment, not no_wait, timeout_s, dry_run)
        return

    def preview(control: TableControl) -> dict[str, Any]:
        ideal = control.ideal()
        at = "is paused already" if ideal.flags.table_paused else "would be paused"
        cli.out.note(f"{control.table} {at}: {len(ideal.consuming)} segments consume.")
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
            cli.out.note(f"{control.table} was paused already.")
        return {"changed": began, "dry_run": False, "paused": False, "warnings": warnings}

    def wait(control: TableControl) -> dict[str, Any]:
        wait_paused(control, timeout_s=timeout_s)
        cli.out.note(f"{control.table} is paused: nothing consumes.")
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
    metavar="PLACE",
    help=(
        "smallest, largest, lastConsumed, or the offsets of partitions: 0=120,3=77. All but the last one may "
        "leave rows out, or read them again."
    ),
)
@_COMMENT
@_NO_WAIT
@_TIMEOUT
@_NO_STREAM
@dry_run_option
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
) -> None:
    """Resume tables and wait until every partition consumes.

    Rows that the stream has dropped during the pause are reported, with their offsets.
    """
    from controller_client.cli.commands.consumption_view import as_json, resume_notes
    from controller_client.consumption.offsets import parse_consume_from
    from controller_client.consumption.resuming import resume as resume_table
    from controller_client.rest.consumption import ConsumeFrom

    start = parse_consume_from(consume_from)
    controls = _controls(cli, patterns, no_stream)
    if partitions:
        if start is not ConsumeFrom.LAST_CONSUMED:
            raise click.UsageError("a partition resumes where it was stopped: no --consume-from")
        resume_partitions_of(cli, controls, partitions, not no_wait, timeout_s, dry_run)
        return

    def preview(control: TableControl) -> dict[str, Any]:
        seen = control.status()
        cli.out.note("\n".join(resume_notes(seen, consume_from)))
        return {"changed": False, "dry_run": True, "status": as_json(seen)}

    def go(control: TableControl) -> dict[str, Any]:
        result = resume_table(
            control, consume_from=start, wait=not no_wait, timeout_s=timeout_s, comment=comment
        )
        if result.changed:
            cli.out.note(f"{control.table} {'is resuming' if no_wait else 'consumes'}.")
            note_jumps(cli, result.jumps)
        else:
            cli.out.note(f"{control.table} consumes already.")
        return {"dry_run": False, **result.to_json()}

    each_table(cli, controls, preview if dry_run else go)


@consumption.command()
@table_argument("patterns", metavar="[TABLE]...", nargs=-1)
@click.option("--watch", "watching", is_flag=True, help="Show it again and again, until Ctrl-C.")
@click.option(
    "--interval",
    "interval_s",
    type=click.FloatRange(min=0.1),
    default=2.0,
    show_default=True,
    help="Seconds between two readings of --watch.",
)
@click.option("--rounds", type=click.IntRange(min=1), help="How many readings of --watch.")
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
    """Show where the partitions of tables are (of all realtime tables, unless some are named).

    With --watch: in place on a terminal, elsewhere a line for each change.
    """
    from controller_client.cli.commands.consumption_view import show, watch

    controls, clock = _controls(cli, patterns, no_stream), cli.client().clock
    page: ConsumptionPage | None = None
    if html is not None:
        from controller_client.cli.pages.consumption import ConsumptionPage

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
    help="How many segments commit at a time; Pinot 1.4 and later.",
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
    """Commit what tables consume now, and go on consuming."""
    from controller_client.consumption.committing import force_commit as force

    controls = _controls(cli, patterns)

    def go(control: TableControl) -> dict[str, Any]:
        warnings = note_warnings(cli, control)
        if dry_run:
            segments = tuple(control.ideal().consuming)
            done = "would be committed"
        else:
            segments = force(control, timeout_s=timeout_s, wait=not no_wait, batch_size=batch_size)
            done = "were asked to commit" if no_wait else "committed"
        cli.out.note(f"{control.table}: {len(segments)} segments {done}.")
        return {
            "segments": sorted(segments),
            "changed": bool(segments) and not dry_run,
            "dry_run": dry_run,
            "committed": not (no_wait or dry_run),
            "warnings": warnings,
        }

    each_table(cli, controls, go)


def _controls(cli: CliContext, patterns: tuple[str, ...], no_stream: bool = False) -> list[TableControl]:
    """The realtime tables that patterns name, with or without their type; without patterns all."""
    from controller_client.consumption.table_control import TableControl

    everything = cli.client().tables.list(TableType.REALTIME)
    found: list[TableName] = [] if patterns else everything
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
        found += [name for name in names if name not in found]
    store = cli.property_store()
    return [TableControl(cli.client(), store, name, watch_stream=not no_stream) for name in found]


for _recipe in consumption_recipes.RECIPES:
    consumption.add_command(_recipe)
