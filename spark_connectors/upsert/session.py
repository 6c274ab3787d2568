"""Starts Spark with its Kafka source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from controller_client.errors import SetupError
from jvm_bridge.jars import Progress, pinned_jars
from spark_connectors.session import start_spark

__all__ = ["start_spark_with_kafka"]

PINS = "spark-kafka-4.2.0"
_JARS, _PACKAGES = "spark.jars", "spark.jars.packages"
_DRIVER_OPTIONS, _FAST_START = "spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1"
"""With this, a driver that does all the work sends its first version after 17 s instead of 21 s and uses a
quarter less CPU in its first minute. From the third minute on, there is no difference."""
_SOURCE = "org.apache.spark.sql.kafka010.KafkaSourceProvider"


def start_spark_with_kafka(
    conf: Mapping[str, str], packages: str | None = None, progress: Progress | None = None
) -> SparkSession:
    """Start Spark, or return the active session.

    Args:
        conf: Spark settings.
        packages: Maven coordinates of Spark's Kafka source and other jars, which Spark itself fetches; None:
            the pinned jars, unless ``conf`` names jars or packages.
        progress: Updated while jars are fetched.

    Raises:
        SetupError: Spark does not start, a jar cannot be fetched, or Spark has no Kafka source.
    """
    # Suppresses Spark's warnings about batches that take longer than the trigger interval.
    settings = {"spark.log.level": "ERROR", **conf}
    if settings.get("spark.master", "").startswith("local"):
        settings.setdefault(_DRIVER_OPTIONS, _FAST_START)
    if packages:
        settings[_PACKAGES] = packages
    elif _JARS not in settings and _PACKAGES not in settings:
        settings[_JARS] = ",".join(str(jar) for jar in pinned_jars(PINS, progress).class_path)
    spark = start_spark("pinotctl upsert coordinate", settings)
    jvm: Any = spark._jvm  # noqa: SLF001  # the class loader with which Spark loads sources
    try:
        jvm.org.apache.spark.util.Utils.classForName(_SOURCE, True, False)
    except Exception as error:
        raise SetupError(
            f"Spark {spark.version} has no Kafka source",
            expected=_SOURCE,
            remedy="pass --kafka-package org.apache.spark:spark-sql-kafka-0-10_2.13:VERSION, or --jars to "
            "spark-submit",
        ) from error
    return spark
