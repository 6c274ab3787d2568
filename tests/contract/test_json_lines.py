"""JSON lines that are read by columns have the values that Python's own parser reads."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.contract.line_columns import columns_of
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import examples

pytestmark = pytest.mark.jvm

_TYPES = {
    "s": "STRING",
    "i": "INT",
    "l": "LONG",
    "d": "DOUBLE",
    "o": "BOOLEAN",
    'ü "\\': "STRING",
    "ms": "STRING[]",
    "ml": "LONG[]",
}
_TEXTS = ["", "a", "null", "é", "😀", "\n\t\b", '"\\/', "\x00\x1f", "x" * 300, "\u2028 \x7f", "} ]", "{"]
_LONGS = [0, 7, -1, 10**17, -(10**18), 2**63 - 1, -(2**63), 999_999_999_999_999_999]
_DOUBLES = [0.5, 1e300, 5e-324, 0.1, 123456.789, 2**53 + 2, 2**53 + 1, 1e22, 1.7976931348623157e308, 3, 1e-7]
_BLANKS = ["", "", "", " ", "\t", " \r", "   "]
_DAMAGE = ['"', "\\", "{", "}", "[", "]", ",", ":", "0", "-", ".", "e", "n", "\n", "\x01", ""]


def _value(random: Random, kind: str) -> Any:
    if random.random() < 0.15:
        return None
    if kind.endswith("[]"):
        return [_value(random, kind[:-2]) for _ in range(random.randint(0, 3))]
    if kind == "STRING":
        return "".join(random.choices(_TEXTS, k=random.randint(0, 2)))
    if kind == "BOOLEAN":
        return random.random() < 0.5
    if kind == "DOUBLE":
        known = random.choice(_DOUBLES) * random.choice([1, -1])
        return random.choice([known, random.gauss(0, 1e5)])
    largest = 2**31 if kind == "INT" else 2**63
    return random.choice(_LONGS) if kind == "LONG" else random.randint(-largest, largest - 1)


def _nested(random: Random, depth: int) -> Any:
    kind = random.choice(["STRING", "DOUBLE", "BOOLEAN", "LONG", "object", "list"])
    if kind == "object" and depth:
        return {key: _nested(random, depth - 1) for key in random.sample(_TEXTS, random.randint(0, 3))}
    if kind == "list" and depth:
        return [_nested(random, depth - 1) for _ in range(random.randint(0, 2))]
    return None if kind in ("object", "list") else _value(random, kind)


def _written(random: Random, value: Any) -> str:
    """Write a value in one of the many ways of JSON."""
    if isinstance(value, dict):
        parts = (f"{_written(random, key)}:{_written(random, each)}" for key, each in value.items())
        text = "{" + (",".join(parts) or _blank(random)) + "}"
    elif isinstance(value, list):
        text = "[" + (",".join(_written(random, each) for each in value) or _blank(random)) + "]"
    elif isinstance(value, str):
        text = json.dumps(value, ensure_ascii=random.random() < 0.5)
        if value and random.random() < 0.1:
            text = '"' + "".join(f"\\u{ord(each):04X}" if ord(each) < 2**16 else each for each in value) + '"'
    elif isinstance(value, float) and random.random() < 0.3:
        text = f"{value:.17E}"
    else:
        text = json.dumps(value)
    return _blank(random) + text + _blank(random)


def _blank(random: Random) -> str:
    return random.choice(_BLANKS)


def _rows(random: Random) -> list[dict[str, Any]]:
    rows = []
    # The first row has all keys, with values: they determine the types.
    first = {"s": "a", "i": 1, "l": 2, "d": 0.5, "o": True, 'ü "\\': "b", "ms": ["a"], "ml": [1]}
    order = random.sample(list(_TYPES), len(_TYPES))
    for _ in range(random.randint(0, 30)):
        row = {key: _value(random, _TYPES[key]) for key in order if random.random() < 0.9}
        for number in range(random.choice([0, 0, 1, 2])):
            row[f"other{number}"] = _nested(random, 3)
        keys = list(row)
        if random.random() < 0.2:
            random.shuffle(keys)
        rows.append({key: row[key] for key in keys})
    return [first, *rows]


def _strict(text: str) -> list[_Object] | None:
    """Return the objects of JSON lines; None if a row is not one, or has one of the table's keys twice."""
    rows: list[_Object] = []
    decoder = json.JSONDecoder(object_pairs_hook=_Object, parse_constant=_refuse)
    try:
        for line in text.split("\n"):
            left = line.strip(" \t\r")
            while left:
                row, end = decoder.raw_decode(left)
                if not isinstance(row, _Object) or row.is_twice:
                    return None
                rows.append(row)
                left = left[end:].strip(" \t\r")
    except ValueError:
        return None
    return rows


class _Object(dict[str, Any]):
    def __init__(self, found: list[tuple[str, Any]]) -> None:
        super().__init__(found)
        names = [name for name, _ in found if name in _TYPES]
        self.is_twice = len(names) > len(set(names))


def _refuse(text: str) -> None:
    raise ValueError(text)


def _columns(rows: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [_of_type(row.get(name), kind) for row in rows] for name, kind in _TYPES.items()}


def _of_type(value: Any, kind: str) -> Any:
    return float(value) if kind == "DOUBLE" and isinstance(value, int) else value


def _read(child: SegmentChild, path: Path, random: Random) -> dict[str, Any]:
    block = random.choice([13, 1000, 4 << 20])
    return child.call(columns_of, str(path), _TYPES, block, random.choice([1, 3, 65_536]))


