"""Emptied sources and patterns that exclude everything; without Pinot, see ``session_world``."""

from __future__ import annotations

import pytest

from controller_client.errors import SourceError
from minion_tasks.file_ingestion.run.types import RunOutcome
from minion_tasks.file_ingestion.session.model import SessionState
from tests.unit.minion_tasks.happenings import SOURCE, Content
from tests.unit.minion_tasks.life import APPEND, FIT_1, SWAP, SYNC, Life
from tests.unit.minion_tasks.session_world import World

IN_PLACE = {"enableSync": "true"}


@pytest.mark.parametrize("configs", [SYNC, SWAP], ids=["sync", "swap"])
def test_an_emptied_source_empties_the_table_if_allowed(world: World, configs: dict[str, str]) -> None:
    life = Life(world, {**configs, "allowEmptySource": "true"})
    life.write("F1", "F2")
    life.trigger()
    life.delete("F1")
    life.delete("F2")
    report = life.trigger()
    assert (life.read, life.seen, report.segments) == ([], {}, 1)
    assert life.trigger().outcome is RunOutcome.NOTHING_NEW
    life.write("F3")
    life.trigger()
    assert life.seen == world.source
    assert len(world.table) == 1, "what stood for nothing is not needed any more"


@pytest.mark.parametrize("configs", [SYNC, SWAP, IN_PLACE], ids=["sync", "swap", "in place"])
def test_an_emptied_source_is_rejected(world: World, configs: dict[str, str]) -> None:
    life = Life(world, configs)
    assert life.trigger().outcome is RunOutcome.NOTHING_NEW, "a table without rows loses nothing"
    life.write("F1", "F2")
    life.trigger()
    before = life.seen
    for name in ("F1", "F2"):
        life.delete(name)
    refused = life.fails()
    assert isinstance(refused, SourceError)
    assert "no files in file:///in; ingesting it would remove all " in str(refused)
    assert "allowEmptySource" in str(refused)
    assert (life.seen, life.read, life.session.state) == (before, [], SessionState.DONE)


@pytest.mark.parametrize("configs", [SYNC, SWAP, IN_PLACE], ids=["sync", "swap", "in place"])
def test_patterns_that_exclude_all_files_are_rejected_with_examples(
    world: World, configs: dict[str, str]
) -> None:
    life = Life(world, configs)
    life.write(*FIT_1)
    message = "the patterns exclude all 5"
    assert message in str(life.fails(includeFileNamePattern="glob:**/*.csv")), (
        "also into a table without rows"
    )
    assert life.trigger(excludeFileNamePattern="glob:**/F1").by_patterns.files == 1
    before = life.seen
    for pattern in ({"includeFileNamePattern": "glob:**/*.csv"}, {"excludeFileNamePattern": "glob:**"}):
        refused = life.fails(None, **pattern)
        assert isinstance(refused, SourceError)
        for text in (
            message,
            "would remove all",
            *pattern.values(),
            "/in/F1, /in/F2, /in/F3",
            "allowEmptySource",
        ):
            assert text in str(refused)
        assert (life.seen, life.read) == (before, [])
    emptied = life.trigger(includeFileNamePattern="glob:**/*.csv", allowEmptySource="true")
    assert (life.seen, emptied.by_patterns.files) == ({}, 5)
    assert [file.uri for file in emptied.by_patterns.first] == [f"{SOURCE}/F{n}" for n in (1, 2, 3)]


@pytest.mark.parametrize(
    "configs", [APPEND, SYNC, SWAP, IN_PLACE], ids=["append", "sync", "swap", "in place"]
)
def test_files_that_are_not_data_are_counted_but_not_read(world: World, configs: dict[str, str]) -> None:
    life = Life(world, configs)
    life.write("F1", "_SUCCESS", ".F1.crc")
    report = life.trigger()
    assert (life.read, list(life.seen)) == (["F1"], ["F1"])
    assert (report.hidden.files, report.by_patterns.files) == (2, 0)
    assert report.hidden.examples == "/in/.F1.crc, /in/_SUCCESS"
    again = life.trigger()
    assert (again.outcome, again.hidden.files) == (RunOutcome.NOTHING_NEW, 2)


