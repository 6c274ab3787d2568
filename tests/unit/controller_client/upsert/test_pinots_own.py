"""An upsert table that also has Pinot's own upsert or dedup."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controller_client.common.names import TableName
from controller_client.helix.table_config import table_config_path
from controller_client.upsert.rewriting import RefusedQueryError
from controller_client.upsert.tables import find_table
from controller_client.zookeeper import ZNRecord
from tests.unit.controller_client.upsert.test_creating import plan
from tests.unit.memory_zookeeper import memory_store

TABLE = TableName("t_REALTIME")


@pytest.mark.parametrize(
    ("parts", "refused"),
    [
        ({}, False),
        ({"upsertConfig": {"mode": "NONE"}, "dedupConfig": {"dedupEnabled": False}}, False),
        ({"upsertConfig": {"mode": "FULL"}}, True),
        ({"dedupConfig": {"hashFunction": "MD5"}}, True),
    ],
)
def test_its_queries_are_refused(parts: dict[str, Any], refused: bool) -> None:
    document = {**plan().table.to_json(), **parts}
    fields = {
        key: json.dumps(value) if isinstance(value, dict | list) else str(value)
        for key, value in document.items()
    }
    store, _ = memory_store()
    store.create(table_config_path(TABLE), ZNRecord(TABLE, fields))
    found = find_table(store, "t")
    assert found is not None
    if refused:
        with pytest.raises(RefusedQueryError, match="also has Pinot's own upsertConfig or dedupConfig"):
            found.check_hybrid("t")
    else:
        found.check_hybrid("t")
