"""A result counts only if the broker queries all segments that it must cover."""

from __future__ import annotations

import pytest

from controller_client.common.names import TableName
from controller_client.common.sql_text import SqlText
from controller_client.errors import PartialResultError
from controller_client.upsert.version_option import reads_one_table
from controller_client.upsert.versioned_query import check_whole

TABLE, OTHER = TableName("t_REALTIME"), TableName("o_REALTIME")


def check(routed: set[str], wanted: set[str], covered: int | None = None) -> None:
    needed = {OTHER: frozenset({"o"}), TABLE: frozenset({"a", "b"})}
    check_whole(
        needed,
        lambda table: routed if table == TABLE else {"o"},
        lambda _table: wanted,
        covered=covered,
        where="http://broker",
    )


@pytest.mark.parametrize(
    ("routed", "text"), [(set(), "2 segments of t_REALTIME"), ({"a", "new"}, "missing .*: b")]
)
def test_segments_that_the_broker_does_not_query(routed: set[str], text: str) -> None:
    with pytest.raises(PartialResultError, match=text):
        check(routed, {"a", "b", "new"})


def test_a_result_of_a_deleted_table_is_refused() -> None:
    with pytest.raises(PartialResultError, match="t_REALTIME was deleted while it was queried"):
        check({"a"}, set())


def test_a_result_is_accepted_if_all_segments_are_queried_or_deleted() -> None:
    check({"a", "b", "new"}, {"a", "b", "new"})
    check({"a"}, {"a"})


def test_a_result_of_fewer_segments_than_the_broker_shows_is_refused() -> None:
    """The routing that it shows is that of another query: a new segment may be in one and not in the next."""
    with pytest.raises(PartialResultError, match="queried 1 of 2 segments of t_REALTIME"):
        check({"a", "b"}, {"a", "b"}, covered=1)
    check({"a", "b"}, {"a", "b"}, covered=2)
    check({"a", "b"}, {"a"}, covered=1)  # the other was deleted meanwhile


@pytest.mark.parametrize(
    ("sql", "options", "is_counted"),
    [
        ("select count(*) from t where a > 1", {}, True),
        ("select count(*) from t", {"useMultistageEngine": "false"}, True),
        ("select 'from t join t' from t", {}, True),
        ("select count(*) from t", {"useMultistageEngine": "true"}, False),
        ("select count(*) from t", {"tableSampler": "small"}, False),
        ("select count(*) from t a join t b on a.x = b.x", {}, False),
        ("select count(*) from t where in_subquery(a, 'select idset(a) from t') = 1", {}, False),
        ("explain plan for select count(*) from t", {}, False),
    ],
)
def test_segments_are_counted_for_queries_that_read_one_table_once(
    sql: str, options: dict[str, str], is_counted: bool
) -> None:
    assert reads_one_table(SqlText.of(sql), options) == is_counted
