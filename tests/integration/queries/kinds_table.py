"""A small table with a column of each of Pinot's types, and rows that are hard to bring back exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.models import Schema, TableConfig
from tests.support.offline_tables import offline_table
from tests.support.segments import build_segments
from tests.support.wait import wait_for

__all__ = ["ODD_TEXTS", "ROWS", "load_kinds"]

ODD_TEXTS = (
    "plain",
    "it's",
    "two '' quotes",
    "'",
    "''",
    '"double"',
    "-- no comment",
    "/* nor this */",
    "// nor this",
    ":name :id",
    "back\\slash \\' %s % ?",
    "ü 漢字 🙂",
    "option(skipUpsert=true)",
    "x) OPTION (timeoutMs=1)",
    "semi; colon",
    " blanks  and\ttabs ",
    "line\nbreak\r\n",
    "null",
    "+%27+",
)
_BASE: dict[str, Any] = {
    "int": 7,
    "long": 9_007_199_254_740_993,
    "float": 0.1,
    "double": 0.1,
    "decimal": "12345678901234567890.123456789",
    "flag": True,
    "ts": 1_700_000_000_123,
    "text": "plain",
    "document": '{"a":1}',
    "data": "00ff10",
    "ints": [1, -2],
    "longs": [9_007_199_254_740_993],
    "floats": [0.1, 2.5],
    "doubles": [0.1, 2.5],
    "texts": ["a", "it's"],
}
ROWS: tuple[dict[str, Any], ...] = (
    {"id": 0, **_BASE},
    {
        "id": 1,
        **_BASE,
        "int": -(2**31) + 1,
        "long": -(2**63) + 1,
        "float": "NaN",
        "double": "Infinity",
        "decimal": "-0.00000000000000000001",
        "flag": False,
        "ts": -86_400_000_001,
        "doubles": ["-Infinity", "NaN"],
    },
    {"id": 2},
    *({"id": 100 + n, **_BASE, "text": text} for n, text in enumerate(ODD_TEXTS)),
)
_DIMENSIONS = {
    "id": "INT",
    "int": "INT",
    "long": "LONG",
    "float": "FLOAT",
    "double": "DOUBLE",
    "flag": "BOOLEAN",
    "text": "STRING",
    "document": "JSON",
    "data": "BYTES",
}
_LISTS = {"ints": "INT", "longs": "LONG", "floats": "FLOAT", "doubles": "DOUBLE", "texts": "STRING"}


def load_kinds(client: ControllerClient, broker: BrokerClient, name: str, folder: Path) -> None:
    """Make the table, build its segment, push it, and wait until queries see its rows."""
    schema = _schema(name)
    table = offline_table(name, indexing={"noDictionaryColumns": ["decimal"], "nullHandlingEnabled": True})
    client.schemas.create(Schema.from_json(schema))
    client.tables.create(TableConfig.from_json(table))
    for segment in build_segments(folder, schema, table, {f"{name}_0": ROWS}):
        client.segments.upload_tar(f"{name}_OFFLINE", segment.tar)
    count = f"select count(*) from {name}"
    wait_for(lambda: broker.query(count).scalar() == len(ROWS), f"{len(ROWS)} rows of {name}")


def _schema(name: str) -> dict[str, Any]:
    return {
        "schemaName": name,
        "dimensionFieldSpecs": [
            *({"name": each, "dataType": kind} for each, kind in _DIMENSIONS.items()),
            *({"name": each, "dataType": kind, "singleValueField": False} for each, kind in _LISTS.items()),
        ],
        "metricFieldSpecs": [{"name": "decimal", "dataType": "BIG_DECIMAL"}],
        "dateTimeFieldSpecs": [
            {
                "name": "ts",
                "dataType": "TIMESTAMP",
                "format": "1:MILLISECONDS:EPOCH",
                "granularity": "1:MILLISECONDS",
            }
        ],
    }
