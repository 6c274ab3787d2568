"""Values and parameters through a real Pinot, there and back."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller_client.broker.client import BrokerClient
from controller_client.errors import QueryError
from tests.integration.queries.kinds_table import ODD_TEXTS, ROWS
from tests.support.needs import Need, has, inside, needs

pytestmark = [pytest.mark.cluster, pytest.mark.jvm]

_ARROW = {
    "id": pa.int32(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal": pa.decimal256(76, 20),
    "flag": pa.bool_(),
    "ts": pa.timestamp("ms"),
    "text": pa.string(),
    "document": pa.string(),
    "data": pa.binary(),
    "ints": pa.list_(pa.int32()),
    "longs": pa.list_(pa.int64()),
    "floats": pa.list_(pa.float32()),
    "doubles": pa.list_(pa.float64()),
    "texts": pa.list_(pa.string()),
}
_ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.lists(
    st.sampled_from(
        ["'", "''", '"', "--", "/*", "*/", "//", ";", ":a", "option(", ")", "\\", "%", "\n", "\x00"]
    )
).map("".join)


def test_all_types_as_arrow_and_pandas(broker: BrokerClient, kinds: str) -> None:
    names = ", ".join(f'"{name}"' for name in _ARROW)
    result = broker.query(f"select {names} from {kinds} where id < 2 order by id limit 2")
    table = result.to_arrow()
    assert dict(zip(table.schema.names, table.schema.types, strict=True)) == _ARROW
    first, second = table.to_pylist()
    expected = ROWS[0]
    for name in ("int", "long", "double", "flag", "text", "document", "ints", "longs", "doubles", "texts"):
        assert first[name] == expected[name], name
    assert first["float"] == pa.scalar(0.1, pa.float32()).as_py()
    assert first["decimal"] == Decimal(expected["decimal"])
    assert second["decimal"] == Decimal(ROWS[1]["decimal"])
    assert first["data"] == bytes.fromhex(expected["data"])
    assert first["ts"].replace(tzinfo=UTC) == datetime.fromtimestamp(1_700_000_000.123, UTC)
    assert (second["double"], second["doubles"][0]) == (math.inf, -math.inf)
    frame = result.to_pandas()
    assert frame["long"].tolist() == [row["long"] for row in ROWS[:2]]
    assert frame["ts"].tolist()[1] == pd.Timestamp(1967, 4, 6, 23, 59, 59, 999000)
    assert result.dicts()[0]["data"] == expected["data"]


def test_not_a_number(broker: BrokerClient, kinds: str) -> None:
    result = broker.query(f"select double - double from {kinds} where id = 1 limit 1")
    assert math.isnan(result.scalar())
    assert math.isnan(result.to_arrow().column(0)[0].as_py())


@needs(Need.NULLS_BY_OPTION, raises=QueryError, match="Null handling cannot be enabled")
def test_nulls(broker: BrokerClient, kinds: str) -> None:
    result = broker.query(f"select * from {kinds} where id = 2 limit 1", options={"enableNullHandling": True})
    nulls = {name: value for name, value in result.to_arrow().to_pylist()[0].items() if value is None}
    assert nulls.keys() == _ARROW.keys() - {"id"}
    assert str(result.to_pandas().dtypes["long"]) == "Int64"


@pytest.mark.parametrize(
    "options",
    [{}, pytest.param({"useMultistageEngine": True}, marks=inside(Need.MULTI_STAGE_ENGINE))],
    ids=["single", "multi"],
)
def test_each_odd_text_finds_its_own_row(broker: BrokerClient, kinds: str, options: dict[str, Any]) -> None:
    for number, text in enumerate(ODD_TEXTS):
        sql = f"select id, text from {kinds} where (text = :text) and id in (:ids)"
        found = broker.query(
            sql, params={"text": text, "ids": list(range(100, 100 + len(ODD_TEXTS)))}, options=options
        )
        assert found.rows == ((100 + number, text),), text
    some = broker.query(
        f"select id from {kinds} where text in (:texts) and id >= :id order by id limit 100",
        params={"texts": ODD_TEXTS[1:8], "id": 100},
        options=options,
    )
    assert [row[0] for row in some] == list(range(101, 108))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_ANY_TEXT.filter(lambda text: not _is_number(text)))  # which 0.11 gives back as a number
def test_any_text_is_read_back(broker: BrokerClient, kinds: str, text: str) -> None:
    """Pinot reads the literal as the very text: it gives it back, and compares with it."""
    found = broker.query(
        f"select id, :text from {kinds} where id = :id and text <> :text -- it's :text\n limit 1",
        params={"id": 2, "text": text},
    )
    expected = ((2, text),) if text != "null" else ()
    assert found.rows == expected


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ('"int" = :x', 7),
        ('"int" > :x', Decimal("6.5")),
        ('"long" = :x', 9_007_199_254_740_993),
        ("double = :x", 0.1),
        ("double < :x", 1e300),
        ("decimal = :x", Decimal("12345678901234567890.123456789")),
        ("decimal in (:x)", [Decimal("12345678901234567890.123456789"), Decimal("1.5")]),
        ("flag = :x", True),
        ("ts = :x", datetime.fromtimestamp(1_700_000_000.123, UTC)),
        ("ts > :x", date(2023, 11, 14)),
        ("data = :x", bytes.fromhex("00ff10")),
        ("data in (:x)", [bytes.fromhex("00ff10"), b"\x01"]),
        ("id -:x = 1", -1),
        ("text like :x", "pl%"),
    ],
)
def test_typed_parameters(broker: BrokerClient, kinds: str, condition: str, value: Any) -> None:
    engines: list[dict[str, Any]] = [{}]
    if has(Need.MULTI_STAGE_ENGINE):
        engines.append({"useMultistageEngine": True})
    for options in engines:
        found = broker.query(
            f"select id from {kinds} where id = 0 and {condition} limit 1",
            params={"x": value},
            options=options,
        )
        assert found.rows == ((0,),), options
