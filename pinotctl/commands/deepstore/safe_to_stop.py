"""``pinotctl deepstore safe-to-stop``."""

from __future__ import annotations

import click

from controller_client.common.counted_text import counted_text
from controller_client.deepstore.safe_to_stop import SegmentState
from controller_client.deepstore.safe_to_stop import safe_to_stop as check_stop
from controller_client.segment_tar import TarLimits
from pinotctl.commands.deepstore.options import auditor, inspect_options
from pinotctl.context import CliContext, pass_cli
from pinotctl.named_arguments import instance_argument
from pinotctl.options import output_option

__all__ = ["safe_to_stop"]


@click.command(name="safe-to-stop")
@instance_argument("servers", metavar="SERVER...", nargs=-1, required=True)
@inspect_options
@output_option()
@pass_cli
def safe_to_stop(
    cli: CliContext,
    servers: tuple[str, ...],
    store_uri: str | None,
    read_tars: bool,
    rate: float,
    limits: TarLimits,
) -> None:
    """Find segments whose last good copy is on SERVER, named as in Helix, e.g. Server_host_8098.

    Run it before you stop, restart, rebalance or retag a server. Name all servers that will be down at the
    same time: they are no copies for each other. The exit code is 1 if a committed segment would lose its
    last copy, or if a segment is being built that no other server could build. A copy that cannot be checked
    counts as missing. Segments that only these servers consume are listed too; their rows are still in the
    stream.
    """
    with auditor(cli, store_uri, read_tars=read_tars, rate=rate, limits=limits) as (segment_auditor, _):
        found = check_stop(cli.client(), segment_auditor, servers)
    rows = [(each.table, each.segment, str(each.state), each.reason) for each in found.at_risk]
    cli.out.table(("table", "segment", "state", "reason"), rows)
    lost, only_here = found.count(SegmentState.COMMITTED), found.count(SegmentState.CONSUMING)
    building = found.count(SegmentState.COMMITTING)
    built = f" Being built only here: {building}; run this again when that is done." if building else ""
    consumed = f" Consumed only here: {only_here}." if only_here else ""
    checked = counted_text(found.segments, "committed segment")
    committed = f"{', '.join(servers)}: of {checked}, {lost or 'none'} would lose the last copy."
    for name, why in found.silent:
        cli.out.note(f"{name} did not report its checksums, so its copies do not count: {why}")
    cli.out.note(committed + consumed + built)
    if not found.safe:
        raise click.exceptions.Exit(1)
