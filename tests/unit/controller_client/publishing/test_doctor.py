"""The findings of the lineage doctor, and its repairs."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.publishing.doctor import Diagnosis, LineageFinding, Repair, diagnose
from controller_client.rest.lineage_entry import LineageEntry, LineageState, parse_lineage
from controller_client.rest.segment_states import Unloaded
from tests.unit.counted_name import CountedName, cost

NOW_MS = 10_000_000


def entry(entry_id: str, state: str, old: str = "", new: str = "", age_s: float = 7200) -> LineageEntry:
    return LineageEntry(
        entry_id, LineageState(state), tuple(old.split()), tuple(new.split()), NOW_MS - int(age_s * 1000)
    )


def find(
    entries: list[LineageEntry], segments: str, older_than_s: float = 3600
) -> list[tuple[str, str, Repair | None]]:
    found = diagnose(entries, segments.split(), now_ms=NOW_MS, older_than_s=older_than_s)
    return [(diagnosis.finding, diagnosis.entry.entry_id, diagnosis.repair) for diagnosis in found]


def test_a_healthy_lineage() -> None:
    entries = [
        entry("1", "COMPLETED", "a", "b"),
        entry("2", "COMPLETED", "b", "c d"),
        entry("3", "REVERTED", "c", "e"),
        entry("4", "IN_PROGRESS", "c", "f", age_s=10),
    ]
    assert find(entries, "a b c d f") == []


def test_an_entry_in_progress_is_stuck_from_the_given_age_on() -> None:
    entries = [entry("1", "IN_PROGRESS", "a", "b c", age_s=3600)]
    assert find(entries, "a b") == [(LineageFinding.STUCK, "1", Repair(revert=True, delete=("b",)))]
    assert find(entries, "a b", older_than_s=3601) == []


def test_a_stuck_entry_whose_new_segments_another_one_replaces_needs_a_decision() -> None:
    entries = [entry("1", "IN_PROGRESS", "a", "b"), entry("2", "COMPLETED", "b", "c")]
    assert find(entries, "a b c") == [(LineageFinding.STUCK, "1", None)]


def test_an_entry_in_progress_whose_old_segments_were_deleted() -> None:
    entries = [entry("1", "IN_PROGRESS", "a b", "c", age_s=10)]
    assert find(entries, "b c") == [(LineageFinding.LOST_SOURCES, "1", None)]
    assert find(entries, "b") == [(LineageFinding.LOST_SOURCES, "1", None)]
    # Of a completed entry, they are deleted as a matter of course.
    assert find([entry("1", "COMPLETED", "a b", "c")], "b c") == []


def test_leftovers_of_a_reverted_entry() -> None:
    assert find([entry("1", "REVERTED", "a", "b c")], "a c") == [
        (LineageFinding.LEFTOVERS, "1", Repair(revert=False, delete=("c",)))
    ]


def test_leftovers_reused_by_a_later_run_are_not_deleted() -> None:
    entries = [entry("1", "REVERTED", "a", "b c"), entry("2", "IN_PROGRESS", "a", "b", age_s=5)]
    assert find(entries, "a b c") == [(LineageFinding.LEFTOVERS, "1", Repair(revert=False, delete=("c",)))]
    assert find(entries, "a b") == []


def test_two_live_entries_for_the_same_old_segment() -> None:
    entries = [entry("1", "COMPLETED", "a", "b", 90), entry("2", "IN_PROGRESS", "a", "c", 60)]
    assert find(entries, "a b c") == [(LineageFinding.OVERLAP, "2", Repair(revert=True, delete=("c",)))]
    both = [entry("1", "COMPLETED", "a", "b", 90), entry("2", "COMPLETED", "a", "c", 60)]
    assert find(both, "a b c") == [(LineageFinding.OVERLAP, "2", None)]


def test_two_live_entries_with_the_same_new_segment_need_a_decision() -> None:
    entries = [entry("1", "COMPLETED", "a", "b", 90), entry("2", "IN_PROGRESS", "x", "b", 60)]
    assert find(entries, "a b x") == [(LineageFinding.OVERLAP, "2", None)]


def test_a_hole_in_a_completed_entry() -> None:
    assert find([entry("1", "COMPLETED", "a", "b c")], "b") == [(LineageFinding.LOST_SEGMENTS, "1", None)]
    # All of them: retention or a user deleted the data.
    assert find([entry("1", "COMPLETED", "a", "b c")], "") == []
    # Replaced and purged.
    assert find([entry("1", "COMPLETED", "a", "b c"), entry("2", "COMPLETED", "b", "d")], "c d") == []


def test_segments_of_an_open_entry_that_do_not_load() -> None:
    entries = [entry("1", "IN_PROGRESS", "a", "b c d", age_s=10), entry("2", "COMPLETED", "", "a")]
    unloaded = [
        Unloaded("b", "S1", "ONLINE", "ERROR"),
        Unloaded("c", "S1", "ONLINE", "OFFLINE"),
        Unloaded("c", "S2", "ONLINE"),
        Unloaded("d"),
    ]
    reasons = {("b", "S1"): "java.io.EOFException"}

    def find_with(unloaded: list[Unloaded], older_than_s: float = 3600) -> list[Diagnosis]:
        return diagnose(
            entries, "abcd", now_ms=NOW_MS, older_than_s=older_than_s, unloaded=unloaded, reasons=reasons
        )

    (found,) = find_with(unloaded)
    assert (found.finding, found.entry.entry_id) == (LineageFinding.NOT_LOADED, "1")
    assert found.explanation == (
        "3 of 3 new segments do not load: b ERROR on S1 (should be ONLINE): java.io.EOFException;"
        " c OFFLINE on S1 (should be ONLINE); c absent on S2 (should be ONLINE); d is not in the ideal state"
    )
    assert found.repair == Repair(load=("b", "c"))
    # Only its writer can push a segment again.
    (found,) = find_with(unloaded[3:])
    assert found.repair is None
    assert "run its writer again" in found.advice
    # A stuck entry must be reverted, whatever it contains.
    assert [found.finding for found in find_with(unloaded, 0)] == [LineageFinding.STUCK]
    assert find_with([Unloaded("a", "S1", "ONLINE", "ERROR")]) == []


NAMES = st.lists(st.sampled_from("abcdef"), max_size=3, unique=True).map(tuple)
ENTRIES = st.lists(
    st.builds(
        LineageEntry, st.uuids().map(str), st.sampled_from(LineageState), NAMES, NAMES, st.integers(0, NOW_MS)
    ),
    max_size=5,
    unique_by=lambda made: made.entry_id,
)


@given(ENTRIES, st.sets(st.sampled_from("abcdef")))
def test_a_diagnosis_has_texts_and_a_repair_never_touches_what_another_live_entry_needs(
    entries: list[LineageEntry], segments: set[str]
) -> None:
    for diagnosis in diagnose(entries, segments, now_ms=NOW_MS, older_than_s=0):
        assert diagnosis.explanation
        assert diagnosis.advice
        assert diagnosis.age_s >= 0
        if diagnosis.repair is None:
            continue
        deleted = set(diagnosis.repair.delete)
        assert deleted <= segments
        assert deleted <= set(diagnosis.entry.segments_to)
        for other in entries:
            if other.live and other.entry_id != diagnosis.entry.entry_id:
                assert not deleted & set(other.segments_to)
                if diagnosis.repair.revert:
                    # Pinot itself deletes segmentsTo on a revert.
                    assert not set(diagnosis.entry.segments_to) & set(other.segments_to)


def test_the_lineage_of_0_11_is_parsed_oldest_first() -> None:
    document = {
        "tableNameWithType": "t_OFFLINE",
        "lineageEntries": {
            "b": {"segmentsFrom": [], "segmentsTo": ["y"], "state": "IN_PROGRESS", "timestamp": 20},
            "a": {"segmentsFrom": ["x"], "segmentsTo": ["z"], "state": "COMPLETED", "timestamp": 10},
        },
    }
    assert [made.entry_id for made in parse_lineage(document)] == ["a", "b"]
    assert parse_lineage({"lineageEntries": None}) == []


def _cost(entries: int, names: int) -> int:
    """Return the cost of diagnosing a table in which each entry replaces the segments of the previous one."""
    rounds = [tuple(CountedName(f"s_{at}_{name}") for name in range(names)) for at in range(entries + 1)]
    lineage = [
        LineageEntry(
            str(at), LineageState.IN_PROGRESS if at % 3 else LineageState.COMPLETED, old, new, NOW_MS + at
        )
        for at, (old, new) in enumerate(itertools.pairwise(rounds))
    ]
    unloaded = [Unloaded(name, "Server_1", "ONLINE", "ERROR") for name in rounds[-1]]
    return cost(lambda: diagnose(lineage, rounds[-1], now_ms=NOW_MS, older_than_s=0, unloaded=unloaded))


@pytest.mark.parametrize(("entries", "names", "factors"), [(20, 4, (4, 1)), (2, 2_500, (1, 4))])
def test_four_times_the_entries_or_names_cost_four_times_as_much(
    entries: int, names: int, factors: tuple[int, int]
) -> None:
    assert _cost(entries * factors[0], names * factors[1]) <= 4.5 * _cost(entries, names)


_LETTERS = st.sampled_from("abcdef")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(list(LineageState)), st.sets(_LETTERS), st.sets(_LETTERS), st.integers(0, 3)
        ),
        max_size=6,
    ),
    st.sets(_LETTERS),
)
def test_the_holders_of_a_segment_are_those_found_by_comparing_all_entries(
    rows: list[tuple[LineageState, set[str], set[str], int]], segments: set[str]
) -> None:
    entries = [
        LineageEntry(str(number), state, tuple(old), tuple(new - old), NOW_MS - 10_000 * age)
        for number, (state, old, new, age) in enumerate(rows)
    ]
    found = diagnose(entries, segments, now_ms=NOW_MS, older_than_s=1)
    overlapping = {each.entry.entry_id for each in found if each.finding is LineageFinding.OVERLAP}
    deleted = {name for each in found if each.repair for name in each.repair.delete}
    for entry in entries:
        older = [
            other
            for other in entries
            if other.live
            and (other.timestamp_ms, other.entry_id) < (entry.timestamp_ms, entry.entry_id)
            and (
                set(other.segments_from) & set(entry.segments_from)
                or set(other.segments_to) & set(entry.segments_to)
            )
        ]
        assert (entry.entry_id in overlapping) == (entry.live and bool(older))
        if entry.state is LineageState.COMPLETED:
            assert deleted.isdisjoint({*entry.segments_from, *entry.segments_to})


def test_a_server_that_lacks_segments_of_a_completed_entry_is_behind_until_it_has_them() -> None:
    entries = [entry("1", "COMPLETED", "a", "b c"), entry("2", "COMPLETED", "b", "d")]
    lacking = [Unloaded(name, "Server_1", "ONLINE") for name in "bcd"]

    def find_with(unloaded: list[Unloaded]) -> list[Diagnosis]:
        return diagnose(entries, "bcd", now_ms=NOW_MS, older_than_s=3600, unloaded=unloaded)

    found = find_with(lacking)
    # Segments replaced by a later entry no longer matter.
    assert [(each.finding, each.entry.entry_id, each.repair) for each in found] == [
        (LineageFinding.BEHIND, "1", None),
        (LineageFinding.BEHIND, "2", None),
    ]
    assert found[0].explanation == (
        "completed, but Server_1 lacks 1 of 2 new segments: c absent on Server_1 (should be ONLINE)"
    )
    assert [each.entry.entry_id for each in find_with(lacking[2:])] == ["2"]
    assert find_with([]) == []
    assert find_with([Unloaded("d")]) == [], "deleted since it was listed"
