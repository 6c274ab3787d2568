"""Options of the JVMs that tests start."""

from __future__ import annotations

from contextlib import suppress

from controller_client.errors import SetupError

__all__ = ["QUICK_START", "QUICK_START_EVERYWHERE", "warm_jvms"]

QUICK_START = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""One compiler level and one collector thread: halves the CPU time of a JVM that lives for one test."""

QUICK_START_EVERYWHERE = dict.fromkeys(
    ("PINOT_PLUGINS_JAVA_OPTS", "SPARK_SUBMIT_OPTS", "SPARK_LAUNCHER_OPTS", "SPARK_DAEMON_JAVA_OPTS"),
    QUICK_START,
)
"""Environment variables for JVMs in Python processes and for Spark, except for separate executors."""


def warm_jvms() -> None:
    """Make the JVMs of Python processes start with an archive of classes, as hundreds of tests start one.

    An earlier run may have made it. Without it (some Javas cannot write archives) they only start slower.
    """
    from jvm_bridge.builder.warm_up import warm_up
    from jvm_bridge.class_archive import archive_path
    from jvm_bridge.jars import pinot_jars
    from jvm_bridge.jdk import find_java

    with suppress(SetupError):
        if not archive_path(find_java(), pinot_jars()).is_file():
            warm_up()
