"""Have servers reload the segments of a table, and show their progress."""

from __future__ import annotations

from collections.abc import Mapping

import click

from controller_client.common.names import TableName
from controller_client.common.text import counted_text
from controller_client.errors import NotFoundError
from pinotctl.arguments import table_with_type
from pinotctl.context import CliContext, pass_cli
from pinotctl.named_arguments import segment_argument, table_argument
from pinotctl.options import dry_run_option, output_option, wait_options

__all__ = ["RELOADS"]


@click.command()
@table_argument()
@segment_argument("segment_names", metavar="[SEGMENT]...", nargs=-1)
@click.option(
    "--download",
    is_flag=True,
    help="Have all servers download the segments from the deep store again, even if their checksum is right; "
    "before Pinot 1.5 only for OFFLINE tables.",
)
@wait_options("the servers have reloaded them")
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
    """Have servers reload segments (all of the table, unless some are named).

    Queries continue meanwhile. Segments get what the schema and table config have now: new columns, new
    indexes. A server whose copy differs from the version in the segment's metadata downloads the segment from
    the deep store. Consuming segments stay as they are.
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
        cli.out.result(f"Would reload {what}." if names else f"{table} has no segments.", record)
        return
    if segment_names:
        jobs = {name: client.segments.reload_segment(table, name, download=download) for name in names}
    else:
        jobs = {table: client.segments.reload(table, download=download)}
    for name, job in jobs.items():
        cli.out.note(f"Asked the servers to reload {name}: job {job}.")
    record["jobs"] = jobs
    if not wait:
        cli.out.result("See their progress with 'pinotctl table reload-status JOB'.", record)
        return
    loaded = _wait(cli, table, jobs, timeout_s)
    ideal = client.tables.ideal_state(table)
    consuming = sum(list((ideal.get(name) or {}).values()).count("CONSUMING") for name in names)
    if consuming:
        cli.out.note(
            f"Not reloaded: {counted_text(consuming, 'consuming replica')} of {table}. The changes apply "
            f"from the next segment on; 'pinotctl consumption reset {table}' starts it now."
        )
    cli.out.result(
        f"Reloaded {counted_text(loaded, 'segment replica')} of {table}.",
        {**record, "reloaded": True, "replicas": loaded, "consuming_replicas": consuming},
    )


def _wait(cli: CliContext, table: TableName, jobs: Mapping[str, str], timeout_s: float) -> int:
    """Wait for jobs; return how many replicas were reloaded, not counting consuming ones."""
    segments, clock = cli.client().segments, cli.client().clock
    end_s = clock.monotonic() + timeout_s
    before = last = 0
    with cli.out.progress(f"Reloading {table}", unit="replicas") as progress:

        def seen(done: int, total: int) -> None:
            nonlocal last
            last = total
            # With several jobs, the total is that of the jobs polled so far.
            progress.update(done=before + done, total=before + total)

        for job in jobs.values():
            segments.wait_reloaded(table, job, max(0.0, end_s - clock.monotonic()), seen=seen)
            before += last
    return before


@click.command(name="reload-status")
@click.argument("job_id", metavar="JOB")
@output_option()
@pass_cli
def reload_status(cli: CliContext, job_id: str) -> None:
    """Show the progress of a reload, in segment replicas; JOB is the id that 'table reload' prints."""
    progress = cli.client().segments.reload_status(job_id)
    cli.out.record(
        {
            "job": job_id,
            "table": progress.table,
            "segment": progress.segment,
            "submitted_ms": progress.submitted_ms,
            "replicas": progress.total,
            "reloaded": progress.reloaded,
            "servers_failed": progress.servers_failed,
        }
    )
    if progress.servers_failed:
        cli.out.note(f"{counted_text(progress.servers_failed, 'server')} did not answer.")


RELOADS = (reload, reload_status)
