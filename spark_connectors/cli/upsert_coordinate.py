"""``pinotctl upsert coordinate``: run the key coordinator of an upsert table, in the foreground."""

from __future__ import annotations

import signal
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import click

from controller_client.cli.arguments import table_with_type
from controller_client.cli.context import CliContext, pass_cli
from controller_client.cli.options import spark_conf, spark_options
from controller_client.clock import SystemClock
from controller_client.zookeeper import TableLock, process_name

__all__ = ["coordinate"]

_LOCK_WAIT_S = 15.0
"""The session of a killed coordinator holds the lock for 10 s."""


@click.command()
@click.argument("table_name", metavar="TABLE")
@click.option(
    "--checkpoint",
    required=True,
    metavar="LOCATION",
    help="Where the state is kept: a folder, or what else driver and executors of Spark reach.",
)
@click.option(
    "--partitions", type=click.IntRange(min=1), help="Parts of a new state; default: Spark's parallelism."
)
@click.option(
    "--buckets",
    type=click.IntRange(min=1),
    default=16,
    show_default=True,
    help="Buckets of keys of a new state; one for each 100,000 keys is not too many.",
)
@click.option(
    "--trigger-interval",
    "trigger_interval_s",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="Seconds from version to version, at least.",
)
@click.option(
    "--max-rows-per-version",
    "most_rows",
    type=click.IntRange(min=1),
    default=60_000,
    show_default=True,
    help="Rows of the input in one version, at most.",
)
@click.option(
    "--replication", type=click.IntRange(min=1), default=1, show_default=True, help="Of a new updates topic."
)
@click.option("--avro-schema", type=click.File(encoding="utf-8"), metavar="FILE", help="Of Avro messages.")
@click.option(
    "--kafka-package",
    metavar="COORDINATES",
    help="Spark's Kafka source, e.g. org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0, which Spark fetches;"
    " without it the jars that this project was tested with.",
)
@click.option("--once", is_flag=True, help="End when all rows that are there have their events.")
@click.option(
    "--allow-data-loss", is_flag=True, help="Go on where Kafka has deleted rows before they were read."
)
@spark_options
@pass_cli
def coordinate(
    cli: CliContext,
    table_name: str,
    checkpoint: str,
    partitions: int | None,
    buckets: int,
    trigger_interval_s: float,
    most_rows: int,
    replication: int,
    avro_schema: TextIO | None,
    kafka_package: str | None,
    once: bool,
    allow_data_loss: bool,
    spark_master: str | None,
    spark_settings: tuple[str, ...],
) -> None:
    """Run the key coordinator of an upsert table until Ctrl-C or SIGTERM.

    It reads the table's input topic, keeps the present record of each key, and sends which rows are inserted
    and deleted to the table's updates topic, a version at a time. One coordinator runs for a table; started
    again, it resumes where it was.
    """
    from jvm_bridge.cli.jar_progress import jar_progress
    from jvm_bridge.cli.serve.signals import stop_on_signals
    from spark_connectors.upsert.coordinator import LOCK, Coordinator, CoordinatorOptions
    from spark_connectors.upsert.session import start_spark_with_kafka
    from spark_connectors.upsert.table_plan import plan_of
    from spark_connectors.upsert.version_lines import VersionLines

    conf = spark_conf(spark_master, spark_settings)
    table = table_with_type(cli.client(), table_name)
    plan = plan_of(cli.client(), table, avro_schema.read() if avro_schema else None)
    store = cli.property_store()
    if "://" not in checkpoint:
        checkpoint = Path(checkpoint).absolute().as_uri()
    with TableLock(store, table, LOCK, process_name()) as lock:
        lock.acquire(_LOCK_WAIT_S)
        with jar_progress(cli.out) as progress:
            spark = start_spark_with_kafka(conf, kafka_package, progress)
        # After Spark's start, which takes Ctrl-C for itself.
        stop = stop_on_signals(signal.SIGTERM, signal.SIGINT)
        options = CoordinatorOptions(
            checkpoint=checkpoint,
            partitions=partitions or spark.sparkContext.defaultParallelism,
            buckets=buckets,
            trigger_interval_s=trigger_interval_s,
            most_rows=most_rows,
            replication=replication,
            once=once,
            fail_on_data_loss=not allow_data_loss,
        )
        clock = SystemClock()
        shown = VersionLines(cli.out.note, clock)
        cli.out.note(f"the key coordinator of {table} runs; stop it with Ctrl-C")
        coordinator = Coordinator(
            spark, store, plan, options, clock, lock, on_batch=shown.add, note=cli.out.note
        )
        try:
            coordinator.run(stop.event)
        finally:
            shown.close()
            with suppress(Exception):  # the signal may have ended Spark's JVM, too
                spark.stop()
