"""Tables registered as plain ones although they look like upsert tables, or with Pinot's own upsert."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Any

import pytest

from controller_client.common.names import TableName
from controller_client.helix.table_config import table_config_path
from controller_client.upsert.misregistered import MisregisteredError
from controller_client.upsert.rewriting import RefusedQueryError
from controller_client.upsert.tables import find_table
from controller_client.zookeeper import PropertyStore, ZNRecord
from tests.unit.controller_client.upsert.test_creating import documents, plan
from tests.unit.memory_zookeeper import memory_store

TABLE = TableName("t_REALTIME")


def registered(schema: dict[str, Any], table: dict[str, Any]) -> PropertyStore:
    store, _ = memory_store()
    store.create("/SCHEMAS/t", ZNRecord("t", {"schemaJSON": json.dumps(schema)}))
    fields = {
        key: json.dumps(value) if isinstance(value, dict | list) else str(value)
        for key, value in table.items()
    }
    store.create(table_config_path(TABLE), ZNRecord(TABLE, fields))
    return store


@pytest.mark.parametrize(
    ("custom", "columns", "text"),
    [
        (
            {"updateSemantic": "UPSERT", "primaryKey": "user"},
            (),
            "customConfigs have primaryKey, updateSemantic",
        ),
        ({"upsert.timestampColumn": "at"}, (), "customConfigs have upsert.timestampColumn"),
        ({}, ("$validFrom", "$ValidUntil"), r"schema has \$ValidUntil, \$validFrom"),
    ],
)
def test_they_are_refused(custom: dict[str, str], columns: tuple[str, ...], text: str) -> None:
    schema, table = documents()
    table["metadata"] = {"customConfigs": custom}
    schema["dimensionFieldSpecs"] += [{"name": name, "dataType": "LONG"} for name in columns]
    store = registered(schema, table)
    for name in ("t", "t_REALTIME"):
        with pytest.raises(MisregisteredError, match=text) as caught:
            find_table(store, name)
    assert "pinotctl upsert create" in str(caught.value)


def test_plain_tables_and_upsert_tables_are_accepted() -> None:
    schema, table = documents()
    assert find_table(registered(schema, table), "t") is None
    table["metadata"] = {"customConfigs": {"updateSemantic": "append"}}
    assert find_table(registered(schema, table), "t") is None
    planned = plan()
    assert find_table(registered(planned.schema.to_json(), planned.table.to_json()), "t") is not None


@pytest.mark.parametrize(
    ("parts", "refused"),
    [
        ({}, False),
        ({"upsertConfig": {"mode": "NONE"}, "dedupConfig": {"dedupEnabled": False}}, False),
        ({"upsertConfig": {"mode": "FULL"}}, True),
        ({"dedupConfig": {"hashFunction": "MD5"}}, True),
    ],
)
def test_queries_are_refused_if_the_table_also_has_pinots_own(parts: dict[str, Any], refused: bool) -> None:
    planned = plan()
    found = find_table(registered(planned.schema.to_json(), {**planned.table.to_json(), **parts}), "t")
    assert found is not None
    expected = pytest.raises(RefusedQueryError, match="also has Pinot's own upsertConfig or dedupConfig")
    with expected if refused else nullcontext():
        found.check_hybrid("t")
