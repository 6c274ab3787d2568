"""CSV that is read by columns has the values that Python's own parser reads."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.contract.line_columns import columns_of, mib_of_many_files, wide_row
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import examples

pytestmark = pytest.mark.jvm

_TYPES = {"s": "STRING", "i": "INT", "l": "LONG", "d": "DOUBLE", "f": "FLOAT"}
_TEXTS = ["", "a", "é", "😀", ",", '"', "\n", "\r\n", "\r", " ", "\t", "x" * 300, "\x00", '""']
_LONGS = [0, 7, -1, 10**17, -(10**18), 2**63 - 1, -(2**63), 999_999_999_999_999_999]
_NUMBERS = [
    "0.5",
    "1e300",
    "5E-324",
    "-.5",
    "5.",
    "007.5",
    "9007199254740993",
    "0.1",
    "123456789012345678901",
]
_NUMBERS += ["1.7976931348623157e+308", "-0", "-0.0", "3", "0.30000000000000004", "12345678.12345678"]
_DAMAGE = ['"', ",", "\n", "\r", "0", "-", ".", "e", "+", " ", "\t", "x", "\x01", ""]
_BLOCKS = [13, 1000, 4 << 20]


def _text(random: Random, name: str) -> str:
    if random.random() < 0.15:
        return ""
    match _TYPES.get(name):
        case "INT":
            return str(random.randint(-(2**31), 2**31 - 1))
        case "LONG":
            return str(random.choice(_LONGS))
        case "DOUBLE":
            return random.choice([random.choice(_NUMBERS), repr(random.gauss(0, 1e5))])
        case "FLOAT":
            return str(random.randint(-100, 100))
    return "".join(random.choices(_TEXTS, k=random.randint(0, 3)))


def _written(random: Random, text: str) -> str:
    if any(each in text for each in ',"\r\n') or random.random() < 0.2:
        return '"' + text.replace('"', '""') + '"'
    if random.random() < 0.05 and text and text[-1] in "0123456789":
        return f" {text}\t"
    return text


def _rows(random: Random) -> tuple[list[str], list[list[str]]]:
    names = random.sample([*_TYPES, "other", "x y", "ü"], random.randint(2, 8))
    return names, [[_text(random, name) for name in names] for _ in range(random.randint(0, 30))]


def _file(random: Random, rows: list[list[str]]) -> str:
    ends = random.choice([["\n"], ["\r\n"], ["\r"], ["\n", "\n\n", "\r\n", "\r\n\r\n"]])
    lines = [",".join(_written(random, each) for each in row) + random.choice(ends) for row in rows]
    return "".join(lines).rstrip("\r\n") if rows and random.random() < 0.2 else "".join(lines)


def _value(text: str, kind: str) -> Any:
    if not text:
        return None
    return {"INT": int, "LONG": int, "DOUBLE": float}.get(kind, str)(text)


def test_random_files(child: SegmentChild, tmp_path: Path, random_seed: int) -> None:
    for number in range(examples(100, 1000)):
        random = Random(f"{random_seed}.{number}")
        names, rows = _rows(random)
        text = _file(random, [names, *rows])
        # Blanks stay in the texts of a FLOAT column, which are parsed later.
        types = {name: kind for name, kind in _TYPES.items() if name in names and kind != "FLOAT"}
        path = tmp_path / "rows.csv"
        path.write_bytes(gzip.compress(text.encode()) if number % 5 == 0 else text.encode())
        found = child.call(
            columns_of, str(path), types, random.choice(_BLOCKS), random.choice([1, 3, 65_536])
        )
        expected = {
            name: [_value(row[names.index(name)], kind) for row in rows] for name, kind in types.items()
        }
        assert found == {"columns": expected}, f"{number}: {text!r}"


def test_damaged_files_are_refused_or_read_as_others_read_them(
    child: SegmentChild, tmp_path: Path, random_seed: int
) -> None:
    refused, count = 0, examples(200, 4000)
    for number in range(count):
        random = Random(f"{random_seed}.{number}")
        names = ["s", "i", "d", "other"]
        rows = [[_text(random, name) for name in names] for _ in range(3)]
        text = _file(random, rows)
        for _ in range(random.randint(1, 3)):
            at = random.randrange(len(text) + 1)
            text = text[:at] + random.choice(_DAMAGE) + text[at + random.randint(0, 2) :]
        path = tmp_path / "rows.csv"
        path.write_bytes(f"s,i,d,other\n{text}".encode())
        types = {"s": "STRING", "i": "INT", "d": "DOUBLE"}
        found = child.call(columns_of, str(path), types, random.choice(_BLOCKS), 65_536)
        if "unsuitable" in found:
            refused += 1
            continue
        read = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
        assert {len(row) for row in read} <= {len(names)}, f"{number}: {text!r}"
        assert found["columns"]["s"] == [row[0] or None for row in read], f"{number}: {text!r}"
        numbers = [(_value(row[1], "INT"), _value(row[2], "DOUBLE")) for row in read]
        assert list(zip(found["columns"]["i"], found["columns"]["d"], strict=True)) == numbers
    assert count // 20 < refused < count


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("a,2147483648,,", "row 2, column i: a number that is too large"),
        ("a,,9223372036854775808,", "row 2, column l: a number that is too large"),
        ("a,,,1e999", "row 2, column d: a number that is too large"),
        *(
            (f"a,{text},,", "row 2, column i: unexpected characters in a number")
            for text in ("1.0", "+1", "-", " ")
        ),
        *(
            (f"a,,,{text}", "row 2, column d: unexpected characters in a number")
            for text in (
                "+1",
                "-",
                ".",
                "-.",
                "1e",
                "1e+",
                "1e5.",
                "1.2.3",
                "0x1p3",
                "1f",
                "NaN",
                "Infinity",
                "1 2",
            )
        ),
        ("a,,,,b", "row 2: 5 values instead of 4"),
        ("a,,", "row 2: 3 values instead of 4"),
        ('a"b,,,', "row 2, column s: a quote inside an unquoted field"),
        (' "a",,,', "row 2, column s: a quote inside an unquoted field"),
        ('"a"b,,,', "row 2, column s: text after a closing quote"),
        ('"a" ,,,', "row 2, column s: text after a closing quote"),
        ('"a,,,', "row 2, column s: a quoted field is not closed"),
        ('"' + "x" * (17 << 20), "a row has more than 16777216 bytes"),
    ],
    ids=lambda value: value[:20],
)
def test_what_only_commons_csv_may_judge(child: SegmentChild, tmp_path: Path, row: str, reason: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"s,i,l,d\nb,1,2,3\n{row}\n")
    types = {"s": "STRING", "i": "INT", "l": "LONG", "d": "DOUBLE"}
    for block_bytes in (100, 4 << 20) if len(row) < 100 else (1 << 20,):
        assert reason in child.call(columns_of, str(path), types, block_bytes, 65_536)["unsuitable"]


@pytest.mark.parametrize("block_bytes", [16, 4 << 20])
@pytest.mark.parametrize(
    ("text", "config", "row"),
    [
        ("id,word\n1,a\n2,b,c\n3,d\n", None, 2),
        ('id,word\r\n1,"a\r\nb"\r\n\r\n2,"b, c"\r\n3,x, y\r\n', None, 3),
        ("id;word\n1;a;b", {"delimiter": ";"}, 1),
        ("1,a\n2,b\n3,c,d", {"header": "id,word"}, 3),
        ("id,word\n1,a\n2\n\n3,b,\n", None, None),
        ("id,word\n1,a,,,\n", None, None),
        ('id,word\n1,a"b,c\n', None, None),  # only Pinot's reader can separate these values
        ("id,word\n1,a,b\n", {"escapeCharacter": "x"}, None),
        ("id,id\n1,a,b\n", None, 1),
        ("", None, None),
        ("id,word", None, None),
    ],
)
def test_rows_with_more_values_than_the_header_are_refused(
    child: SegmentChild,
    tmp_path: Path,
    text: str,
    config: dict[str, str] | None,
    row: int | None,
    block_bytes: int,
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode())
    refused = child.call(wide_row, str(path), config, block_bytes)
    if row is None:
        assert refused is None
        return
    assert refused is not None
    message, remedy = refused
    header = "recordReader.prop.header" if config and "header" in config else "the header"
    assert f"a.csv, row {row}: 3 values, but {header} has 2 names" in message
    assert "in quotes" in remedy


def test_the_memory_of_many_files_is_that_of_one(child: SegmentChild, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("s,other\n" + f"a,{'x' * 10_000}\n" * 400)
    assert child.call(mib_of_many_files, str(path), 20) < 1
