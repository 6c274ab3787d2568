"""Starts Spark for ``pinotctl``, or takes the session that is there."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, MutableMapping

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from controller_client.errors import SetupError
from spark_connectors.faults import in_short

__all__ = ["choose_workers_python", "start_spark"]


def start_spark(app_name: str, conf: Mapping[str, str]) -> SparkSession:
    """Start Spark with settings that win over those of spark-submit and spark-defaults.conf.

    Spark stops with this process.

    Args:
        app_name: What Spark shows.
        conf: The settings; may hold secrets.

    Raises:
        SetupError: Spark does not start.
    """
    choose_workers_python(conf, os.environ)
    # Spark's progress lines would come between pinotctl's.
    builder = SparkSession.builder.appName(app_name).config("spark.ui.showConsoleProgress", "false")
    for key, value in conf.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except (Py4JError, PySparkException, OSError) as error:
        raise SetupError(
            f"Spark does not start: {in_short(error)}",
            where=f"spark.master {conf.get('spark.master', 'as Spark is configured')}",
            remedy="see the lines that Spark wrote to stderr; check --spark-master and --spark-conf",
        ) from error


def choose_workers_python(conf: Mapping[str, str], environ: MutableMapping[str, str]) -> None:
    """Set which Python Spark starts its workers with, where nobody else has.

    It is the one that is named in Spark's own setting, which only spark-submit heeds; on a local master this
    process' one, which is not always the ``python3`` of the path.
    """
    named = conf.get("spark.pyspark.python")
    if named:
        environ["PYSPARK_PYTHON"] = named
    elif "PYSPARK_GATEWAY_PORT" not in environ and conf.get("spark.master", "local").startswith("local"):
        environ.setdefault("PYSPARK_PYTHON", sys.executable)
