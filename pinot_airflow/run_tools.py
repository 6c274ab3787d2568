"""Creates the tools for runs of FileIngestionTask in an Airflow task."""

from __future__ import annotations

from minion_tasks.file_ingestion.engine.choose import Engines
from minion_tasks.file_ingestion.engine.minion import EngineContext
from minion_tasks.file_ingestion.run.types import RunTools
from pinot_airflow.access import PinotAccess

__all__ = ["run_tools"]


def run_tools(access: PinotAccess) -> RunTools:
    """Create the tools of a run from the clients of a cluster."""
    engines = Engines.installed(EngineContext(access.client, access.store, access.clock))
    return RunTools(access.client, access.store, engines, access.clock)
