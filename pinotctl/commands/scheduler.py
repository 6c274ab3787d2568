"""``pinotctl scheduler``: run the tasks on their schedules."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import click

from controller_client.clock import SystemClock
from controller_client.common.names import TableName
from controller_client.monitoring import Monitoring
from controller_client.monitoring.catalogue import SCHEDULER
from controller_client.zookeeper import Lease
from minion_tasks.file_ingestion.run.trigger import RunReport, run_scheduled
from minion_tasks.scheduler import Scheduler
from minion_tasks.scheduler_metrics import SchedulerMetrics
from minion_tasks.schedules import Schedules
from pinotctl.commands.task_tools import run_tools
from pinotctl.context import CliContext, pass_cli
from pinotctl.monitoring import monitoring_options, publish_lease, serving
from pinotctl.options import session_timeout_option, spark_conf, spark_options
from pinotctl.signals import stop_on_signals

_LOCK_WAIT_S = 5.0


@click.command()
@click.option(
    "--refresh",
    "refresh_s",
    type=click.FloatRange(min=1),
    default=30.0,
    show_default=True,
    help="Seconds between checks of the tables' schedules; only changed ones are read.",
)
@click.option(
    "--parallel",
    type=click.IntRange(min=1),
    default=8,
    show_default=True,
    help="Maximum number of tables ingested in parallel.",
)
@session_timeout_option
@spark_options
@monitoring_options
@pass_cli
def scheduler(
    cli: CliContext,
    refresh_s: float,
    parallel: int,
    session_timeout_s: float,
    spark_master: str | None,
    spark_settings: tuple[str, ...],
    metrics_port: int,
    metrics_host: str,
) -> None:
    """Run the FileIngestionTask of every table on its schedule, until stopped.

    If several schedulers run, one is active and the others stand by. When the active one ends, another takes
    over.
    """
    from jvm_bridge.cron import CronSchedule

    stop = stop_on_signals(signal.SIGTERM, signal.SIGINT)
    clock = SystemClock()
    monitoring = Monitoring(SCHEDULER, clock)
    metrics = SchedulerMetrics(monitoring, clock)
    tools = replace(
        run_tools(cli, conf=spark_conf(spark_master, spark_settings)), on_session=metrics.session_goes_on
    )

    lease = Lease(
        cli.own_session(session_timeout_s), "scheduler", tools.owner, what="scheduler", note=cli.out.note
    )

    publish_lease(monitoring, lease)

    def run(table: TableName, scheduled_s: float) -> RunReport | None:
        report = run_scheduled(tools, table, scheduled_s, lock_wait_s=_LOCK_WAIT_S, guard=lease.guard)
        if report is None:
            return None  # the previous scheduler has served this trigger
        did = f"{report.outcome.words}, {report.files} files, {report.rows} rows"
        cli.out.note(f"{table}: {did}, session {report.session_id}")
        return report

    cli.out.note("the scheduler is running; Ctrl-C stops it once the current runs are done")
    loop = Scheduler(
        Schedules(tools.store).read,
        run,
        CronSchedule,
        clock,
        metrics=metrics,
        refresh_s=refresh_s,
        pool=ThreadPoolExecutor(parallel, thread_name_prefix="ingestion"),
        turn=lease,
    )
    with serving(cli.out, monitoring, metrics_host, metrics_port), lease:
        loop.serve(stop.event)
