"""Pinot for Airflow: operators, sensors and a hook. Operators and sensors can wait in Airflow's triggerer.

Names are imported on first use, so that DAG files are parsed quickly.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pinot_airflow.applying import PinotApplyOperator
    from pinot_airflow.hook import PinotHook
    from pinot_airflow.ingestion import PinotFileIngestionOperator, PinotRollbackOperator
    from pinot_airflow.names import write_id
    from pinot_airflow.paused_group import pinot_paused
    from pinot_airflow.pausing import PinotPauseOperator, PinotResumeOperator
    from pinot_airflow.sensors import (
        PinotDataSensor,
        PinotOffsetsSensor,
        PinotSensor,
        PinotUpsertSensor,
        PinotWriteSensor,
    )

__all__ = [
    "PinotApplyOperator",
    "PinotDataSensor",
    "PinotFileIngestionOperator",
    "PinotHook",
    "PinotOffsetsSensor",
    "PinotPauseOperator",
    "PinotResumeOperator",
    "PinotRollbackOperator",
    "PinotSensor",
    "PinotUpsertSensor",
    "PinotWriteSensor",
    "pinot_paused",
    "write_id",
]

_HOME = {
    "PinotApplyOperator": "applying",
    "PinotFileIngestionOperator": "ingestion",
    "PinotHook": "hook",
    "PinotPauseOperator": "pausing",
    "PinotResumeOperator": "pausing",
    "PinotRollbackOperator": "ingestion",
    "pinot_paused": "paused_group",
    "write_id": "names",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME.get(name, 'sensors')}"), name)
