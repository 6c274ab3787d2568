"""Options of the JVMs that tests start."""

from __future__ import annotations

__all__ = ["QUICK_START", "QUICK_START_EVERYWHERE"]

QUICK_START = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""One compiler level and one collector thread: halves the CPU time of a JVM that lives for one test."""

QUICK_START_EVERYWHERE = dict.fromkeys(
    ("PINOT_PLUGINS_JAVA_OPTS", "SPARK_SUBMIT_OPTS", "SPARK_LAUNCHER_OPTS", "SPARK_DAEMON_JAVA_OPTS"),
    QUICK_START,
)
"""Environment variables for JVMs in Python processes and for Spark, except for separate executors."""
