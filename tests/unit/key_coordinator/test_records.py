"""Which messages have the same key, which have no key, and how they are ranked."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from controller_client.errors import ConfigError, SourceError
from key_coordinator.reading.columns import CheckedColumn, KeyColumn, TimeColumn
from key_coordinator.reading.recipe import Recipe
from key_coordinator.reading.records import Messages, Read, RecordReader
from key_coordinator.reading.values import ALWAYS_STORED

_MS = 1_700_000_000_000
_KEY = (
    KeyColumn("name", "STRING"),
    KeyColumn("count", "INT"),
    KeyColumn("flag", "BOOLEAN"),
    KeyColumn("at", "TIMESTAMP"),
)
_OTHER = (CheckedColumn("number", "INT"), CheckedColumn("texts", "STRING", single=False))
_RECIPE = Recipe(_KEY, TimeColumn("ts", "LONG"), _OTHER)
_SAME: list[dict[str, object]] = [
    {"name": "7", "count": 12, "flag": True, "at": _MS, "ts": 5},
    {"name": 7, "count": "12", "flag": "true", "at": str(_MS), "ts": "5"},
    {"ts": 5.0, "at": "2023-11-14 22:13:20", "flag": 1, "count": 12.0, "name": "7", "more": {"a": [1]}},
    {"name": "7\0 and more", "count": 12, "flag": True, "at": _MS, "ts": 5, "texts": ["a", 1]},
]
_OTHERS: list[dict[str, object]] = [
    {**_SAME[0], "name": "7.0"},
    {**_SAME[0], "name": "71", "count": 2},  # indistinguishable without the lengths of the parts
    {**_SAME[0], "count": 112},
    {**_SAME[0], "flag": False},
    {**_SAME[0], "at": _MS + 1},
    {**_SAME[0], "name": "é😀"},
    {**_SAME[0], "name": ""},
]
_NONE: list[bytes | None] = [
    *(json.dumps({k: v for k, v in _SAME[0].items() if k != left}).encode() for left in _SAME[0]),
    json.dumps({**_SAME[0], "count": None}).encode(),
    json.dumps({**_SAME[0], "count": "twelve"}).encode(),
    json.dumps({**_SAME[0], "ts": "soon"}).encode(),
    json.dumps({**_SAME[0], "more": float("nan")}).encode(),
    json.dumps({**_SAME[0], "number": "twelve"}).encode(),  # Pinot also drops such a row
    json.dumps({**_SAME[0], "texts": {"a": [1, 2], "b": 3}}).encode(),
    json.dumps(_SAME[0]).encode()[:-1],
    json.dumps([_SAME[0]]).encode(),
    b"",
    b"null",
    b"\xff\xfe\x00",
    None,  # a tombstone without a key
]


def messages_of(values: Sequence[bytes | None], keys: Mapping[int, bytes] | None = None) -> Messages:
    count = len(values)
    return Messages(
        np.full(count, 3, np.int32),
        np.arange(count, dtype=np.int64),
        values,
        [_MS] * count,
        [(keys or {}).get(number) for number in range(count)],
    )


def hashes_of(read: Read) -> list[tuple[int, int]]:
    return list(zip(read.records.high.tolist(), read.records.low.tolist(), strict=True))


def test_values_that_are_equal_in_pinot_give_one_key() -> None:
    values = [json.dumps(each).encode() for each in [*_SAME, *_OTHERS]]
    named = json.dumps({each.name: _SAME[1][each.name] for each in _KEY}).encode()
    read = RecordReader(_RECIPE).read(messages_of([*values, None], {len(values): named}))
    hashes = hashes_of(read)
    assert read.refused == 0
    assert len(set(hashes[: len(_SAME)])) == 1
    assert len(set(hashes)) == 1 + len(_OTHERS)
    assert hashes[-1] == hashes[0]
    assert read.records.tombstone.tolist() == [False] * len(values) + [True]
    assert read.records.order.tolist() == [5] * len(values) + [_MS]


def test_what_pinot_would_not_store_has_no_key_and_is_counted() -> None:
    good = json.dumps(_SAME[0]).encode()
    read = RecordReader(_RECIPE).read(messages_of([good, *_NONE, good]))
    assert read.records.offset.tolist() == [0, len(_NONE) + 1]
    assert read.refused == len(_NONE)
    assert read.example == "partition 3, offset 1: the key column name is missing or not of type STRING"
    each = [RecordReader(_RECIPE).read(messages_of([one])) for one in _NONE]
    assert [(one.refused, len(one.records)) for one in each] == [(1, 0)] * len(_NONE)


@pytest.mark.parametrize(
    ("key", "expected"), [(b"12", 12), (b'{"id": 12}', 12), (b'{"x": 12}', None), (None, None)]
)
def test_a_tombstone_names_its_key_plainly_or_as_json(key: bytes | None, expected: int | None) -> None:
    reader = RecordReader(Recipe((KeyColumn("id", "LONG"),), TimeColumn("ts", "LONG")))
    row = reader.read(messages_of([b'{"id": 12, "ts": 1}']))
    read = reader.read(messages_of([None], {} if key is None else {0: key}))
    assert hashes_of(read) == ([] if expected is None else hashes_of(row))
    assert read.refused == (expected is None)


def test_no_messages_are_no_records() -> None:
    read = RecordReader(_RECIPE).read(messages_of([]))
    assert (len(read.records), read.refused) == (0, 0)


def by_level(records: pd.DataFrame) -> NDArray[np.int64]:
    assert list(records.columns) == ["id", "ts", "level", "deep"]
    known = {"high": 2, "low": 1, None: 9}
    return np.array([known[each] for each in records["level"]]) * 10**15 + records["ts"].astype("int64")


by_level.columns = ("level", "deep")  # type: ignore[attr-defined]  # what it receives besides key and time


def test_the_users_function_ranks_records_with_a_key() -> None:
    recipe = Recipe((KeyColumn("id", "LONG"),), TimeColumn("ts", "LONG"), rank=by_level)
    rows = [
        {"id": 1, "ts": 7, "level": "high", "deep": {"a": 1}},
        {"id": 2, "ts": 8, "level": "low"},
        {"ts": 1},
    ]
    values: list[bytes | None] = [*(json.dumps(each).encode() for each in rows), None]
    read = RecordReader(recipe).read(messages_of(values, {3: b"1"}))
    assert read.records.order.tolist() == [2 * 10**15 + 7, 10**15 + 8, 9 * 10**15 + _MS]


def test_a_failing_ranking_function_is_a_config_error() -> None:
    def fails(_records: pd.DataFrame) -> NDArray[np.int64]:
        raise ZeroDivisionError("mine")

    def too_few(_records: pd.DataFrame) -> NDArray[np.int64]:
        return np.array([1, 2])

    for rank, message in ((fails, "ZeroDivisionError: mine"), (too_few, "returned")):
        recipe = Recipe((KeyColumn("id", "LONG"),), TimeColumn("ts", "LONG"), rank=rank)
        with pytest.raises(ConfigError, match=message):
            RecordReader(recipe).read(messages_of([b'{"id": 1, "ts": 2}']))


def test_a_record_that_cannot_be_ranked_is_unread() -> None:
    def by_number(records: pd.DataFrame) -> NDArray[np.int64]:
        return np.array(records["n"].astype("int64"), np.int64)

    by_number.columns = ("n",)  # type: ignore[attr-defined]
    recipe = Recipe((KeyColumn("id", "LONG"),), TimeColumn("ts", "LONG"), rank=by_number)
    values: list[bytes | None] = [
        json.dumps({"id": 1, "ts": 2, "n": number}).encode() for number in ("5", "x", "7", None)
    ]
    read = RecordReader(recipe).read(messages_of(values))
    assert read.records.order.tolist() == [5, 7]
    assert (read.refused, read.example) == (2, "partition 3, offset 1: it cannot be read (ValueError)")


def deep(levels: int) -> bytes:
    return b'{"id": 1, "ts": 2, "n": ' + b"[" * levels + b"1" + b"]" * levels + b"}"


@pytest.mark.parametrize("levels", [100, 101, 500, 990, 1_000, 1_021])
@pytest.mark.parametrize("kind", ["LONG", "STRING", "JSON"])
def test_a_deeply_nested_value_is_no_fault_of_the_other_messages(kind: str, levels: int) -> None:
    recipe = Recipe((KeyColumn("id", "LONG"),), TimeColumn("ts", "LONG"), (CheckedColumn("n", kind),))
    read = RecordReader(recipe).read(messages_of([deep(1), deep(levels), deep(1)]))
    is_stored = kind == "JSON" or levels <= 100
    assert read.records.offset.tolist() == ([0, 1, 2] if is_stored else [0, 2])
    assert read.refused == (not is_stored)
    if not is_stored:
        assert read.example == f"partition 3, offset 1: n is not of type {kind}"


def test_a_message_that_raises_anything_is_unread_and_the_others_are_read(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Fragile(CheckedColumn):
        def refused(self, values: Sequence[object]) -> list[int]:
            if "bad" in values:
                raise RecursionError("a fault of the reader, whatever it is")
            return super().refused(values)

    recipe = Recipe((KeyColumn("id", "LONG"),), TimeColumn("ts", "LONG"), (Fragile("s", "STRING"),))
    reader, bad = RecordReader(recipe), {0, 13, 14, 39}
    values: list[bytes | None] = [
        json.dumps({"id": at, "ts": at, "s": "bad" if at in bad else "good"}).encode() for at in range(39)
    ]
    tombstone = len(values)
    read = reader.read(messages_of([*values, None], {tombstone: b"7"}))
    good = [at for at in range(40) if at not in bad or at == tombstone]
    assert read.records.offset.tolist() == good
    assert read.records.order.tolist() == [*good[:-1], _MS]
    assert read.records.tombstone.tolist() == [False] * (len(good) - 1) + [True]
    assert read.refused == 3
    assert read.example == "partition 3, offset 0: it cannot be read (RecursionError)"
    reader.read(messages_of(values))
    # Once, with the stack of the fault.
    assert [each.levelno for each in caplog.records if each.exc_info] == [logging.ERROR]


def test_a_rank_of_a_value_without_text_is_unread() -> None:
    def rank(records: pd.DataFrame) -> NDArray[np.int64]:
        return records["n"].map(len).to_numpy(np.int64)

    rank.columns = ("n",)  # type: ignore[attr-defined]
    recipe = Recipe((KeyColumn("id", "LONG"),), TimeColumn("ts", "LONG"), rank=rank)
    read = RecordReader(recipe).read(messages_of([deep(1), deep(900), deep(3)]))
    assert read.records.order.tolist() == [3, 7]
    assert read.example == "partition 3, offset 1: it cannot be read (TypeError)"


_VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(max_size=5),
        st.sampled_from(["12", "1e999", "2023-02-31 00:00:00", "\0", "\ud800", "0x", "²", "9" * 40]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)  # fmt: skip
_EVERY_KIND = tuple(
    CheckedColumn(f"{kind}{single}", kind, single) for kind in ALWAYS_STORED for single in (True, False)
)
_NAMES = ["ts", *(column.name for column in _KEY), *(column.name for column in _EVERY_KIND)]
_ROWS = st.one_of(
    st.fixed_dictionaries(dict.fromkeys((*(each.name for each in _KEY), "ts"), _VALUES)),
    st.dictionaries(st.sampled_from(_NAMES), _VALUES),
    _VALUES,
)


@given(st.lists(st.one_of(st.none(), st.binary(max_size=8), _ROWS.map(lambda row: json.dumps(row).encode()))))
def test_whatever_messages_contain_each_is_a_record_or_unread(values: list[bytes | None]) -> None:
    reader = RecordReader(Recipe(_KEY, TimeColumn("ts", "LONG"), _EVERY_KIND))
    keys = {at: value or b"7" for at, value in enumerate(values[1:])}
    read = reader._read(messages_of(values, keys))  # not by the boundary, which nothing should need
    assert len(read.records) + read.refused == len(values)


def test_a_registry_that_is_down_is_no_fault_of_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def down(_values: Sequence[bytes]) -> list[Mapping[str, object] | None]:
        raise SourceError("the registry is down")

    reader = RecordReader(_RECIPE)
    monkeypatch.setattr(reader, "_read_values", down)
    with pytest.raises(SourceError):
        reader.read(messages_of([b"{}", b"{}"]))
