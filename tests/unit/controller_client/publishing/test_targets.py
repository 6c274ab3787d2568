"""Tables into which no segments can be published are refused, with a way out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from controller_client.as_code.objects import Kind, ObjectRef
from controller_client.as_code.references import References
from controller_client.as_code.refusals import find_refusals
from controller_client.as_code.wanted import Target
from controller_client.errors import ConfigError, UnsupportedError
from controller_client.models import Schema, TableConfig
from controller_client.publishing.targets import FILE_INGESTION, check_target
from controller_client.rest.capabilities import Capabilities, PinotVersion
from pinotctl.root import cli
from tests.unit.controller_client.rest.conftest import CLUSTER, RECORD, V15, Make, make
from tests.unit.controller_client.scripted_server import answer
from tests.unit.memory_zookeeper import MemoryPropertyStore

__all__ = ["make"]

SCHEMA = {"schemaName": "t", "dimensionFieldSpecs": [{"name": "id", "dataType": "LONG"}]}
LISTS = {"name": "parts", "dataType": "JSON", "singleValueField": False}


def _table(**parts: Any) -> dict[str, Any]:
    return {"tableName": "t_OFFLINE", "tableType": "OFFLINE", "segmentsConfig": {}, **parts}


def _check(config: dict[str, Any], schema: dict[str, Any] = SCHEMA, version: str = "1.5.1") -> None:
    found = Capabilities(PinotVersion.parse(version))
    check_target(TableConfig.from_json(config), Schema.from_json(schema), lambda: found)


@pytest.mark.parametrize("upsert", [{"mode": "FULL"}, {"mode": "PARTIAL"}, {}, {"hashFunction": "MD5"}])
def test_an_offline_table_with_pinots_upsert(upsert: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="t_OFFLINE uses Pinot's own upsert") as caught:
        _check(_table(upsertConfig=upsert))
    assert "pinotctl segment upload" in str(caught.value.remedy)


@pytest.mark.parametrize(
    "config",
    [
        _table(),
        _table(upsertConfig=None),
        _table(upsertConfig={"mode": "NONE"}),
        {**_table(upsertConfig={"mode": "FULL"}), "tableName": "t_REALTIME", "tableType": "REALTIME"},
    ],
)
def test_other_tables(config: dict[str, Any]) -> None:
    _check(config)


def test_a_table_with_a_column_of_which_no_segment_can_be_built() -> None:
    with pytest.raises(UnsupportedError, match="the column parts is multi-value"):
        _check(_table(), {**SCHEMA, "dimensionFieldSpecs": [LISTS]})


def test_the_task_is_not_registered(make: Make) -> None:
    live = answer(200, {"OFFLINE": _table(upsertConfig={"mode": "FULL"})})
    for options in ((), ("--dry-run",)):
        _, server = make(live, live, CLUSTER, RECORD, answer(200, SCHEMA))
        words = (
            "task",
            "register",
            "t",
            "--set",
            "inputDirURI=s3://b/in",
            "--set",
            "inputFormat=csv",
            *options,
        )
        done = CliRunner().invoke(cli, ["--controller", server.url, *words])
        assert (done.exit_code, "t_OFFLINE uses Pinot's own upsert" in done.stderr) == (2, True), done.output
        assert {seen.method for seen in server.requests} == {"GET"}


def test_the_plan_of_the_cluster_as_code_refuses_the_task_and_nothing_else(make: Make) -> None:
    tasks: dict[str, Any] = {"taskTypeConfigsMap": {FILE_INGESTION: {}}}
    schema = ObjectRef(Kind.SCHEMA, "t")
    table = ObjectRef(Kind.TABLE, "t_OFFLINE")
    store = MemoryPropertyStore()

    def refused(document: dict[str, Any], columns: dict[str, Any]) -> str | None:
        client, _ = make(V15, answer(200, {}), answer(200, {}))
        targets = [Target(table, None, document, document, document, document)]
        references = References({}, Path())
        return find_refusals(client, store, targets, {schema: columns}, {}, references).get(table)

    upsert = _table(upsertConfig={"mode": "FULL"})
    assert "FileIngestionTask cannot fill it: t_OFFLINE uses Pinot's own upsert" in str(
        refused({**upsert, "task": tasks}, SCHEMA)
    )
    assert "the column parts is multi-value" in str(
        refused(_table(task=tasks), {**SCHEMA, "dimensionFieldSpecs": [LISTS]})
    )
    assert refused(upsert, SCHEMA) is None
    assert refused(_table(task=tasks), SCHEMA) is None
