"""Segments that Spark's tasks read themselves have the original rows and nulls."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.contract.segment_child import SegmentChild
from tests.contract.tables import arrow_schema, schema_of, table_config

pytestmark = [pytest.mark.jvm, pytest.mark.every_pinot]

# More than one block of Pinot, with a null in each.
ROWS = 10_050
SCHEMA = schema_of(
    {"i": "INT", "f": "FLOAT", "o": "BOOLEAN", "t": "TIMESTAMP", "s": "STRING", "j": "JSON", "b": "BYTES"},
    multi_values={"mi": "INT", "ms": "STRING"},
    metrics={"l": "LONG", "d": "DOUBLE", "big": "BIG_DECIMAL"},
    extra={"i": {"defaultNullValue": "-7"}},
)
TYPES = arrow_schema(SCHEMA)


def given(row: int) -> dict[str, Any]:
    """Return a row; each 1,000th has no value."""
    if row % 1000 == 999:
        return dict.fromkeys(TYPES.names)
    return {
        "i": row - 5,
        "l": row * 2**40,
        "f": row / 4,
        "d": row / 7,
        "o": row % 3 == 0,
        "t": 1_600_000_000_000 + row,
        "s": f"Zürich {row % 17}",
        "j": f'{{"a":{row % 5}}}',
        "b": bytes([row % 256, 255]),
        "big": f"{row}.5",
        "mi": [row, -row],
        "ms": ["a", f"ü{row % 3}"],
    }


NULLS = [row for row in range(ROWS) if row % 1000 == 999]
WANTED = [given(row) for row in range(ROWS)]


@pytest.fixture(scope="module")
def folder(child: SegmentChild, tmp_path_factory: pytest.TempPathFactory) -> Path:
    table = pa.Table.from_pylist(WANTED, schema=TYPES)
    unpack = str(tmp_path_factory.mktemp("local"))
    built = child.build(table_config(), SCHEMA, table, "auto", name="local", unpack=unpack)
    return Path(built["folder"])


def select(child: SegmentChild, folder: Path, sql: str, schema: Any = SCHEMA, **more: Any) -> Any:
    """Return the rows of a query, or the error."""
    reply = child.ask({"action": "select", "folder": str(folder), "schema": schema, "sql": sql, **more})
    return reply if "error" in reply else reply["rows"]


def plain(name: str, value: Any) -> Any:
    if name == "b":
        return value.hex()
    return Decimal(value) if name == "big" else value


def test_values_and_nulls(child: SegmentChild, folder: Path) -> None:
    names = ", ".join(f'"{name}"' for name in TYPES.names)
    rows = select(child, folder, f'SELECT {names}, "$segmentName", "$docId" FROM t LIMIT 1000000')
    assert [row[-2:] for row in rows] == [["local", number] for number in range(ROWS)]
    found = [dict(zip(TYPES.names, row, strict=False)) for row in rows]
    for number, (row, wanted) in enumerate(zip(found, WANTED, strict=True)):
        if number not in NULLS:
            given_back = {name: Decimal(value) if name == "big" else value for name, value in row.items()}
            assert given_back == {name: plain(name, value) for name, value in wanted.items()}
    assert (found[999]["i"], found[999]["s"], found[999]["o"]) == (-7, "null", False)
    for name in TYPES.names:
        rows = select(child, folder, f'SELECT "$docId" FROM t WHERE "{name}" IS NULL LIMIT 1000000')
        assert [row[0] for row in rows] == NULLS, name


def test_predicates(child: SegmentChild, folder: Path) -> None:
    for where, wanted in {
        "s = 'Zürich 3' AND i < 100": [3, 20, 37, 54, 71, 88],
        "mi = -12": [12],
        "t BETWEEN 1600000000005 AND 1600000000006": [5, 6],
        "UPPER(s) = 'ZÜRICH 3' AND i < 20": [3, 20],
        "i = -7 AND NOT i IS NULL": [],
    }.items():
        rows = select(child, folder, f'SELECT "$docId" FROM t WHERE {where} LIMIT 1000000')
        assert isinstance(rows, list), rows
        assert [row[0] for row in rows] == wanted, where


def test_columns_that_came_after_the_segment(child: SegmentChild, folder: Path) -> None:
    schema = schema_of(
        {"i": "INT", "later": "STRING"},
        multi_values={"many": "LONG"},
        metrics={"n": "DOUBLE"},
        extra={"later": {"defaultNullValue": "none"}, "many": {"defaultNullValue": "4"}},
    )
    rows = select(child, folder, "SELECT i, later, many, n FROM t WHERE later = 'none' LIMIT 2", schema)
    assert rows == [[-5, "none", [4], 0.0], [-4, "none", [4], 0.0]]


def test_what_is_wrong(child: SegmentChild, folder: Path) -> None:
    def kind(**more: Any) -> Sequence[str]:
        reply = select(child, folder, **{"sql": "SELECT i FROM t LIMIT 1", **more})
        assert "error" in reply, reply
        return reply["error"], reply["message"]

    assert kind(crc=1)[0] == "PartialResultError"
    for sql in ("SELECT nowhere FROM t LIMIT 1", "SELECT i FROM t WHERE nowhere = 1 LIMIT 1", "SELECT"):
        assert kind(sql=sql)[0] == "QueryError"