def test_random_lines(child: SegmentChild, tmp_path: Path, random_seed: int) -> None:
    for number in range(examples(100, 1000)):
        random = Random(f"{random_seed}.{number}")
        rows = _rows(random)
        ends = ["\n", "\r\n", "\n\n"] if random.random() < 0.9 else ["\n", " "]
        text = "".join(_written(random, row) + random.choice(ends) for row in rows)
        path = tmp_path / "rows.json"
        path.write_bytes(gzip.compress(text.encode()) if number % 5 == 0 else text.encode())
        found = _read(child, path, random)
        # The first rows are looked at line by line.
        if "unsuitable" in found:
            assert found["unsuitable"].startswith("the first rows are not JSON lines")
            assert any(len(_strict(line) or ()) > 1 for line in text.split("\n"))
            continue
        assert found == {"columns": _columns(rows)}, f"{number}: {text}"


def test_damaged_lines_are_refused_or_read_as_others_read_them(
    child: SegmentChild, tmp_path: Path, random_seed: int
) -> None:
    refused = 0
    count = examples(200, 4000)
    for number in range(count):
        random = Random(f"{random_seed}.{number}")
        text = "".join(_written(random, row) + "\n" for row in _rows(random)[:3])
        for _ in range(random.randint(1, 3)):
            at = random.randrange(len(text))
            text = text[:at] + random.choice(_DAMAGE) + text[at + random.randint(0, 2) :]
        path = tmp_path / "rows.json"
        path.write_bytes(text.encode())
        found = _read(child, path, random)
        if "unsuitable" in found:
            refused += 1
            continue
        rows = _strict(text)
        assert rows is not None, f"{number}: {text}"
        assert found == {"columns": _columns(rows)}, f"{number}: {text}"
    assert count // 20 < refused < count


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ('{"i": 2147483648}', "row 1501, column i: a number that is too large"),
        ('{"l": 9223372036854775808}', "row 1501, column l: a number that is too large"),
        ('{"l": 1.0}', "column l: not JSON, or not of the type"),
        ('{"l": 01}', "column l: not JSON"),
        ('{"l": +1}', "column l: not JSON"),
        ('{"d": 1.}', "column d: not JSON"),
        ('{"d": .5}', "column d: not JSON"),
        ('{"d": 1e}', "column d: not JSON"),
        ('{"d": 1e999}', "column d: a number that is not finite"),
        ('{"d": NaN}', "column d: not JSON"),
        ('{"d": -0}', "a negative zero"),
        ('{"d": 1' + "0" * 300 + "}", "a number that is too long"),
        ('{"s": "\\ud800"}', "column s: an escape that is not a character"),
        ('{"s": "\\udc00\\ud800"}', "an escape that is not a character"),
        ('{"s": "\\ud800\\u0041"}', "an escape that is not a character"),
        ('{"s": "\\u00g0"}', "an escape that is not a character"),
        ('{"s": "\\x"}', "an escape that is not a character"),
        ('{"s": "\t"}', "column s: not JSON"),
        ('{"s": "a', "column s: not JSON"),
        ('{"s": "a\n"}', "column s: not JSON"),
        ('{"s": \n"a"}', "column s: not JSON"),
        ('{"s": nulls}', "row 1501: not JSON"),
        ('{"s": "a",}', "row 1501: not JSON"),
        ('{"s": "a" "t": 1}', "row 1501: not JSON"),
        ('{"s": "a", "\\u0073": "b"}', "column s: a key that the row has twice"),
        ('{"ms": ["a",]}', "column ms: not JSON"),
        ('{"ms": [["a"]]}', "column ms: not JSON"),
        ('{"ms": "a"}', "column ms: not JSON"),
        ('{"o": 1}', "column o: not JSON"),
        ('{"x": ' + "[" * 100_000 + "]" * 100_000 + "}", "row 1501: a value that is nested too deeply"),
        ('{"x": [1, 2}', "row 1501: not JSON"),
        ('{"x": {"a" 1}}', "row 1501: not JSON"),
        ('{"x": tru}', "row 1501: not JSON"),
        ('{"' + "x" * 20_000 + '": 1}', "row 1501: a key that is too long"),
        ("null", "row 1501: not JSON"),
        ("[]", "row 1501: not JSON"),
        ('{"s": "' + "x" * (17 << 20) + '"}', "a row has more than 16777216 bytes"),
    ],
    ids=lambda value: value[:20],
)
def test_what_only_jackson_may_judge(child: SegmentChild, tmp_path: Path, row: str, reason: str) -> None:
    """All of this is behind the first rows, which Python parses."""
    first = json.dumps({"s": "a" * 200, "i": 1, "l": 2, "d": 0.5, "o": True, "ms": ["a"], "ml": [1]})
    path = tmp_path / "rows.json"
    path.write_text(f"{first}\n" * 1_500 + row)
    found = child.call(columns_of, str(path), _TYPES, 1 << 20, 65_536)
    assert reason in found["unsuitable"]


def test_numbers_that_are_not_read(child: SegmentChild, tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text('{"s": "a", "x": -0, "y": [1e999, -0.0]}\n')
    assert child.call(columns_of, str(path), {"s": "STRING"}, 1 << 20, 1) == {"columns": {"s": ["a"]}}


def test_rows_with_ever_other_keys(child: SegmentChild, tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    rows = [{f"k{number}": number, "s": str(number), f"x{number % 7}": [None]} for number in range(30_000)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = child.call(columns_of, str(path), {"s": "STRING", "k29999": "LONG"}, 1 << 20, 65_536)
    assert found["columns"]["s"] == [row["s"] for row in rows]
    assert found["columns"]["k29999"] == [*[None] * 29_999, 29_999]
