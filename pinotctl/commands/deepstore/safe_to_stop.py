"""``pinotctl deepstore safe-to-stop``."""

from __future__ import annotations

from collections.abc import Sequence

import click

from controller_client.common.text import counted_text, utc_text
from controller_client.deepstore.reservations import LONGEST_MINUTES, Reservation, Reservations
from controller_client.deepstore.safe_to_stop import Safety, SegmentState
from controller_client.deepstore.safe_to_stop import safe_to_stop as check_stop
from controller_client.errors import ConfigError
from controller_client.segment_tar import TarLimits
from controller_client.zookeeper import process_name
from pinotctl.commands.deepstore.options import auditor, inspect_options
from pinotctl.context import CliContext, pass_cli
from pinotctl.named_arguments import instance_argument
from pinotctl.options import output_option

__all__ = ["safe_to_stop"]


@click.command(name="safe-to-stop")
@instance_argument("servers", metavar="SERVER...", nargs=-1, required=True)
@click.option(
    "--reserve",
    "reserve_minutes",
    metavar="MINUTES",
    type=click.IntRange(min=1, max=LONGEST_MINUTES),
    show_default="reserve nothing",
    help="If it is safe, reserve SERVER for this long: other checks count it as down.",
)
@click.option("--release", is_flag=True, help="Only end the reservations of SERVER, whoever made them.")
@inspect_options
@output_option()
@pass_cli
def safe_to_stop(
    cli: CliContext,
    servers: tuple[str, ...],
    reserve_minutes: int | None,
    release: bool,
    store_uri: str | None,
    read_tars: bool,
    rate: float,
    limits: TarLimits,
) -> None:
    """Find segments whose last good copy is on SERVER, named as in Helix, such as Server_host_8098.

    Run it before you stop, restart, rebalance or retag a server. Name all servers that will be down at the
    same time: they are no copies for each other. The exit code is 1 if a committed segment would lose its
    last copy, or if a segment is being built that no other server could build. A copy that cannot be checked
    counts as missing, and so do those on servers that others have reserved. Segments that only these servers
    consume are listed too; their rows are still in the stream.
    """
    reservations = Reservations(cli.property_store(), cli.client().clock)
    if release:
        if reserve_minutes is not None:
            raise ConfigError("--release and --reserve exclude each other", remedy="pass one of them")
        ended = reservations.release(servers)
        cli.out.table(
            ("server", "owner", "until"), [(one.server, one.owner, utc_text(one.until_ms)) for one in ended]
        )
        return
    down: list[Reservation] = []
    with auditor(cli, store_uri, read_tars=read_tars, rate=rate, limits=limits) as (segment_auditor, _):

        def check(others: Sequence[Reservation]) -> Safety:
            down.extend(others)
            return check_stop(
                cli.client(), segment_auditor, servers, [reservation.server for reservation in others]
            )

        if reserve_minutes is None:
            safety = check(
                [reservation for reservation in reservations.active() if reservation.server not in servers]
            )
        else:
            safety = reservations.check_reserved(servers, reserve_minutes, process_name(), check)
    rows = [(each.table, each.segment, str(each.state), each.reason) for each in safety.at_risk]
    cli.out.table(("table", "segment", "state", "reason"), rows)
    lost, only_here = safety.count(SegmentState.COMMITTED), safety.count(SegmentState.CONSUMING)
    building = safety.count(SegmentState.COMMITTING)
    built = f" Being built only here: {building}; run this again when that is done." if building else ""
    consumed = f" Consumed only here: {only_here}." if only_here else ""
    checked = counted_text(safety.segments, "committed segment")
    committed = f"{', '.join(servers)}: of {checked}, {lost or 'none'} would lose the last copy."
    for name, why in safety.silent:
        cli.out.note(f"{name} did not report its checksums, so its copies do not count: {why}")
    for other in down:
        until = utc_text(other.until_ms)
        cli.out.note(f"{other.server} counts as down: reserved by {other.owner} until {until}.")
    cli.out.note(committed + consumed + built)
    if reserve_minutes is not None and safety.safe:
        cli.out.note(
            f"Reserved for {counted_text(reserve_minutes, 'minute')}. When it serves again: "
            f"`pinotctl deepstore safe-to-stop --release {' '.join(servers)}`."
        )
    if not safety.safe:
        raise click.exceptions.Exit(1)
