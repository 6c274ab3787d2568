"""How many tasks a Spark application can run in parallel."""

from __future__ import annotations

from collections.abc import Mapping

from controller_client.common.parsing import whole_number

__all__ = ["task_slots"]


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
