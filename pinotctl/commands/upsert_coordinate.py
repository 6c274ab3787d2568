"""``pinotctl upsert coordinate``: run the key coordinator of an upsert table, in the foreground."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import TextIO

import click

from controller_client.clock import SystemClock
from controller_client.monitoring import Monitoring
from controller_client.monitoring.catalogue import COORDINATOR
from controller_client.upsert.record import LOCK
from controller_client.zookeeper import TableLock, process_name
from pinotctl.arguments import table_with_type
from pinotctl.context import CliContext, pass_cli
from pinotctl.monitoring import monitoring_options, serving
from pinotctl.named_arguments import table_argument
from pinotctl.options import session_timeout_option, spark_conf, spark_options
from pinotctl.signals import stop_on_signals

__all__ = ["coordinate"]

_LOCK_WAIT_TIMES = 2.5
"""Times the session timeout: a killed coordinator's session keeps the lock that long, plus one tick."""
_DEFAULT_ENGINE = "local"


@click.command()
@table_argument()
@click.option(
    "--checkpoint",
    required=True,
    metavar="LOCATION",
    help="Where to keep the state: a folder on this machine or, with the engine spark, any location that the"
    " driver and all executors can reach.",
)
@click.option(
    "--engine",
    show_default="the engine of the last run, at first PINOT_PLUGINS_ENGINE or local",
    help="What runs it: local (this process) or spark. After a change, the whole input is read again.",
)
@click.option(
    "--standby",
    is_flag=True,
    help="Engine local: follow the running coordinator and take over when it ends.",
)
@click.option(
    "--version-interval",
    "interval_s",
    type=click.FloatRange(min=0),
    show_default="local: 0.25, spark: 1",
    help="Minimum seconds from one version to the next.",
)
@click.option(
    "--max-rows-per-version",
    "max_rows",
    type=click.IntRange(min=1),
    show_default="local: 60000, spark: 200000",
    help="Maximum number of input rows in one version.",
)
@click.option(
    "--replication",
    type=click.IntRange(min=1),
    show_default="that of the input topic",
    help="Replication factor of the updates topic, if it is created.",
)
@click.option(
    "--avro-schema",
    type=click.File(encoding="utf-8"),
    metavar="FILE",
    help="Schema of Avro messages in the input topic.",
)
@click.option("--once", is_flag=True, help="Stop once all rows that exist now are processed.")
@click.option(
    "--allow-data-loss", is_flag=True, help="Continue if Kafka has deleted rows before they were read."
)
@click.option(
    "--partitions",
    type=click.IntRange(min=1),
    show_default="Spark's default parallelism",
    help="Engine spark: partitions of a new state.",
)
@click.option(
    "--buckets",
    type=click.IntRange(min=1),
    default=16,
    show_default=True,
    help="Engine spark: key buckets of a new state; up to one per 100,000 keys is reasonable.",
)
@click.option(
    "--kafka-package",
    metavar="COORDINATES",
    show_default="the jars that this project was tested with",
    help="Engine spark: Maven coordinates of Spark's Kafka source for Spark to download, e.g."
    " org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0.",
)
@session_timeout_option
@spark_options
@monitoring_options
@pass_cli
def coordinate(
    cli: CliContext,
    table_name: str,
    checkpoint: str,
    engine: str | None,
    standby: bool,
    interval_s: float | None,
    max_rows: int | None,
    replication: int | None,
    avro_schema: TextIO | None,
    once: bool,
    allow_data_loss: bool,
    partitions: int | None,
    buckets: int,
    kafka_package: str | None,
    session_timeout_s: float,
    spark_master: str | None,
    spark_settings: tuple[str, ...],
    metrics_port: int,
    metrics_host: str,
) -> None:
    """Run the key coordinator of an upsert table until Ctrl-C or SIGTERM.

    The coordinator reads the table's input topic and keeps the current record of each key. It sends the
    inserted and deleted rows to the table's updates topic, one version at a time. Each table has one running
    coordinator. After a restart it resumes where it stopped.
    """
    from controller_client.upsert.generation import read_generation
    from key_coordinator.engines import CoordinatorRun, engine_of
    from key_coordinator.metrics import CoordinatorMetrics
    from key_coordinator.plan import plan_of
    from key_coordinator.report import VersionLines, VersionReport

    settings = {
        **spark_conf(spark_master, spark_settings),
        "buckets": str(buckets),
        **({"partitions": str(partitions)} if partitions else {}),
        **({"kafka_package": kafka_package} if kafka_package else {}),
    }
    table = table_with_type(cli.client(), table_name)
    plan = plan_of(cli.client(), table, avro_schema.read() if avro_schema else None)
    store = cli.own_session(session_timeout_s)
    if engine is None:
        present = read_generation(store, table)
        engine = present.engine if present else cli.default_engine() or _DEFAULT_ENGINE
    run_on_engine = engine_of(engine)
    clock = SystemClock()
    shown = VersionLines(cli.out.note, clock)
    monitoring = Monitoring(COORDINATOR, clock)
    metrics = CoordinatorMetrics(monitoring, table, clock)

    def on_version(report: VersionReport) -> None:
        metrics.version_sent(report)
        shown.add(report)

    def ready() -> threading.Event:
        # Only once the engine runs: Spark installs its own handler of Ctrl-C when it starts.
        stop = stop_on_signals(signal.SIGTERM, signal.SIGINT)
        if not standby:
            cli.out.note(f"The key coordinator of {table} is running; stop it with Ctrl-C.")
        return stop.event

    with (
        serving(cli.out, monitoring, metrics_host, metrics_port),
        TableLock(store, table, LOCK, process_name()) as lock,
    ):
        if not standby:
            lock.acquire(_LOCK_WAIT_TIMES * store.connection.session_timeout_s)
        try:
            run_on_engine(
                CoordinatorRun(
                    store,
                    plan,
                    lock,
                    clock,
                    checkpoint=checkpoint if "://" in checkpoint else str(Path(checkpoint).absolute()),
                    interval_s=interval_s,
                    max_rows=max_rows,
                    replication=replication,
                    on_version=on_version,
                    note=cli.out.note,
                    ready=ready,
                    once=once,
                    allow_data_loss=allow_data_loss,
                    standby=standby,
                    settings=settings,
                    on_check=metrics.checked,
                    on_failure=metrics.failed,
                )
            )
        finally:
            shown.close()
