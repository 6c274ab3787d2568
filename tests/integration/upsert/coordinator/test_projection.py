"""Which messages have the same key; on Spark, without Kafka."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from spark_connectors.upsert.processor import NO_BUCKET
from spark_connectors.upsert.projection import Format, Projection, project

_MS = 1_700_000_000_000
_SCHEMA = "partition int, offset long, timestamp timestamp, key binary, value binary"
_FAR = datetime(2100, 1, 1, tzinfo=UTC)

_KEY = {"name": "STRING", "count": "INT", "flag": "BOOLEAN", "at": "TIMESTAMP"}
_SAME = [
    {"name": "7", "count": 12, "flag": True, "at": _MS, "ts": 5},
    {"name": 7, "count": "12", "flag": "true", "at": str(_MS), "ts": "5"},
    {"ts": 5.0, "at": "2023-11-14 22:13:20", "flag": 1, "count": 12.0, "name": "7", "more": {"a": [1]}},
]
_OTHERS = [
    {**_SAME[0], "name": "7.0"},
    {**_SAME[0], "name": "71", "count": 2},  # not told apart without the lengths of the parts
    {**_SAME[0], "count": 112},
    {**_SAME[0], "flag": False},
    {**_SAME[0], "at": _MS + 1},
]
_NONE: list[bytes | None] = [
    *(json.dumps({k: v for k, v in _SAME[0].items() if k != left}).encode() for left in _SAME[0]),
    json.dumps({**_SAME[0], "count": None}).encode(),
    json.dumps({**_SAME[0], "count": "twelve"}).encode(),
    json.dumps({**_SAME[0], "ts": "soon"}).encode(),
    json.dumps({**_SAME[0], "more": float("nan")}).encode(),
    json.dumps(_SAME[0]).encode()[:-1],
    json.dumps([_SAME[0]]).encode(),
    b"",
    b"null",
    b"\xff\xfe\x00",
    None,  # a tombstone that does not say of which key
]


def test_values_that_are_one_in_pinot_are_one_key(spark: SparkSession) -> None:
    kafkas = datetime.fromtimestamp(_MS / 1000, UTC)
    named = json.dumps({name: _SAME[1][name] for name in _KEY}).encode()
    values: list[tuple[bytes | None, bytes | None]] = [
        *((None, json.dumps(each).encode()) for each in [*_SAME, *_OTHERS]),
        *((None, each) for each in _NONE),
        (named, None),
    ]
    rows = [(3, number, kafkas, key, value) for number, (key, value) in enumerate(values)]
    rows.append((3, len(rows), _FAR, None, json.dumps(_SAME[0]).encode()))
    projection = Projection(_KEY, ("ts", "LONG"), Format(), buckets=16)
    read = project(spark.createDataFrame(rows, _SCHEMA), projection)
    found = sorted(read.collect(), key=lambda row: row.offset)

    same, others = found[: len(_SAME)], found[len(_SAME) : len(_SAME) + len(_OTHERS)]
    none, tombstone, far = found[len(same) + len(others) : -2], found[-2], found[-1]
    assert {(row.key_hash, row.order, row.bucket) for row in same} == {(same[0].key_hash, 5, same[0].bucket)}
    assert len({bytes(row.key_hash) for row in [same[0], *others]}) == 1 + len(_OTHERS)
    assert all(len(row.key_hash) == 16 and 0 <= row.bucket < 16 for row in [*same, *others])
    assert [row.offset for row in none if row.bucket != NO_BUCKET] == []
    assert (tombstone.key_hash, tombstone.order, tombstone.tombstone) == (same[0].key_hash, _MS, True)
    # A time in the future is brought to the present one.
    assert _MS < far.seen < _FAR.timestamp() * 1000
    assert {row.seen for row in same} == {_MS}
