"""How many tasks a Spark application can run side by side."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["task_slots"]


def task_slots(conf: Mapping[str, str], registered_cores: int) -> int:
    """Count tasks; at least 1.

    Executors register one after the other after the start, and with dynamic allocation only when there is
    work: the configured number counts, if it is more.

    Args:
        conf: Spark's configuration.
        registered_cores: Cores of the executors that have registered, or of a local master.
    """

    def number(key: str, default: int = 0) -> int:
        text = conf.get(key, "")
        return int(text) if text.isdecimal() else default

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
