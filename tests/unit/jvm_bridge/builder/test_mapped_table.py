from __future__ import annotations

import pickle
from typing import Any

from controller_client.errors import DataError
from jvm_bridge.builder import UnreadableFileError
from jvm_bridge.builder.mapped_table import (
    late_columns,
    needs_plain_segments,
    plain_config,
    stored_schema,
    unsorted,
)

SCHEMA: dict[str, Any] = {
    "schemaName": "t",
    "dimensionFieldSpecs": [
        {"name": "s", "dataType": "STRING", "transformFunction": "upper(x)"},
        {"name": "b", "dataType": "BYTES"},
        {"name": "mb", "dataType": "BYTES", "singleValueField": False, "defaultNullValue": "00"},
    ],
    "metricFieldSpecs": [{"name": "d", "dataType": "BIG_DECIMAL", "defaultNullValue": "1.5"}],
}
CONFIG: dict[str, Any] = {
    "tableName": "t",
    "segmentsConfig": {"timeColumnName": "ts"},
    "tableIndexConfig": {"nullHandlingEnabled": True, "sortedColumn": ["s"], "bloomFilterColumns": ["s"]},
    "fieldConfigList": [{"name": "s", "indexType": "TEXT"}],
    "ingestionConfig": {"filterConfig": {"filterFunction": "x"}},
}


def test_values_that_the_mapper_does_not_support() -> None:
    assert late_columns(SCHEMA) == ["mb", "d"]
    assert needs_plain_segments(CONFIG, SCHEMA)
    plain = {**SCHEMA, "dimensionFieldSpecs": SCHEMA["dimensionFieldSpecs"][:2], "metricFieldSpecs": None}
    assert late_columns(plain) == []
    assert not needs_plain_segments(CONFIG, plain)
    assert needs_plain_segments({"ingestionConfig": {"complexTypeConfig": {"delimiter": "."}}}, plain)


def test_a_stored_row_needs_nothing_more() -> None:
    assert stored_schema(SCHEMA) == {
        "schemaName": "t",
        "dimensionFieldSpecs": [
            {"name": "s", "dataType": "STRING"},
            {"name": "b", "dataType": "BYTES"},
            {"name": "mb", "dataType": "STRING", "singleValueField": False, "maxLength": 2**31 - 1},
        ],
        "metricFieldSpecs": [{"name": "d", "dataType": "BYTES", "maxLength": 2**31 - 1}],
        "dateTimeFieldSpecs": [],
    }


def test_configs_without_indexes_and_without_order() -> None:
    assert unsorted(CONFIG) == {
        **CONFIG,
        "tableIndexConfig": {"nullHandlingEnabled": True, "bloomFilterColumns": ["s"]},
    }
    assert plain_config(CONFIG, ["s", "b"]) == {
        "tableName": "t",
        "segmentsConfig": {"timeColumnName": "ts"},
        "tableIndexConfig": {
            "loadMode": "MMAP",
            "nullHandlingEnabled": True,
            "noDictionaryColumns": ["s", "b"],
        },
        "ingestionConfig": {"filterConfig": {"filterFunction": "x"}},
    }


def test_an_unreadable_file_crosses_processes() -> None:
    error = UnreadableFileError("a.csv: no", expected="a whole file", where="/a.csv")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - created here
    assert (type(again), str(again)) == (UnreadableFileError, str(error))
    assert isinstance(again, DataError)
