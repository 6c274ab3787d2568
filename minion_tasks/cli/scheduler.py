"""``pinotctl scheduler``: start the tasks at their times."""

from __future__ import annotations

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from types import FrameType

import click

from controller_client.cli.context import CliContext, pass_cli
from controller_client.cli.options import spark_conf, spark_options
from controller_client.clock import SystemClock
from controller_client.common.names import TableName
from minion_tasks.cli.tools import run_tools
from minion_tasks.file_ingestion.run.trigger import run_scheduled
from minion_tasks.scheduler import Scheduler
from minion_tasks.schedules import Schedules

_LOCK_WAIT_S = 5.0


@click.command()
@click.option(
    "--refresh",
    "refresh_s",
    type=click.FloatRange(min=1),
    default=30.0,
    show_default=True,
    help="Seconds between looks at the tables' schedules; only those that have changed are read.",
)
@click.option(
    "--parallel",
    type=click.IntRange(min=1),
    default=8,
    show_default=True,
    help="Tables that run at the same time.",
)
@spark_options
@pass_cli
def scheduler(
    cli: CliContext,
    refresh_s: float,
    parallel: int,
    spark_master: str | None,
    spark_settings: tuple[str, ...],
) -> None:
    """Run FileIngestionTask of every table at its schedule, until stopped."""
    from jvm_bridge.cron import CronSchedule

    stop = threading.Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    tools = run_tools(cli, conf=spark_conf(spark_master, spark_settings))

    def run(table: TableName, scheduled_s: float) -> None:
        report = run_scheduled(tools, table, scheduled_s, lock_wait_s=_LOCK_WAIT_S)
        if report is None:
            cli.out.note(f"{table}: another scheduler has run this trigger")
            return
        did = f"{report.outcome.words}, {report.files} files, {report.rows} rows"
        cli.out.note(f"{table}: {did}, session {report.session_id}")

    cli.out.note("the scheduler is running; Ctrl-C stops it once the current runs are done")
    loop = Scheduler(
        Schedules(tools.store).read,
        run,
        CronSchedule,
        SystemClock(),
        refresh_s=refresh_s,
        pool=ThreadPoolExecutor(parallel, thread_name_prefix="ingestion"),
    )
    loop.serve(stop)
