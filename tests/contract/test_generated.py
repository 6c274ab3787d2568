"""Generated tables and texts: whatever Arrow accepts, it reads exactly like Pinot's reader."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contract.random_tables import REFUSED
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import arrow_schema, examples, schema_of, table_config

pytestmark = pytest.mark.jvm

# Each example builds two segments in the same child; the file is rewritten each time.
SETTINGS = settings(
    max_examples=examples(8, 100),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
_TEXT_EXAMPLES = examples(33, 400)
SCHEMA = schema_of(
    {"s": "STRING", "i": "INT", "l": "LONG", "f": "FLOAT", "o": "BOOLEAN", "b": "BYTES", "t": "TIMESTAMP"},
    multi_values={"ms": "STRING", "mi": "INT", "md": "DOUBLE"},
    metrics={"d": "DOUBLE"},
)
_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
_INT, _LONG = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
# Only one NaN: which bits of several Java keeps depends on whether it has already compiled the loop.
_NAN = st.just(math.nan)
_FLOAT, _DOUBLE = st.floats(width=32, allow_nan=False) | _NAN, st.floats(allow_nan=False) | _NAN
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "s": st.none() | _TEXT,
            "i": st.none() | _INT,
            "l": st.none() | _LONG,
            "f": st.none() | _FLOAT,
            "d": st.none() | _DOUBLE,
            "o": st.none() | st.booleans(),
            "b": st.none() | st.binary(max_size=6),
            "t": st.none() | st.integers(2**32, 2**45),
            "ms": st.none() | st.lists(st.none() | _TEXT, max_size=4),
            "mi": st.none() | st.lists(_INT, max_size=4),
            "md": st.none() | st.lists(_DOUBLE, max_size=3),
        }
    ),
    min_size=1,
    max_size=20,
)


def same_or_left_to_pinot(child: SegmentChild, path: Path, *, null_handling: bool = True) -> dict[str, Any]:
    config = table_config(null_handling=null_handling)
    by_pinot = child.build(config, SCHEMA, path, "pinot")
    by_choice = child.build(config, SCHEMA, path, "auto")
    if "error" in by_pinot:
        assert by_choice == by_pinot
    else:
        assert by_choice["crc"] == by_pinot["crc"], by_choice
    return by_choice


@SETTINGS
@given(rows=ROWS, null_handling=st.booleans())
def test_parquet_tables(child: SegmentChild, tmp_path: Path, rows: list[Any], null_handling: bool) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=arrow_schema(SCHEMA)), path)
    built = same_or_left_to_pinot(child, path, null_handling=null_handling)
    if built["reader"] == "pinot":
        assert any(reason in built["fallback_reason"] for reason in REFUSED), built["fallback_reason"]


@SETTINGS
@given(rows=ROWS, ascii_only=st.booleans())
def test_json_tables(child: SegmentChild, tmp_path: Path, rows: list[Any], ascii_only: bool) -> None:
    path = tmp_path / "rows.json"
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            plain = {
                key: value.hex() if isinstance(value, bytes) else value
                for key, value in row.items()
                # JSON has no NaN and no infinity
                if value == value and "inf" not in repr(value) and "nan" not in repr(value)
            }
            file.write(json.dumps(plain, ensure_ascii=ascii_only) + "\n")
    same_or_left_to_pinot(child, path)


_CSV_PIECES = ["a", "Ü", "😀", "1", "-7", "1.5", "", " ", "\t", ",", ",", "\n", "\n", "\r", "\r\n", '"', '""']
_CSV_PIECES += [";", "\\", "#", "x"]
_CSV_HEADERS = ["s,i", "s,ms", "i,s,d", "d"]


@settings(SETTINGS, max_examples=_TEXT_EXAMPLES)
@given(
    pieces=st.lists(st.sampled_from(_CSV_PIECES), max_size=25),
    header=st.sampled_from(_CSV_HEADERS),
)
def test_csv_texts(child: SegmentChild, tmp_path: Path, pieces: list[str], header: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes((header + "\n" + "".join(pieces)).encode())
    same_or_left_to_pinot(child, path)


_JSON_PIECES = ['{"s":"a"}', '{"s":"b","i":1}', '{"s":null}', '{"s":"\\u0041"}', '{"s":"ü"}', '{"i":2.0}']
_JSON_PIECES += ['{"i":3}', '{"i":"4"}', '{"d":1e3}', '{"d":1}', '{"d":-0}', '{"d":-0.0}', '{"d":NaN}', "{}"]
_JSON_PIECES += ['{"l":12345678901}', '{"ms":["a"]}', '{"ms":"a"}', '{"o":true}', '{"o":1}', '{"o":"1"}']
_JSON_PIECES += ['{"t":9999999999}']
_JSON_PIECES += ["\n", "\n", "\n", "\r\n", " ", "[]", "null", "#", ","]


@settings(SETTINGS, max_examples=_TEXT_EXAMPLES)
@given(pieces=st.lists(st.sampled_from(_JSON_PIECES), max_size=12))
def test_json_texts(child: SegmentChild, tmp_path: Path, pieces: list[str]) -> None:
    path = tmp_path / "rows.json"
    path.write_bytes("".join(pieces).encode())
    same_or_left_to_pinot(child, path)


_NUMBER_TEXTS = st.text("0123456789+-.eExXfdnaNInity _", min_size=1, max_size=7) | st.floats().map(repr)


@settings(SETTINGS, max_examples=_TEXT_EXAMPLES)
@given(
    texts=st.lists(_NUMBER_TEXTS, min_size=1, max_size=3), column=st.sampled_from(["i", "l", "f", "d", "o"])
)
def test_number_texts(child: SegmentChild, tmp_path: Path, texts: list[str], column: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes((f"s,{column}\n" + "".join(f"a,{text}\n" for text in texts)).encode())
    same_or_left_to_pinot(child, path)
