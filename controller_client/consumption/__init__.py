"""Pausing, resuming and watching the consumption of realtime tables, from outside the cluster.

::

    with ControllerClient(config) as client, client.paused("flights_REALTIME", reason="migration"):
        ...

All other functions take a :class:`TableControl`. The names below are imported at their first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from controller_client.consumption.pauses.committing import force_commit
    from controller_client.consumption.pauses.context import paused
    from controller_client.consumption.pauses.pause_end import PauseEnd, end_pause
    from controller_client.consumption.pauses.pausing import pause
    from controller_client.consumption.pauses.resuming import ResumeResult, resume
    from controller_client.consumption.state.status import PartitionState, TableState, TableStatus
    from controller_client.consumption.table_control import TableControl
    from controller_client.rest.consumption import ConsumeFrom

__all__ = [
    "ConsumeFrom",
    "PartitionState",
    "PauseEnd",
    "ResumeResult",
    "TableControl",
    "TableState",
    "TableStatus",
    "end_pause",
    "force_commit",
    "pause",
    "paused",
    "resume",
]

_HOME = {
    "ConsumeFrom": "controller_client.rest.consumption",
    "PartitionState": "controller_client.consumption.state.status",
    "PauseEnd": "controller_client.consumption.pauses.pause_end",
    "ResumeResult": "controller_client.consumption.pauses.resuming",
    "TableControl": "controller_client.consumption.table_control",
    "TableState": "controller_client.consumption.state.status",
    "TableStatus": "controller_client.consumption.state.status",
    "end_pause": "controller_client.consumption.pauses.pause_end",
    "force_commit": "controller_client.consumption.pauses.committing",
    "pause": "controller_client.consumption.pauses.pausing",
    "paused": "controller_client.consumption.pauses.context",
    "resume": "controller_client.consumption.pauses.resuming",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
