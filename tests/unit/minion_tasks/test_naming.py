from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from minion_tasks.file_ingestion.session.naming import SegmentNames

SESSION = "20130101T000000000-abc123"


def test_a_name_contains_table_session_number_and_part() -> None:
    names = SegmentNames()
    assert names.of_session("flights", SESSION, 7) == f"flights_{SESSION}_000007"
    assert names.of_session("flights", SESSION, 7, 2) == f"flights_{SESSION}_000007_2"


def test_the_prefix_replaces_the_table_name_and_the_postfix_is_appended() -> None:
    names = SegmentNames("pre", "post")
    assert names.of_session("flights", SESSION, 7, 2) == f"pre_{SESSION}_000007_2_post"


numbers = st.integers(0, 10**7)
parts = st.integers(0, 50)


@given(st.sampled_from([SegmentNames(), SegmentNames("a_1", "1")]), numbers, parts, numbers, parts)
def test_segment_names_of_a_session_are_unique(
    names: SegmentNames, number: int, part: int, other_number: int, other_part: int
) -> None:
    one = names.of_session("t", SESSION, number, part)
    other = names.of_session("t", SESSION, other_number, other_part)
    assert (one == other) == ((number, part) == (other_number, other_part))
