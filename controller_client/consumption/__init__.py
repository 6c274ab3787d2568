"""Pausing, resuming and watching the consumption of realtime tables, from outside the cluster.

::

    with ControllerClient(config) as client, client.paused("flights_REALTIME", reason="migration"):
        ...

Everything else is given a :class:`TableControl`. The names below are imported when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from controller_client.consumption.committing import force_commit
    from controller_client.consumption.context import paused
    from controller_client.consumption.control import TableControl
    from controller_client.consumption.pausing import pause
    from controller_client.consumption.rest import ConsumeFrom
    from controller_client.consumption.resuming import ResumeResult, resume
    from controller_client.consumption.status import PartitionState, TableState, TableStatus

__all__ = [
    "ConsumeFrom",
    "PartitionState",
    "ResumeResult",
    "TableControl",
    "TableState",
    "TableStatus",
    "force_commit",
    "pause",
    "paused",
    "resume",
]

_HOME = {
    "ConsumeFrom": "rest",
    "PartitionState": "status",
    "ResumeResult": "resuming",
    "TableControl": "control",
    "TableState": "status",
    "TableStatus": "status",
    "force_commit": "committing",
    "pause": "pausing",
    "paused": "context",
    "resume": "resuming",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
