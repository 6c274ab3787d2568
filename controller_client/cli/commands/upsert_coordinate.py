"""``pinotctl upsert coordinate``: run the key coordinator of an upsert table, in the foreground."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import TextIO

import click

from controller_client.cli.arguments import table_with_type
from controller_client.cli.context import CliContext, pass_cli
from controller_client.cli.monitoring import monitoring_options, serving
from controller_client.cli.named_arguments import table_argument
from controller_client.cli.options import session_timeout_option, spark_conf, spark_options
from controller_client.cli.signals import stop_on_signals
from controller_client.clock import SystemClock
from controller_client.monitoring import Monitoring
from controller_client.monitoring.catalogue import COORDINATOR
from controller_client.upsert.record import LOCK
from controller_client.zookeeper import TableLock, process_name

__all__ = ["coordinate"]

_LOCK_WAIT_TIMES = 2.5
"""Of the session's time: that of a killed coordinator holds the lock for it and a tick of ZooKeeper's."""
_DEFAULT_ENGINE = "local"


@click.command()
@table_argument()
@click.option(
    "--checkpoint",
    required=True,
    metavar="LOCATION",
    help="Where the state is kept: a folder of this machine; with the engine spark also what else driver and"
    " executors reach.",
)
@click.option(
    "--engine",
    help="What runs it: local (this process), or spark; default: as before, at first local. Another one than"
    " before reads the whole input again.",
)
@click.option(
    "--standby",
    is_flag=True,
    help="Engine local: follow the running coordinator, and take over when it ends.",
)
@click.option(
    "--version-interval",
    "interval_s",
    type=click.FloatRange(min=0),
    help="Seconds from version to version, at least; default: 0.25 with local, 1 with spark.",
)
@click.option(
    "--max-rows-per-version",
    "most_rows",
    type=click.IntRange(min=1),
    help="Rows of the input in one version, at most; default: 60000 with local, 200000 with spark.",
)
@click.option(
    "--replication", type=click.IntRange(min=1), default=1, show_default=True, help="Of a new updates topic."
)
@click.option("--avro-schema", type=click.File(encoding="utf-8"), metavar="FILE", help="Of Avro messages.")
@click.option("--once", is_flag=True, help="End when all rows that are there have their events.")
@click.option(
    "--allow-data-loss", is_flag=True, help="Go on where Kafka has deleted rows before they were read."
)
@click.option(
    "--partitions",
    type=click.IntRange(min=1),
    help="Engine spark: parts of a new state; default: Spark's parallelism.",
)
@click.option(
    "--buckets",
    type=click.IntRange(min=1),
    default=16,
    show_default=True,
    help="Engine spark: buckets of keys of a new state; one for each 100,000 keys is not too many.",
)
@click.option(
    "--kafka-package",
    metavar="COORDINATES",
    help="Engine spark: Spark's Kafka source, e.g. org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0, which"
    " Spark fetches; without it the jars that this project was tested with.",
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
    most_rows: int | None,
    replication: int,
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

    It reads the table's input topic, keeps the present record of each key, and sends which rows are inserted
    and deleted to the table's updates topic, a version at a time. One coordinator runs for a table; started
    again, it resumes where it was.
    """
    from controller_client.coordinator.engines import CoordinatorRun, engine_of
    from controller_client.coordinator.generation import read_generation
    from controller_client.coordinator.metrics import CoordinatorMetrics
    from controller_client.coordinator.plan import plan_of
    from controller_client.coordinator.report import VersionReport
    from controller_client.coordinator.version_lines import VersionLines

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
        engine = present.engine if present else _DEFAULT_ENGINE
    run_on_engine = engine_of(engine)
    clock = SystemClock()
    shown = VersionLines(cli.out.note, clock)
    monitoring = Monitoring(COORDINATOR, clock)
    metrics = CoordinatorMetrics(monitoring, table, clock)

    def on_version(report: VersionReport) -> None:
        metrics.version_sent(report)
        shown.add(report)

    def ready() -> threading.Event:
        # Not before the engine works: Spark takes Ctrl-C for itself when it starts.
        stop = stop_on_signals(signal.SIGTERM, signal.SIGINT)
        if not standby:
            cli.out.note(f"the key coordinator of {table} runs; stop it with Ctrl-C")
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
                    *(store, plan, lock, clock),
                    checkpoint=checkpoint if "://" in checkpoint else str(Path(checkpoint).absolute()),
                    interval_s=interval_s,
                    most_rows=most_rows,
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
