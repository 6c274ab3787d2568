"""Pinot stores the rows that the key coordinator counts as stored, with the same values."""

from __future__ import annotations

import orjson
import pytest

from controller_client.coordinator.reading.columns import KeyColumn
from controller_client.coordinator.reading.values import ALWAYS_STORED, is_stored, whole_number
from tests.support.program import result_of

pytestmark = pytest.mark.jvm

_TEXTS = [
    *(
        "",
        " ",
        "a",
        "é",
        "1",
        "-1",
        "+5",
        " 7 ",
        "\\t8\\n",
        "1.0",
        "1.5",
        "1e3",
        "1_000",
        "0x10",
        "\u0661",
        "2147483648",
        "NaN",
    ),
    *(
        "-2147483649",
        "9223372036854775807",
        "9223372036854775808",
        "Infinity",
        "1d",
        "1f",
        ".5",
        "5.",
        "-",
        "true",
    ),
    *(
        "TRUE",
        "True",
        " true ",
        "yes",
        "t",
        "on",
        "0",
        "ff",
        "FF0",
        "fff",
        "{}",
        "[1",
        '{\\"a\\": 1}',
        "null",
    ),
    *(
        "2020-01-02 03:04:05",
        "2020-01-02 03:04:05.6789",
        "2020-01-02T03:04:05",
        "2020-01-02",
        "2020-13-02 03:04:05",
    ),
    *("2020-02-30 03:04:05", "1700000000000", "1700000000000.5"),
]
_NUMBERS = [
    *("0", "1", "-1", "1.0", "1.9", "-1.9", "1e3", "2147483647", "2147483648", "-2147483649", "4294967297"),
    *(
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "1e19",
        "0.1",
    ),
    *("1700000000000", "1700000000000.7", "123456789012345678901234567890", "3000000000.5"),
]
_OTHERS = [
    "null",
    "true",
    "false",
    "{}",
    "[]",
    "[1]",
    '["a"]',
    "[1, 2]",
    "[[1], [2]]",
    '{"x": 1}',
    '{"x": 1, "y": 2}',
]
_OTHERS += ['{"x": {"y": 3}}', "[null]", "[null, 4]", "[[1, 2]]", '["a", "b"]', "[true]", "[1, null, 2]"]
_VALUES = [*(f'"{text}"' for text in _TEXTS), *_NUMBERS, *_OTHERS]
_KINDS = ["INT", "LONG", "FLOAT", "DOUBLE", "BIG_DECIMAL", "BOOLEAN", "TIMESTAMP", "STRING", "BYTES", "JSON"]
_SINGLE_ONLY = ("BIG_DECIMAL", "BOOLEAN", "TIMESTAMP", "BYTES", "JSON")


def test_what_counts_as_stored_is_stored() -> None:
    asked = [(kind, True) for kind in _KINDS] + [(kind, False) for kind in _KINDS if kind not in _SINGLE_ONLY]
    messages = [f'{{"c": {value}}}' for value in _VALUES]
    found = _stored([{"kind": kind, "single": single, "messages": messages} for kind, single in asked])
    wrong, refused, taken = [], 0, 0
    for (kind, single), answers in zip(asked, found, strict=True):
        for message, stored in zip(messages, answers, strict=True):
            value = orjson.loads(message)["c"]
            takes = type(value) in ALWAYS_STORED[kind] or is_stored(value, kind, single=single)
            if takes and stored is None:
                wrong.append(f"{kind} {'' if single else '[] '}{message}")
            taken += takes
            refused += stored is not None and not takes
    assert not wrong
    assert taken > 5 * refused


@pytest.mark.parametrize("kind", ["INT", "LONG", "BOOLEAN", "TIMESTAMP"])
def test_a_whole_number_is_the_one_that_is_stored(kind: str) -> None:
    values = [value for value in _VALUES if value not in _OTHERS or value in ("true", "false")]
    messages = [f'{{"c": {value}}}' for value in values]
    (answers,) = _stored([{"kind": kind, "single": True, "messages": messages}])
    numbers = [whole_number(orjson.loads(message)["c"], kind) for message in messages]
    known = [(m, n, a) for m, n, a in zip(messages, numbers, answers, strict=True) if n is not None]
    assert len(known) > 5
    assert [(message, str(number)) for message, number, _ in known] == [(m, a) for m, _, a in known]


@pytest.mark.parametrize("max_length", [512, 5])
def test_a_text_of_a_key_is_the_one_that_is_stored(max_length: int) -> None:
    texts = [
        *(
            "",
            "a",
            "abcde",
            "abcdef",
            "a\\u0000b",
            "\\u0000",
            "é" * 6,
            "abcd😀",
            "abc😀x",
            "😀" * 300,
            "x" * 511 + "😀",
        ),
        *("x" * 512, "x" * 513, "x" * 400 + "\\u0000" + "y" * 400, "null"),
    ]
    messages = [*(f'{{"c": "{text}"}}' for text in texts), '{"c": true}', '{"c": 12}', '{"c": 123456}']
    request = {"kind": "STRING", "single": True, "max_length": max_length, "messages": messages}
    (answers,) = _stored([request])
    keys = KeyColumn("c", "STRING", max_length).parts([orjson.loads(message)["c"] for message in messages])
    found = [None if key is None else key[4:].decode() for key in keys]
    # If the truncation splits a character, Java writes a question mark, which other texts may contain too.
    assert found == [None if answer is None or answer.endswith("?") else answer for answer in answers]
    assert None in found


def _stored(requests: list[dict[str, object]]) -> list[list[str | None]]:
    found: list[list[str | None]] = result_of("tests.contract.stored_values_program", requests)
    return found
