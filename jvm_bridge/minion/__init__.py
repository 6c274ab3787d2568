"""A Pinot minion hosted in this Python process, with Python task executors."""

from jvm_bridge.minion.executors import (
    ExecutorFactory,
    MinionContext,
    MinionTask,
    TaskExecutor,
    load_executors,
)
from jvm_bridge.minion.host import DEFAULT_TAG, HostedMinion, MinionSettings, host_minion
from jvm_bridge.minion.stock import StockMinion, read_stock_minion

__all__ = [
    "DEFAULT_TAG",
    "ExecutorFactory",
    "HostedMinion",
    "MinionContext",
    "MinionSettings",
    "MinionTask",
    "StockMinion",
    "TaskExecutor",
    "host_minion",
    "load_executors",
    "read_stock_minion",
]
