"""What the lineage doctor finds, and what it would and would not do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from controller_client.publishing.doctor import Diagnosis, Finding, Repair, diagnose
from controller_client.rest.lineage_entry import LineageEntry, LineageState, parse_lineage
from controller_client.rest.segment_states import Unloaded

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
    assert find(entries, "a b") == [(Finding.STUCK, "1", Repair(revert=True, delete=("b",)))]
    assert find(entries, "a b", older_than_s=3601) == []


def test_a_stuck_entry_whose_new_segments_another_one_replaces_needs_a_decision() -> None:
    entries = [entry("1", "IN_PROGRESS", "a", "b"), entry("2", "COMPLETED", "b", "c")]
    assert find(entries, "a b c") == [(Finding.STUCK, "1", None)]


def test_leftovers_of_a_reverted_entry() -> None:
    assert find([entry("1", "REVERTED", "a", "b c")], "a c") == [
        (Finding.LEFTOVERS, "1", Repair(revert=False, delete=("c",)))
    ]


def test_leftovers_that_a_later_run_took_again_are_not_deleted() -> None:
    entries = [entry("1", "REVERTED", "a", "b c"), entry("2", "IN_PROGRESS", "a", "b", age_s=5)]
    assert find(entries, "a b c") == [(Finding.LEFTOVERS, "1", Repair(revert=False, delete=("c",)))]
    assert find(entries, "a b") == []


def test_two_live_entries_for_the_same_old_segment() -> None:
    entries = [entry("1", "COMPLETED", "a", "b", 90), entry("2", "IN_PROGRESS", "a", "c", 60)]
    assert find(entries, "a b c") == [(Finding.OVERLAP, "2", Repair(revert=True, delete=("c",)))]
    both = [entry("1", "COMPLETED", "a", "b", 90), entry("2", "COMPLETED", "a", "c", 60)]
    assert find(both, "a b c") == [(Finding.OVERLAP, "2", None)]


def test_two_live_entries_with_the_same_new_segment_need_a_decision() -> None:
    entries = [entry("1", "COMPLETED", "a", "b", 90), entry("2", "IN_PROGRESS", "x", "b", 60)]
    assert find(entries, "a b x") == [(Finding.OVERLAP, "2", None)]


def test_a_hole_in_a_completed_entry() -> None:
    assert find([entry("1", "COMPLETED", "a", "b c")], "b") == [(Finding.LOST_SEGMENTS, "1", None)]
    # All of them: the retention or somebody deleted the data.
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
    assert (found.finding, found.entry.entry_id) == (Finding.NOT_LOADED, "1")
    assert found.explanation == (
        "3 of 3 new segments do not load: b ERROR on S1 (should be ONLINE): java.io.EOFException;"
        " c OFFLINE on S1 (should be ONLINE); c absent on S2 (should be ONLINE); d is not in the ideal state"
    )
    assert found.repair == Repair(load=("b", "c"))
    # Only its writer can push a segment again.
    (found,) = find_with(unloaded[3:])
    assert found.repair is None
    assert "let its writer run again" in found.advice
    # An entry that is stuck is to go, whatever it holds.
    assert [found.finding for found in find_with(unloaded, 0)] == [Finding.STUCK]
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
def test_a_repair_never_touches_what_another_live_entry_needs(
    entries: list[LineageEntry], segments: set[str]
) -> None:
    for diagnosis in diagnose(entries, segments, now_ms=NOW_MS, older_than_s=0):
        if diagnosis.repair is None:
            continue
        deleted = set(diagnosis.repair.delete)
        assert deleted <= segments
        assert deleted <= set(diagnosis.entry.segments_to)
        for other in entries:
            if other.live and other.entry_id != diagnosis.entry.entry_id:
                assert not deleted & set(other.segments_to)
                if diagnosis.repair.revert:
                    # Pinot itself deletes segmentsTo when it reverts.
                    assert not set(diagnosis.entry.segments_to) & set(other.segments_to)


@given(ENTRIES, st.sets(st.sampled_from("abcdef")))
def test_a_diagnosis_has_words(entries: list[LineageEntry], segments: set[str]) -> None:
    for diagnosis in diagnose(entries, segments, now_ms=NOW_MS, older_than_s=0):
        assert diagnosis.explanation
        assert diagnosis.advice
        assert diagnosis.age_s >= 0


def test_the_lineage_of_0_11_is_read_oldest_first() -> None:
    document = {
        "tableNameWithType": "t_OFFLINE",
        "lineageEntries": {
            "b": {"segmentsFrom": [], "segmentsTo": ["y"], "state": "IN_PROGRESS", "timestamp": 20},
            "a": {"segmentsFrom": ["x"], "segmentsTo": ["z"], "state": "COMPLETED", "timestamp": 10},
        },
    }
    assert [made.entry_id for made in parse_lineage(document)] == ["a", "b"]
    assert parse_lineage(None) == []
