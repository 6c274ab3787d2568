"""The cluster as code, applied by a task of a real Airflow."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller_client.as_code import Kind, ObjectRef
from controller_client.as_code.files import FolderSettings, write_folder
from tests.airflow.service import Airflow
from tests.integration.as_code.table_files import table_documents
from tests.support.cluster import PinotCluster

pytestmark = pytest.mark.cluster


def test_a_killed_apply_is_completed_by_the_next_try(
    airflow: Airflow, pinot: PinotCluster, unique_table: str, tmp_path: Path
) -> None:
    config, schema = table_documents(unique_table)
    table = ObjectRef(Kind.TABLE, f"{unique_table}_OFFLINE")
    documents = {ObjectRef(Kind.SCHEMA, unique_table): schema, table: config}
    write_folder(tmp_path, FolderSettings(owner=unique_table), documents)
    run = airflow.run("apply", folder=str(tmp_path))
    assert run.wait() == "success"
    assert f"[2/2] create {table.key}" in run.logs("apply")
    returned = run.returned("apply")
    assert (returned["steps"], returned["done"]) == ([f"create {table.key}"], 1)
    with pinot.client() as client:
        assert client.tables.exists(table.name)
    again = airflow.run("apply", folder=str(tmp_path))
    assert again.wait() == "success"
    assert again.returned("apply")["done"] == 0
