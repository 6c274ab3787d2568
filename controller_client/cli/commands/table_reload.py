"""Let servers load the segments of a table again, and see how far they are."""

from __future__ import annotations

from collections.abc import Mapping

import click

from controller_client.cli.arguments import table_with_type
from controller_client.cli.context import CliContext, pass_cli
from controller_client.cli.named_arguments import segment_argument, table_argument
from controller_client.cli.options import dry_run_option, output_option, wait_options
from controller_client.common.counted_text import counted_text
from controller_client.common.names import TableName
from controller_client.errors import NotFoundError

__all__ = ["RELOADS"]


@click.command()
@table_argument()
@segment_argument("segment_names", metavar="[SEGMENT]...", nargs=-1)
@click.option(
    "--download",
    is_flag=True,
    help="All servers fetch them from the deep store again, also those whose check sum is right; before "
    "Pinot 1.5 of OFFLINE tables alone.",
)
@wait_options("the servers have loaded them")
@dry_run_option
@output_option()
@pass_cli
def reload(
    cli: CliContext,
    table_name: str,
    segment_names: tuple[str, ...],
    download: bool,
    wait: bool,
    timeout_s: float,
    dry_run: bool,
) -> None:
    """Let the servers that have segments load them again (all of the table, unless some are named).

    Queries go on meanwhile. Segments get what schema and table config have now: new columns, new indexes. A
    server that has another version of a segment than its metadata names fetches it from the deep store. One
    that consumes stays as it began.
    """
    client = cli.client()
    table = table_with_type(client, table_name)
    present = client.segments.list(table, exclude_replaced=False)
    missing = sorted(set(segment_names) - set(present))
    if missing:
        raise NotFoundError(
            f"{table} has no segment {', '.join(missing)}",
            remedy=f"see 'pinotctl segment list {table} --all'",
        )
    names = segment_names or tuple(present)
    what = f"{counted_text(len(names), 'segment')} of {table}"
    record = {
        "table": table,
        "segments": list(names),
        "download": download,
        "jobs": {},
        "reloaded": False,
        "changed": bool(names) and not dry_run,
        "dry_run": dry_run,
    }
    if dry_run or not names:
        cli.out.result(f"{what} would be loaded again." if names else f"{table} has no segment.", record)
        return
    if segment_names:
        jobs = {name: client.segments.reload_segment(table, name, download=download) for name in names}
    else:
        jobs = {table: client.segments.reload(table, download=download)}
    for name, job in jobs.items():
        cli.out.note(f"The servers are asked to load {name} again: job {job}.")
    record["jobs"] = jobs
    if not wait:
        cli.out.result("See how far they are by 'pinotctl table reload-status JOB'.", record)
        return
    loaded = _wait(cli, table, jobs, timeout_s)
    ideal = client.tables.ideal_state(table)
    consuming = sum(list((ideal.get(name) or {}).values()).count("CONSUMING") for name in names)
    if consuming:
        cli.out.note(
            f"{counted_text(consuming, 'replica')} of {table} consume, and stay as they began: they get what "
            f"is new with their next segment; 'pinotctl consumption reset {table}' begins it now."
        )
    cli.out.result(
        f"{counted_text(loaded, 'replica')} of segments of {table} are loaded again.",
        {**record, "reloaded": True, "replicas": loaded, "consuming_replicas": consuming},
    )


def _wait(cli: CliContext, table: TableName, jobs: Mapping[str, str], timeout_s: float) -> int:
    """Wait for jobs; return how many replicas are loaded again, without those that consume."""
    segments, clock = cli.client().segments, cli.client().clock
    end_s = clock.monotonic() + timeout_s
    before = last = 0
    with cli.out.progress(f"Reloading {table}", unit="replicas") as progress:

        def seen(done: int, wanted: int) -> None:
            nonlocal last
            last = wanted
            # Of several jobs the total is that of those which were asked so far.
            progress.update(done=before + done, total=before + wanted)

        for job in jobs.values():
            segments.wait_reloaded(table, job, max(0.0, end_s - clock.monotonic()), seen=seen)
            before += last
    return before


@click.command(name="reload-status")
@click.argument("job_id", metavar="JOB")
@output_option()
@pass_cli
def reload_status(cli: CliContext, job_id: str) -> None:
    """Show how far a reload is, counted in replicas of segments; JOB is what 'table reload' names."""
    found = cli.client().segments.reload_status(job_id)
    cli.out.record(
        {
            "job": job_id,
            "table": found.table,
            "segment": found.segment,
            "submitted_ms": found.submitted_ms,
            "replicas": found.total,
            "reloaded": found.reloaded,
            "servers_failed": found.servers_failed,
        }
    )
    if found.servers_failed:
        cli.out.note(f"{counted_text(found.servers_failed, 'server')} did not answer.")


RELOADS = (reload, reload_status)
