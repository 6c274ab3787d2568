"""The engine ``spark`` of key coordinators: a Spark query, for tables that outgrow one machine."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from controller_client.errors import ConfigError
from key_coordinator.engines import CoordinatorRun
from spark_connectors.upsert.coordinator import Coordinator, CoordinatorOptions
from spark_connectors.upsert.session import start_spark_with_kafka

__all__ = ["run_on_spark"]

_INTERVAL_S = 1.0
_MAX_ROWS = 200_000
"""A batch takes about a second, however few rows it has."""


def run_on_spark(run: CoordinatorRun) -> None:
    """Run a coordinator as a Spark query: the engine's entry point.

    Raises:
        SetupError: Spark does not start, or has no Kafka source.
        ConflictError: As for :meth:`Coordinator.run`.
        SourceError: As for :meth:`Coordinator.run`.
    """
    if run.standby:
        raise ConfigError(
            "the engine spark needs no standby: its state is stored where every driver can reach it",
            expected="--engine local",
            where="--standby",
            remedy="remove the option; after a failure, restart it or let the cluster manager do so",
        )
    settings = run.settings
    spark = start_spark_with_kafka(
        {key: value for key, value in settings.items() if key.startswith("spark.")},
        settings.get("kafka_package"),
    )
    stop = run.ready()
    options = CoordinatorOptions(
        checkpoint=run.checkpoint if "://" in run.checkpoint else Path(run.checkpoint).as_uri(),
        partitions=int(settings.get("partitions", spark.sparkContext.defaultParallelism)),
        buckets=int(settings["buckets"]),
        trigger_interval_s=_INTERVAL_S if run.interval_s is None else run.interval_s,
        max_rows=_MAX_ROWS if run.max_rows is None else run.max_rows,
        replication=run.replication,
        once=run.once,
        fail_on_data_loss=not run.allow_data_loss,
    )
    coordinator = Coordinator(
        spark,
        run.store,
        run.plan,
        options,
        run.clock,
        run.lock,
        on_version=run.on_version,
        note=run.note,
        on_check=run.on_check,
        on_failure=run.on_failure,
    )
    try:
        coordinator.run(stop)
    finally:
        with suppress(Exception):  # the signal may have ended Spark's JVM as well
            spark.stop()
