"""Opens the engine ``spark`` for ``pinotctl``."""

from __future__ import annotations

from minion_tasks.file_ingestion.engine.minion import EngineContext
from spark_connectors.file_ingestion.engine import SparkEngine
from spark_connectors.session import start_spark

__all__ = ["open_engine"]


def open_engine(context: EngineContext) -> SparkEngine:
    """Start Spark with the context's settings.

    Raises:
        SetupError: Spark does not start.
    """
    spark = start_spark("FileIngestionTask", context.spark_conf)
    return SparkEngine(context.client, context.store, context.clock, spark)
