"""``pinotctl deepstore watch``."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from controller_client.common.folders import scratch_folder
from controller_client.deepstore.fetching import SegmentFetcher
from controller_client.deepstore.metrics import WatchMetrics
from controller_client.deepstore.repair import Repairer
from controller_client.deepstore.sweep import sweep_tables
from controller_client.deepstore.watch import Watch
from controller_client.monitoring import Monitoring
from controller_client.monitoring.catalogue import WATCH
from controller_client.rest.capabilities import Capability
from controller_client.segment_tar import TarLimits
from controller_client.zookeeper import Lease, process_name
from pinotctl.commands.deepstore.options import (
    audit_options,
    auditor,
    check_owner,
    named_tables,
    quarantine_option,
    repair_options,
    run_audit,
    sweeper,
)
from pinotctl.context import CliContext, pass_cli
from pinotctl.monitoring import monitoring_options, publish_lease, serving
from pinotctl.named_arguments import table_argument
from pinotctl.options import session_timeout_option
from pinotctl.signals import stop_on_signals

__all__ = ["watch"]


@click.command()
@table_argument("table_names", metavar="[TABLE]...", nargs=-1)
@audit_options
@repair_options
@click.option(
    "--interval",
    "interval_s",
    type=click.FloatRange(min=1),
    default=600.0,
    show_default=True,
    help="Seconds from the end of one round to the start of the next.",
)
@click.option("--audit-only", is_flag=True, help="Only audit; repair and sweep nothing.")
@click.option(
    "--sweep-after",
    "sweep_after_h",
    metavar="HOURS",
    type=click.FloatRange(min=0),
    show_default="sweep nothing",
    help="Also do what `deepstore sweep` would do by default, with what is this old.",
)
@quarantine_option
@session_timeout_option
@monitoring_options
@pass_cli
def watch(
    cli: CliContext,
    table_names: tuple[str, ...],
    store_uri: str | None,
    min_copies: int,
    read_tars: bool,
    rate: float,
    parallel: int,
    work_dir: Path | None,
    limits: TarLimits,
    accept_agreeing: bool,
    interval_s: float,
    audit_only: bool,
    sweep_after_h: float | None,
    quarantine_days: int,
    metrics_port: int,
    metrics_host: str,
    session_timeout_s: float,
) -> None:
    """Audit and repair at an interval, until stopped.

    Tables that are created later are included, unless tables are named. Of several watches of the same
    tables, one is active; the others stand by, and one of them takes over when it ends. Watches with
    --audit-only do not stand by for those that repair, nor vice versa.
    """
    stop = stop_on_signals(signal.SIGTERM, signal.SIGINT)
    monitoring = Monitoring(WATCH, cli.client().clock)
    metrics = WatchMetrics(monitoring, interval_s)
    opened_auditor = auditor(
        cli, store_uri, min_copies=min_copies, read_tars=read_tars, rate=rate, limits=limits
    )
    lease = Lease(
        cli.own_session(session_timeout_s),
        _lease_name(table_names, audit_only=audit_only),
        process_name(),
        what="deep store watch",
        note=cli.out.note,
    )
    publish_lease(monitoring, lease)
    # Only once: an unknown name is refused here, but a table that is dropped later is skipped in the rounds.
    named = named_tables(cli, table_names)
    with (
        opened_auditor as (segment_auditor, servers),
        scratch_folder("deep-store-watch-", work_dir) as folder,
    ):
        fetcher = SegmentFetcher(cli.client(), servers, limits=limits, accept_agreeing=accept_agreeing)
        folder_sizes = cli.client().cluster.capabilities().has(Capability.FOLDER_SIZES)
        repairer = Repairer(
            cli.property_store(), segment_auditor.layout, fetcher, folder, folder_sizes=folder_sizes
        )
        store_sweeper = sweeper(
            cli, segment_auditor.layout, sweep_after_h or 0.0, rate, quarantine_days=quarantine_days
        )
        if not audit_only:
            check_owner(cli, segment_auditor.layout)

        def sweep(stopped: Callable[[], bool]) -> int:
            return sweep_tables(store_sweeper, named or cli.client().tables.list_typed(), stopped)

        service = Watch(
            lambda: run_audit(cli, segment_auditor, named),
            None if audit_only else repairer,
            metrics,
            cli.client().clock,
            interval_s=interval_s,
            parallel=parallel,
            turn=lease,
            sweep=None if audit_only or sweep_after_h is None else sweep,
        )
        cli.out.note("The watch is running; Ctrl-C stops it once the repairs in progress are finished.")
        with serving(cli.out, monitoring, metrics_host, metrics_port), lease:
            service.serve(stop.event)


def _lease_name(table_names: Sequence[str], *, audit_only: bool) -> str:
    """Return the name of the lease, which is the same for watches that do the same."""
    kind = "deepstore-watch-audit-only" if audit_only else "deepstore-watch"
    return ",".join([kind, *sorted(table_names)])
