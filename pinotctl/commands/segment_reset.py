"""Have servers drop segments and load them again, which gets a segment out of ERROR."""

from __future__ import annotations

import click

from controller_client.common.text import counted_text
from controller_client.errors import NotFoundError
from pinotctl.arguments import table_with_type
from pinotctl.context import CliContext, pass_cli
from pinotctl.named_arguments import segment_argument, table_argument
from pinotctl.options import dry_run_option, output_option, wait_options

__all__ = ["reset"]


@click.command()
@table_argument()
@segment_argument("segment_names", metavar="[SEGMENT]...", nargs=-1)
@click.option("--errors", is_flag=True, help="Reset all of the table's segments that are in ERROR.")
@click.option("--server", metavar="NAME", help="Only on this server.")
@wait_options("the servers have loaded them")
@dry_run_option
@output_option()
@pass_cli
def reset(
    cli: CliContext,
    table_name: str,
    segment_names: tuple[str, ...],
    errors: bool,
    server: str | None,
    wait: bool,
    timeout_s: float,
    dry_run: bool,
) -> None:
    """Have servers drop segments and load them again: the named ones, or all that are in ERROR.

    Meanwhile queries use the other replicas, if there are any. 'table reload' reloads segments in place.
    """
    if bool(segment_names) == errors:
        raise click.UsageError("pass either segments or --errors")
    client = cli.client()
    table = table_with_type(client, table_name)
    ideal, seen = client.tables.ideal_state(table), client.tables.external_view(table)
    if errors:
        names = [
            name
            for name, states in sorted(seen.items())
            if any(state == "ERROR" and server in (None, holder) for holder, state in states.items())
        ]
    else:
        names = list(segment_names)
    missing = [name for name in names if name not in ideal or (server and server not in ideal[name])]
    if missing:
        where = f" on {server}" if server else ""
        raise NotFoundError(
            f"{table} has no segment {', '.join(missing)}{where}",
            remedy=f"see 'pinotctl table state {table}'",
        )
    record = {
        "table": table,
        "segments": names,
        "server": server,
        "changed": bool(names) and not dry_run,
        "dry_run": dry_run,
        "online": False,
    }
    what = f"{counted_text(len(names), 'segment')} of {table}"
    if dry_run or not names:
        text = f"{what} would be reset: {', '.join(names)}." if names else f"{table} has no segment in ERROR."
        cli.out.result(text, record)
        return
    resets = None
    if wait:
        from controller_client.helix import SegmentResets

        servers = {server} if server else {each for name in names for each in ideal[name]}
        resets = SegmentResets(client, cli.property_store(), table, names, servers)
    with cli.out.progress(f"Resetting {table}", total=len(names), unit="segments") as progress:
        for name in names:
            client.segments.reset(table, name, server=server)
            progress.advance()
    if resets is None:
        cli.out.result(f"Reset {what}; 'pinotctl segment wait {table}' waits until they are loaded.", record)
        return
    with cli.out.progress(f"Loading {table}", total=len(names), unit="segments") as progress:
        resets.wait(timeout_s, seen=lambda count: progress.update(done=count))
    cli.out.result(f"Reset {what}; all are loaded.", {**record, "online": True})
