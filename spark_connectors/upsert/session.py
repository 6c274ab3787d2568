"""Spark with its Kafka source and its Avro functions."""

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
"""The driver that does all the work sends its first version in 17 s then, not in 21, and takes a quarter less
of the processor in its first minute; in the third minute the two are alike."""
_SOURCE = "org.apache.spark.sql.kafka010.KafkaSourceProvider"


def start_spark_with_kafka(
    conf: Mapping[str, str], packages: str | None = None, progress: Progress | None = None
) -> SparkSession:
    """Start Spark, or take the session that is there.

    Args:
        conf: Spark's settings.
        packages: Maven coordinates of Spark's Kafka source, and of what else is needed, which Spark itself
            fetches; None: the pinned jars, unless ``conf`` names jars or packages.
        progress: Updated while jars are fetched.

    Raises:
        SetupError: Spark does not start, a jar cannot be had, or Spark has no Kafka source then.
    """
    # Spark warns of each batch that takes longer than the trigger's interval.
    settings = {"spark.log.level": "ERROR", **conf}
    if settings.get("spark.master", "").startswith("local"):
        settings.setdefault(_DRIVER_OPTIONS, _FAST_START)
    if packages:
        settings[_PACKAGES] = packages
    elif _JARS not in settings and _PACKAGES not in settings:
        settings[_JARS] = ",".join(str(jar) for jar in pinned_jars(PINS, progress).class_path)
    spark = start_spark("pinotctl upsert coordinate", settings)
    jvm: Any = spark._jvm  # noqa: SLF001  # the class loader that Spark loads sources with
    try:
        jvm.org.apache.spark.util.Utils.classForName(_SOURCE, True, False)
    except Exception as error:
        raise SetupError(
            f"Spark {spark.version} has no Kafka source",
            expected=_SOURCE,
            remedy="pass --kafka-package org.apache.spark:spark-sql-kafka-0-10_2.13:VERSION, or --jars of "
            "spark-submit",
        ) from error
    return spark
