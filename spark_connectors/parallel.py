"""The parallel engine ``spark``: applies a function to parts of many items, as tasks of one Spark job."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from controller_client.errors import OutcomeUnknownError
from spark_connectors.faults import in_short
from spark_connectors.session import start_spark, task_slots

__all__ = ["SparkParallelEngine", "open_parallel_engine"]

_PARTS_PER_SLOT = 4
"""Limits the delay by one slow part to a quarter of a slot's work."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class SparkParallelEngine:
    """Runs functions in the Python workers of Spark's executors.

    Args:
        spark: The session that runs the jobs; not a Spark Connect session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def run(
        self, work: Callable[[Iterable[_Item]], Iterable[_Result]], items: Sequence[_Item], title: str
    ) -> list[_Result]:
        """Run one Spark job.

        Spark reruns a task whose executor is lost.

        Args:
            work: Called in executors, once for each part.
            items: The items.
            title: Shown in Spark's UI.

        Raises:
            OutcomeUnknownError: The job failed.
        """
        if not items:
            return []
        context = self._spark.sparkContext
        try:
            slots = task_slots(dict(context.getConf().getAll()), context.defaultParallelism)
            context.setJobDescription(title)
            parts = context.parallelize(items, min(len(items), slots * _PARTS_PER_SLOT))
            return parts.mapPartitions(work).collect()
        except (Py4JError, PySparkException, OSError) as error:
            raise OutcomeUnknownError(
                f"the Spark job failed: {in_short(error)}",
                where=f"Spark application {context.applicationId}",
                remedy="see Spark's log, then run the command again; finished parts stay done",
            ) from error

    def close(self) -> None:
        """Stop Spark."""
        self._spark.stop()


def open_parallel_engine(settings: Mapping[str, str]) -> SparkParallelEngine:
    """Start Spark.

    Args:
        settings: Spark settings, which override those of spark-submit and spark-defaults.conf.

    Raises:
        SetupError: Spark does not start.
    """
    return SparkParallelEngine(start_spark("pinotctl", settings))