@pytest.mark.parametrize("configs", [SYNC, SWAP, IN_PLACE], ids=["sync", "swap", "in place"])
def test_a_source_with_hidden_files_only_has_no_data(world: World, configs: dict[str, str]) -> None:
    life = Life(world, configs)
    life.write("_SUCCESS")
    assert life.trigger().outcome is RunOutcome.NOTHING_NEW, "a table without rows loses nothing"
    life.write("F1")
    life.trigger()
    life.delete("F1")
    refused = life.fails()
    assert isinstance(refused, SourceError)
    for text in (
        "no data in file:///in: it has only 1 hidden file;",
        "hidden: /in/_SUCCESS",
        "allowEmptySource",
    ):
        assert text in str(refused)
    life.write("F2")
    refused = life.fails(includeFileNamePattern="glob:**/*[S3]")
    assert "the patterns exclude all 2 except 1 hidden file;" in str(refused)
    assert list(life.seen) == ["F1"]
    life.trigger(includeFileNamePattern="glob:**/_SUCC*")
    assert list(life.seen) == ["_SUCCESS"], "its name is spelled out"


def test_an_open_session_is_kept_while_its_source_is_rejected(world: World) -> None:
    life = Life(world, SYNC)
    life.write("F1")
    life.trigger()
    life.write("F1", "F2")
    life.corrupt("F2")
    life.fails()
    for pattern in ("glob:**/*.csv", "glob:**/*.json"):
        assert isinstance(life.fails(includeFileNamePattern=pattern), SourceError)
    assert (life.session.is_open, life.session.retry_count) == (True, 0)
    life.corrupt()
    life.trigger()
    assert life.seen == world.source


def test_an_append_source_without_matches_is_an_error_that_uses_no_retry(world: World) -> None:
    life = Life(world, APPEND)
    assert isinstance(life.fails(), SourceError)
    life.write("F1")
    life.corrupt("F1")
    life.fails()
    life.delete("F1")
    assert isinstance(life.fails(), SourceError)
    assert (life.session.is_open, life.session.retry_count) == (True, 0)


def test_a_swap_replaces_foreign_segments(world: World) -> None:
    life = Life(world, SWAP)
    life.write("F1")
    life.trigger()
    world.table["theirs"] = Content({}, ())
    life.trigger()
    assert life.read == ["F1"]
    assert "theirs" not in world.table
    assert life.trigger().outcome is RunOutcome.NOTHING_NEW


def test_a_swap_retry_loses_no_file_if_the_source_matches_the_table_again(world: World) -> None:
    life = Life(world, SWAP)
    life.write("F1", "F2")
    life.trigger()
    moved_away = life.delete("F2")
    life.corrupt("F1")
    life.fails()
    life.corrupt()
    world.source["F2"] = moved_away
    life.trigger()
    assert life.seen == world.source


def test_sync_reads_files_that_share_a_segment_again_even_if_restored(world: World) -> None:
    together = {"desiredSegmentSize": "1K", "maxNumRecordsPerSegment": "10"}
    before = Life(world, {**APPEND, **together})
    before.write("F1", "F2")
    before.trigger()
    assert len(world.table) == 1
    life = Life(world, SYNC)
    old = dict(world.source)
    life.write("F1")
    life.corrupt("F2")
    life.fails()
    assert life.read == ["F1", "F2"]
    # F2 is dropped from the session. When it is restored, neither F1 nor F2 differs from the table.
    life.delete("F2")
    life.write("F3")
    life.corrupt("F3")
    life.fails()
    life.corrupt()
    world.source |= old
    life.delete("F3")
    life.trigger()
    life.trigger()
    assert life.seen == world.source


@pytest.mark.parametrize("configs", [SYNC, SWAP], ids=["sync", "swap"])
def test_deleted_files_are_removed_even_if_all_others_are_skipped(
    world: World, configs: dict[str, str]
) -> None:
    life = Life(world, {**configs, "skipFileIfFailToInitReader": "true"})
    life.write("F1")
    life.trigger()
    life.delete("F1")
    life.write("F2")
    world.faults = {"F2": "no header"}
    report = life.trigger()
    assert (life.seen, report.skipped, report.segments) == ({}, (f"{SOURCE}/F2",), 1)
    world.faults = {}
    life.trigger()
    assert life.seen == world.source
