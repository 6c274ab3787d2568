"""A result counts only if the broker queries all segments that it must cover."""

from __future__ import annotations

import pytest

from controller_client.common.names import TableName
from controller_client.errors import PartialResultError
from controller_client.upsert.versioned_query import check_whole

TABLE, OTHER = TableName("t_REALTIME"), TableName("o_REALTIME")


def check(routed: set[str], wanted: set[str]) -> None:
    needed = {OTHER: frozenset({"o"}), TABLE: frozenset({"a", "b"})}
    check_whole(
        needed,
        lambda table: routed if table == TABLE else {"o"},
        lambda _table: wanted,
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
