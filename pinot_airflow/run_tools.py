"""Creates the tools for runs of FileIngestionTask in an Airflow task."""

from __future__ import annotations

import os

from controller_client.common.parallel import ENGINE_VARIABLE, default_engine
from minion_tasks.file_ingestion.engine.choose import Engines
from minion_tasks.file_ingestion.engine.minion import MINION, EngineContext
from minion_tasks.file_ingestion.run.types import RunTools
from pinot_airflow.access import PinotAccess

__all__ = ["run_tools"]


def run_tools(access: PinotAccess) -> RunTools:
    """Create the tools of a run from the clients of a cluster."""
    engine = default_engine(os.environ.get(ENGINE_VARIABLE)) or MINION
    context = EngineContext(access.client, access.store, access.clock, default_engine=engine)
    engines = Engines.installed(context)
    return RunTools(access.client, access.store, engines, access.clock)
