"""``pinotctl task session``, ``plan`` and ``purge``: what they show and delete for a real session."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from controller_client.filestore import FileInfo
from controller_client.publishing.staged_segment import StagedSegment
from controller_client.rest.capabilities import Capability
from controller_client.rest.lineage import LineageState
from controller_client.zookeeper import PropertyStore, TableLock
from minion_tasks.file_ingestion.params.table_params import TASK_TYPE
from minion_tasks.file_ingestion.session.model import (
    FileEntry,
    FileGroup,
    FileStatus,
    SessionState,
    StagedBuild,
)
from minion_tasks.file_ingestion.session.store import SessionStore, sessions_path
from tests.integration.file_ingestion.ingestion import IngestionTable, Pinotctl, write_numbers
from tests.integration.file_ingestion.secrecy import SECRETS
from tests.support.needs import has
from tests.support.tiers import FULL

pytestmark = pytest.mark.cluster

BY_HAND = "99991231T235959999-abcdef"


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.fixture
def failed(ingestion_table: IngestionTable, shared_folder: Path, tmp_path: Path) -> IngestionTable:
    """Three files are staged, one is not; two retries are left."""
    for n in range(3):
        write_numbers(shared_folder, f"{n}.csv", n * 10, 10)
    (shared_folder / "bad.csv").write_text("id,word,amount\n1,a,1.5\nnot-a-number,b,2.5\n", encoding="utf-8")
    table = ingestion_table.create().register(
        shared_folder,
        "csv",
        outputDirURI=f"file://{tmp_path / 'staging'}",
        taskMaxNumFilesPerTask="1",
        consistentPushMaxRetries="2",
        **SECRETS,
    )
    assert table.run().code == 1
    return table


def test_a_failed_session_from_its_first_run_to_its_last(
    pinotctl: Pinotctl, failed: IngestionTable, shared_folder: Path, tmp_path: Path
) -> None:
    name = failed.name
    sizes = [path.stat().st_size for path in shared_folder.iterdir()]
    shown = pinotctl.json("session", "show", name)
    assert (shown["state"], shown["retry_count"], shown["mode"], shown["abandoned"]) == (
        "IN_PROGRESS",
        0,
        "append",
        False,
    )
    assert shown["files"] == {"all": 4, "pending": 0, "staged": 3, "failed": 1, "skipped": 0}
    assert (shown["rows"], shown["segments"], shown["source_bytes"]) == (30, 3, sum(sizes))
    tars = [path for path in files_below(tmp_path / "staging") if not path.name.endswith(".metadata.tar.gz")]
    assert shown["staged_tar_bytes"] == sum(tar.stat().st_size for tar in tars)
    assert shown["replaces"] == {"segments": None, "first": []}
    assert shown["running"] is None
    assert shown["next_trigger"] == "reads 1 file that is not staged, and files added since (retry 1 of 2)"
    (error,) = shown["errors"]
    assert error["file"].endswith("/bad.csv")
    assert "not-a-number" in error["error"]
    as_table = pinotctl("session", "show", name)
    assert "4: 3 staged, 1 failed" in as_table.out
    assert "not-a-number" in as_table.out
    assert pinotctl.json("session", "show", name, "--errors", "0")["errors"] == []
    assert "history" in pinotctl("session", "show", name, "--session", "no-such", code=1).err

    (shared_folder / "0.csv").unlink()
    write_numbers(shared_folder, "1.csv", 100, 10)
    write_numbers(shared_folder, "new.csv", 200, 10)
    planned = pinotctl.json("plan", name, "--files", "10")
    assert planned["session"] == shown["session"]
    assert planned["session_files"] == {
        "kept": 1,
        "kept_rewritten": 1,
        "to_read": 1,
        "dropped": 1,
        "joining": 1,
    }
    assert (planned["files_to_read"], planned["subtasks"], planned["replaced_segments"]) == (2, 2, 0)
    assert planned["next_trigger"] == shown["next_trigger"]
    names = {what: [uri.rpartition("/")[2] for uri in uris] for what, uris in planned["lists"].items()}
    assert names["to_read"] == ["bad.csv", "new.csv"]
    assert names["session_dropped"] == ["0.csv"]
    assert names["session_kept_rewritten"] == ["1.csv"]
    assert "1 kept, 1 kept rewritten, 1 to read, 1 dropped, 1 joining" in pinotctl("plan", name).out
    assert pinotctl.json("session", "show", name) == shown, "a plan changes nothing"

    page = tmp_path / "session.html"
    pinotctl("session", "report", name, "--file", str(page))
    text = page.read_text(encoding="utf-8")
    assert "canary" not in text
    for words in ("bad.csv", "not-a-number", shown["session"], "3 staged", "retry 1 of 2"):
        assert words in text, words
    assert pinotctl("session", "report", name).out.startswith("<!doctype html>")

    write_numbers(shared_folder, "bad.csv", 300, 10)
    before = failed.tasks().keys()
    ran = failed.run().report
    (task,) = failed.tasks().keys() - before
    assert failed.tasks()[task] == "COMPLETED"
    assert list(failed.client.tasks.subtask_states(task).values()) == ["COMPLETED"] * planned["subtasks"]
    assert (ran["outcome"], ran["mode"], ran["retry_count"], ran["files"]) == ("switched", "append", 1, 4)
    assert (ran["rows"], ran["replaced_segments"], ran["skipped_files"]) == (40, 0, 0)
    after = pinotctl.json("session", "show", name)
    assert (after["session"], after["state"], after["retry_count"]) == (shown["session"], "DONE", 1)
    assert after["next_trigger"] == "compares the source with the table"
    assert after["replaces"] == {"segments": 0, "first": []}
    planned = pinotctl.json("plan", name)
    assert planned["source"] == _source(files=4, changed=1, unchanged=3)
    assert (planned["files_to_read"], planned["subtasks"], planned["session"]) == (0, 0, None)

    write_numbers(shared_folder, "later.csv", 400, 10)
    planned = pinotctl.json("plan", name)
    assert (planned["files_to_read"], planned["subtasks"]) == (1, 1)
    later = failed.run()
    assert later.report["files"] == 1
    assert "changed since it was ingested; not read again: " in later.err
    assert ("1.csv" in later.err, "bad.csv" in later.err) == (True, False)
    rows = pinotctl.json("session", "history", name)
    assert [(row["state"], row["retries"], row["files"], row["rows"]) for row in rows] == [
        ("DONE", 0, 1, 10),
        ("DONE", 1, 4, 40),
    ]
    assert rows[1]["session"] == shown["session"]


def test_the_next_trigger_starts_over_after_clearing(
    pinotctl: Pinotctl, store: PropertyStore, failed: IngestionTable, shared_folder: Path, tmp_path: Path
) -> None:
    name, staging = failed.name, tmp_path / "staging"
    assert files_below(staging) != []
    before = pinotctl.json("session", "show", name)
    (would,) = pinotctl.json("session", "clear", name, "--dry-run")
    assert (would["session"], would["effect"]) == (before["session"], "its staged segments are deleted")
    pinotctl("session", "clear", name, stdin="n\n", code=1)
    with TableLock(store, failed.with_type, TASK_TYPE, "a test") as lock:
        lock.acquire(10)
        refused = pinotctl("session", "clear", name, "--yes", "--wait-lock", "0", code=1)
        assert "a test" in refused.err
        running = pinotctl.json("session", "show", name)
        assert "a test" in running["running"]
        assert running["next_trigger"].startswith(
            "waits for the current run to end; if that run were killed now: "
        )
    assert pinotctl.json("session", "show", name) == before
    assert pinotctl.json("session", "clear", name, "--yes") == [would]
    assert files_below(staging) == []
    assert pinotctl.json("session", "history", name) == []
    assert pinotctl.json("session", "clear", name, "--yes") == []
    assert "pinotctl task run" in pinotctl("session", "show", name, code=1).err
    write_numbers(shared_folder, "bad.csv", 300, 10)
    ran = failed.run().report
    assert (ran["files"], ran["retry_count"], ran["rows"]) == (4, 0, 40)


def test_clearing_reverts_a_switch_in_progress(
    pinotctl: Pinotctl, store: PropertyStore, failed: IngestionTable, shared_folder: Path, tmp_path: Path
) -> None:
    name, now_ms = failed.name, int(time.time() * 1000)
    sessions = SessionStore(store, failed.with_type)
    staging_uri = f"file://{tmp_path / 'staging' / 'by-hand'}"
    segment = StagedSegment(f"{name}_{BY_HAND}_000000", f"{staging_uri}/x", 1, 10, 5, 9, 0.1, "arrow")
    entry = FileEntry(0, FileInfo(f"file://{shared_folder}/0.csv", 1, 1), FileStatus.STAGED, None, now_ms)
    # Its id sorts last, like that of a newer session.
    session = replace(sessions.load(sessions.ids()[-1]), session_id=BY_HAND, state=SessionState.SWITCH)
    session = replace(session, files=1, total_bytes=1, groups=1, numbers=1, staging_uri=staging_uri)
    sessions.create(session)
    sessions.create_group(session.session_id, FileGroup(0, (entry,), (StagedBuild((0,), (segment,)),)))
    shown = pinotctl.json("session", "show", name)
    assert (shown["session"], shown["state"]) == (BY_HAND, "SWITCH")
    assert shown["next_trigger"] == "finishes the switch; no file is read again"
    planned = pinotctl.json("plan", name)
    assert (planned["next_trigger"], planned["files_to_read"]) == (shown["next_trigger"], 0)
    assert planned["session_files"] == {"kept": 1}
    effects = [row["effect"] for row in pinotctl.json("session", "clear", name, "--dry-run")]
    assert effects[1].startswith("its switch has not started")

    entry_id = failed.client.lineage.start(failed.with_type, [], [segment.name])
    cleared = pinotctl.json("session", "clear", name, "--yes")
    assert cleared[1]["effect"].startswith("its switch is reverted")
    states = {each.entry_id: each.state for each in failed.client.lineage.list(failed.with_type)}
    assert states[entry_id] is LineageState.REVERTED
    sessions.create(session)
    sessions.create_group(session.session_id, FileGroup(0, (entry,), (StagedBuild((0,), (segment,)),)))
    shown = pinotctl.json("session", "show", name)
    assert shown["next_trigger"] == "starts over: the lineage entry of its switch was reverted"

    # The same if its record is damaged: the lineage shows how far it was.
    path = f"{sessions_path(failed.with_type)}/{BY_HAND}"
    zookeeper_path = f"/{store.cluster_name}/PROPERTYSTORE{path}"
    store.connection.set(zookeeper_path, b"\x1f\x8b half a rec", 0)
    entry_id = failed.client.lineage.start(failed.with_type, [], [f"{name}_{BY_HAND}_000001"])
    shown = pinotctl.json("session", "show", name)
    assert (shown["session"], shown["state"], shown["znode"]) == (BY_HAND, "damaged", path)
    expected = shown["next_trigger"]
    assert expected.startswith(f"starts over: the record of session {BY_HAND} is damaged")
    assert pinotctl.json("plan", name)["next_trigger"] == expected
    assert [row["state"] for row in pinotctl.json("session", "history", name)] == ["damaged"]
    (cleared,) = pinotctl.json("session", "clear", name, "--yes")
    assert (cleared["state"], cleared["effect"].partition(",")[0]) == ("damaged", "its switch is reverted")
    states = {each.entry_id: each.state for each in failed.client.lineage.list(failed.with_type)}
    assert states[entry_id] is LineageState.REVERTED
    assert sessions.ids() == []


@FULL
def test_exhausted_retries_and_changed_parameters_are_reported(
    pinotctl: Pinotctl, failed: IngestionTable, shared_folder: Path
) -> None:
    name = failed.name

    def next_trigger() -> str:
        shown: str = pinotctl.json("session", "show", name)["next_trigger"]
        assert pinotctl.json("plan", name)["next_trigger"] == shown
        return shown

    assert failed.run().code == 1
    assert next_trigger() == "reads 1 file that is not staged, and files added since (retry 2 of 2)"
    configs = dict(failed.configs)
    configs["consistentPushMaxRetries"] = "1"
    failed.client.tables.set_task_config(failed.with_type, TASK_TYPE, configs)
    assert next_trigger() == "starts over: its retries are exhausted"
    planned = pinotctl.json("plan", name)
    assert (planned["files_to_read"], planned["subtasks"], planned["session_files"]) == (4, 4, None)
    configs["enableSync"] = "true"
    failed.client.tables.set_task_config(failed.with_type, TASK_TYPE, configs)
    assert next_trigger() == "starts over: the task's configuration has changed since it started"
    configs["clearConsistentPushState"] = "true"
    failed.client.tables.set_task_config(failed.with_type, TASK_TYPE, configs)
    assert next_trigger().startswith("clears all sessions")
    failed.client.tables.set_task_config(failed.with_type, TASK_TYPE, failed.configs)
    assert failed.run().code == 1
    shown = pinotctl.json("session", "show", name)
    assert shown["abandoned"] is True
    assert "retries are exhausted" in shown["message"]
    assert next_trigger() == "compares the source with the table"
    failed.client.tables.set_task_config(failed.with_type, TASK_TYPE, None)
    assert pinotctl.json("session", "show", name)["next_trigger"].startswith("fails: ")


def test_purge_deletes_what_a_switch_has_replaced(
    pinotctl: Pinotctl, ingestion_table: IngestionTable, shared_folder: Path
) -> None:
    for n in range(2):
        write_numbers(shared_folder, f"{n}.csv", n * 10, 10)
    # Left by the Spark job that wrote the files, and by one that is still writing: not data.
    (shared_folder / "_temporary").mkdir()
    for name in ("_SUCCESS", ".0.csv.crc", "_temporary/2.csv"):
        write_numbers(shared_folder, name, 500, 10)
    table = ingestion_table.create().register(shared_folder, "csv", enableSync="true")
    first = table.run().report
    assert (first["segments"], first["left_out_as_hidden"]) == (2, 3)
    old = set(table.segments())
    write_numbers(shared_folder, "0.csv", 100, 20)
    planned = pinotctl.json("plan", table.name, "--files", "5")
    assert planned["source"] == _source(files=2, changed=1, unchanged=1, left_out_as_hidden=3)
    assert len(planned["lists"]["hidden"]) == 3
    assert (planned["files_to_read"], planned["replaced_segments"]) == (1, 1)
    ran = table.run().report
    assert (ran["mode"], ran["replaced_segments"]) == ("sync", 1)
    (gone,) = planned["lists"]["replaced_segment"]
    shown = pinotctl.json("session", "show", table.name)
    assert shown["replaces"] == {"segments": 1, "first": [gone]}
    assert f"1 segment: {gone}" in pinotctl("session", "show", table.name).out
    assert old < set(table.segments())

    if has(Capability.LINEAGE_PROTECTED):
        assert "deletes replaced segments itself" in pinotctl("purge", table.name, "--yes", code=1).err
        assert gone in table.segments()
        return
    assert pinotctl.json("purge", table.name, "--yes") == [], "its grace period is an hour"
    soon = ("purge", table.name, "--older-than", "0s")
    assert pinotctl.json(*soon, "--dry-run") == [{"segment": gone}]
    pinotctl(*soon, stdin="n\n", code=1)
    assert gone in table.segments()
    assert pinotctl.json(*soon, "--yes") == [{"segment": gone}]
    table.client.segments.wait_gone(table.with_type, [gone], 60)
    table.wait_count(30)
    assert pinotctl.json(*soon, "--yes") == []


def _source(**counts: int) -> dict[str, int]:
    """Return the source counts of a plan; counts not given are 0."""
    kinds = ("files", "new", "changed", "deleted", "unchanged", "left_out_by_patterns", "left_out_as_hidden")
    return {**dict.fromkeys(kinds, 0), **counts}
