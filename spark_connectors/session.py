"""Starts Spark for ``pinotctl``, or returns the active session; how many tasks it can run in parallel."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, MutableMapping

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from controller_client.common.parsing import whole_number
from controller_client.errors import SetupError
from spark_connectors.faults import in_short

__all__ = ["choose_workers_python", "start_spark", "task_slots"]


def start_spark(app_name: str, conf: Mapping[str, str]) -> SparkSession:
    """Start Spark with settings that override those of spark-submit and spark-defaults.conf.

    Spark stops with this process.

    Args:
        app_name: Name of the Spark application.
        conf: Spark settings; may contain secrets.

    Raises:
        SetupError: Spark does not start.
    """
    choose_workers_python(conf, os.environ)
    # Spark's progress bar would interfere with pinotctl's output.
    builder = SparkSession.builder.appName(app_name).config("spark.ui.showConsoleProgress", "false")
    for key, value in conf.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except (Py4JError, PySparkException, OSError) as error:
        raise SetupError(
            f"Spark failed to start: {in_short(error)}",
            where=f"spark.master {conf.get('spark.master', 'as Spark is configured')}",
            remedy="see Spark's output on stderr; check --spark-master and --spark-conf",
        ) from error


def choose_workers_python(conf: Mapping[str, str], environ: MutableMapping[str, str]) -> None:
    """Set the Python executable of Spark's workers, unless it is already set.

    The executable is the one in Spark's own setting, which otherwise only spark-submit honours. On a local
    master, it is the one of this process, which is not always the ``python3`` of the path.
    """
    named = conf.get("spark.pyspark.python")
    if named:
        environ["PYSPARK_PYTHON"] = named
    elif "PYSPARK_GATEWAY_PORT" not in environ and conf.get("spark.master", "local").startswith("local"):
        environ.setdefault("PYSPARK_PYTHON", sys.executable)


def task_slots(conf: Mapping[str, str], registered_cores: int) -> int:
    """Return how many tasks can run in parallel; at least 1.

    Executors register one by one after the start, and with dynamic allocation only when there is work. The
    configured number counts if it is larger.

    Args:
        conf: Spark configuration.
        registered_cores: Cores of the registered executors, or of a local master.
    """

    def number(key: str, default: int = 0) -> int:
        configured = whole_number(conf.get(key))
        return default if configured is None else configured

    expected = 0
    if not conf.get("spark.master", "").startswith("local"):
        executors = number("spark.executor.instances")
        if conf.get("spark.dynamicAllocation.enabled", "").lower() == "true":
            executors = max(executors, number("spark.dynamicAllocation.maxExecutors"))
        expected = executors * number("spark.executor.cores", 1)
        most = number("spark.cores.max")
        if most:
            expected = min(expected, most) if expected else most
    return max(1, max(registered_cores, expected) // max(1, number("spark.task.cpus", 1)))
