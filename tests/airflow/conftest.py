from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.airflow.environment import AirflowEnvironment, AirflowUnavailableError
from tests.airflow.service import Airflow
from tests.integration.consumption.conftest import make_stream_table, store
from tests.integration.file_ingestion.conftest import ingestion_table, shared_folder, source
from tests.integration.upsert.server.conftest import make_upsert_table
from tests.support.cluster import PinotCluster
from tests.support.faulty_s3 import faulty_s3
from tests.support.missing_tool import without

__all__ = ["faulty_s3", "ingestion_table", "make_stream_table", "make_upsert_table", "shared_folder"]
__all__ += ["source", "store"]


@pytest.fixture(scope="session")
def airflow_environment(tmp_path_factory: pytest.TempPathFactory) -> AirflowEnvironment:
    """Airflow with this project; skips where it cannot be installed."""
    try:
        return AirflowEnvironment.make(tmp_path_factory.mktemp("project"))
    except AirflowUnavailableError as error:
        without(str(error))


# Not for the whole test session, since Airflow uses CPU while idle too.
@pytest.fixture(scope="package")
def airflow(
    airflow_environment: AirflowEnvironment, pinot: PinotCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Airflow]:
    """A running Airflow with the DAGs of this folder and a connection to the session's cluster."""
    parts = urlsplit(pinot.controller_url)
    connection = {"conn_type": "pinot_plugins", "host": parts.hostname, "port": parts.port, "schema": "http"}
    home = tmp_path_factory.mktemp("airflow")
    running = Airflow(airflow_environment, home, {"pinot_default": connection})
    shutil.copy(Path(__file__).parent / "dags" / "tested.py", running.dags)
    running.start()
    yield running
    running.close()
