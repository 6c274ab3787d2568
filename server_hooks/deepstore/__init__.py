"""Beside the servers: segments without a good copy in the deep store get one."""

from server_hooks.deepstore.elsewhere import RepairPart
from server_hooks.deepstore.metrics import MetricsServer, WatchMetrics
from server_hooks.deepstore.repair import Outcome, Repaired, Repairer
from server_hooks.deepstore.repairing import repair_all
from server_hooks.deepstore.watch import Watch

__all__ = [
    "MetricsServer",
    "Outcome",
    "RepairPart",
    "Repaired",
    "Repairer",
    "Watch",
    "WatchMetrics",
    "repair_all",
]
