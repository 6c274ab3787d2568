"""Spark on this machine, for processes under test."""

from __future__ import annotations

from collections.abc import Mapping

from tests.support.java_options import QUICK_START

__all__ = ["LOCAL_SPARK", "spark_words"]

LOCAL_SPARK: Mapping[str, str] = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.executor.extraJavaOptions": QUICK_START,
}


def spark_words(settings: Mapping[str, str]) -> list[str]:
    """Return the options of ``pinotctl`` that pass Spark its settings."""
    return [word for pair in settings.items() for word in ("--spark-conf", "=".join(pair))]
