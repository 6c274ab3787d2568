from __future__ import annotations

import pytest
from pyspark.sql import types as spark

from spark_connectors.read.broker import has_limit
from spark_connectors.read.columns import ReadColumn
from spark_connectors.read.sql import all_of, select_nulls, select_rows

TIME = ReadColumn('at"', "TIMESTAMP", True, spark.TimestampType())
NUMBER = ReadColumn("n", "INT", True, spark.IntegerType())


def test_rows() -> None:
    assert select_rows("t_OFFLINE", (TIME, NUMBER), None, with_position=False) == (
        'SELECT "at""", "n" FROM "t_OFFLINE" LIMIT 2147483647'
    )
    assert select_rows(
        "t", (TIME,), all_of("n > 1 -- one", None), 5, with_position=True, times_as_long=True
    ) == ('SELECT CAST("at""" AS LONG), "$segmentName", "$docId" FROM "t" WHERE (n > 1 -- one\n) LIMIT 5')


def test_nulls() -> None:
    assert select_nulls("t", NUMBER, all_of("n > 1 or n < 0")) == (
        'SELECT "$segmentName", "$docId" FROM "t" WHERE ((n > 1 or n < 0\n)\n) AND ("n" IS NULL\n)'
        " LIMIT 2147483647"
    )


@pytest.mark.parametrize(
    ("query", "has"),
    [
        ("select a from t limit 5", True),
        ("select a from t LIMIT 5, 10 ;", True),
        ("select a from t limit 5 offset 3", True),
        ("select a from t limit 5 option(timeoutMs=3)", True),
        ("select a from t", False),
        ("select a from (select a from t limit 5)", False),
    ],
)
def test_whether_a_query_has_a_limit(query: str, has: bool) -> None:
    assert has_limit(query) is has
