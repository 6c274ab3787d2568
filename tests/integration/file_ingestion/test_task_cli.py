"""``pinotctl task``: the output, effect and exit code of each command."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from controller_client.common.names import TableName
from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.params.table_params import TASK_TYPE
from minion_tasks.file_ingestion.session.model import IngestionMode, Session, SessionState, abandon
from minion_tasks.file_ingestion.session.naming import new_session_id
from minion_tasks.file_ingestion.session.store import SessionStore
from tests.integration.file_ingestion.ingestion import (
    IngestionTable,
    Pinotctl,
    ended,
    start_pinotctl,
    write_numbers,
)
from tests.integration.file_ingestion.scenes.source import Source, ids_of, text_of
from tests.integration.file_ingestion.secrecy import SECRETS
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def table(module_table: IngestionTable) -> IngestionTable:
    return module_table.create()


@pytest.fixture
def parameters(tmp_path: Path) -> Path:
    file = tmp_path / "task.json"
    configs = {"inputDirURI": str(tmp_path), "inputFormat": "csv", "consistentPushEnabled": "true", **SECRETS}
    file.write_text(json.dumps(configs), encoding="utf-8")
    return file


def registered(table: IngestionTable) -> dict[str, str] | None:
    return table.client.tables.task_config(table.with_type, TASK_TYPE)


def test_register_show_unregister(pinotctl: Pinotctl, table: IngestionTable, parameters: Path) -> None:
    task = ("register", table.name, "--file", str(parameters), "--set", "taskMaxNumFilesPerTask=7")
    dry = pinotctl(*task, "--dry-run", "--output", "json")
    assert "would" in dry.err
    assert registered(table) is None
    done = pinotctl(*task, "--output", "json")
    assert "clearConsistentPushState" not in done.err
    wanted = {**json.loads(parameters.read_text()), "taskMaxNumFilesPerTask": "7"}
    assert registered(table) == wanted
    shown = pinotctl.json("show", table.name)
    assert shown == {key: "***" if key in SECRETS else value for key, value in wanted.items()}
    assert json.loads(dry.out) == json.loads(done.out) == shown
    assert "taskMaxNumFilesPerTask" in pinotctl("show", table.with_type).out
    clearing = pinotctl(*task, "--set", "clearConsistentPushState=true", "--dry-run")
    assert "clearConsistentPushState is true" in clearing.err

    pinotctl("unregister", table.name, "--dry-run")
    assert registered(table) == wanted
    pinotctl("unregister", table.name, stdin="n\n", code=1)
    assert registered(table) == wanted
    pinotctl("unregister", table.name, "--yes")
    assert registered(table) is None
    assert "pinotctl task register" in pinotctl("show", table.name, code=1).err
    assert "pinotctl task register" in pinotctl("unregister", table.name, "--yes", code=2).err
    assert "pinotctl task register" in pinotctl("run", table.name, code=2).err
    assert "pinotctl task run" in pinotctl("watch", table.name, code=1).err


def test_register_rejects_invalid_parameters_and_changes_nothing(
    pinotctl: Pinotctl, table: IngestionTable, parameters: Path, tmp_path: Path
) -> None:
    before = registered(table)

    def refused(*arguments: str, name: str = table.name, code: int = 2) -> str:
        ran = pinotctl("register", name, *arguments, code=code)
        assert registered(table) == before
        return ran.err

    file = ("--file", str(parameters))
    assert "did you mean 'inputDirURI'" in refused(*file, "--set", "inputDirUri=x")
    assert "taskMaxNumFilesPerTask is 'many'" in refused(*file, "--set", "taskMaxNumFilesPerTask=many")
    assert "KEY=VALUE" in refused(*file, "--set", "inputFormat")
    assert "inputDirURI is missing" in refused("--set", "inputFormat=csv")
    assert "no_such_table_OFFLINE" in refused(*file, name="no_such_table", code=1)
    assert "realtime" in refused(*file, name=f"{table.name}_REALTIME")
    broken = tmp_path / "broken.json"
    broken.write_text(json.dumps(SECRETS)[:-1], encoding="utf-8")
    assert "broken.json" in refused("--file", str(broken))
    broken.write_text('{"taskMaxNumFilesPerTask": 7}', encoding="utf-8")
    assert "object of strings" in refused("--file", str(broken))


def test_a_schedule_that_is_not_quartzs_is_rejected(table: IngestionTable, parameters: Path) -> None:
    before = registered(table)
    words = ("task", "register", table.name, "--file", str(parameters), "--set", "schedule=*/5 * * * *")
    ran = ended(start_pinotctl(table.controller_url, *words))
    assert ran.code == 2, ran
    assert "*/5 * * * *" in ran.err
    assert "seconds minutes hours" in ran.err
    assert registered(table) == before


@pytest.mark.s3
def test_a_run_is_watched_then_interrupted_by_ctrl_c_and_the_next_one_ingests_everything(
    pinotctl: Pinotctl, ingestion_table: IngestionTable, source: Source, tmp_path: Path
) -> None:
    staging = tmp_path / "staging"
    table = ingestion_table.create().register(
        source.uri,
        "csv",
        outputDirURI=f"file://{staging}",
        taskMaxNumFilesPerTask="1",
        **source.proxy.access.task_parameters,
    )
    files = ("F1", "F2", "F3", "F4")
    sizes = [len(ids_of(file)) for file in files]
    in_bytes = [len(text_of(file)) for file in files]
    source.put(*files)

    def watched(*arguments: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = pinotctl.json("watch", table.name, *arguments)
        return rows

    # One subtask is waiting for its file, so the run cannot end before it is interrupted.
    held = source.proxy.hold("GET", source.of("F3"))
    running = table.start()
    held.wait_hit()
    wait_for(lambda: sum(row["staged"] for row in watched("--once")) == 3, "the other files to be staged")
    middle = watched("--once")
    assert [(row["files"], row["staged"], row["failed"], row["bytes_total"]) for row in middle] == [
        (1, int(file != "F3"), 0, size) for file, size in zip(files, in_bytes, strict=True)
    ]
    assert [row["rows"] for row in middle] == [
        size * row["staged"] for size, row in zip(sizes, middle, strict=True)
    ]
    assert [row["bytes_read"] for row in middle] == [row["bytes_total"] * row["staged"] for row in middle]
    running.send_signal(signal.SIGINT)
    ran = ended(running)
    assert ran.code == 130, ran
    assert "abandoned" in pinotctl("watch", table.name, "--once").err
    assert table.segments() == []
    held.lift()
    wait_for(lambda: list(staging.rglob("*.tar.gz")), "that subtask to stage its file nevertheless")

    running = table.start()
    wait_for(lambda: "abandoned" not in pinotctl("watch", table.name, "--once").err, "the next session")
    after = watched()
    again = ended(running).report
    assert again["rows"] == sum(sizes)
    table.wait_count(sum(sizes))
    assert again["bytes_read"] == sum(in_bytes)
    assert [(row["subtask"], row["staged"], row["rows"], row["bytes_read"]) for row in after] == [
        (n, 1, *expected) for n, expected in enumerate(zip(sizes, in_bytes, strict=True))
    ]
    as_table = pinotctl("watch", table.name)
    assert "DONE" in as_table.err
    assert str(in_bytes[0]) in as_table.out
    assert table.value("select sum(id) from {t}") == sum(sum(ids_of(file)) for file in files)
    assert [path for path in staging.rglob("*") if path.is_file()] == []


def test_a_run_without_a_suitable_minion_names_the_tag_and_the_command(
    pinotctl: Pinotctl, ingestion_table: IngestionTable, tmp_path: Path
) -> None:
    write_numbers(tmp_path / "in", "a.csv", 0, 10)
    staging = tmp_path / "staging"
    table = ingestion_table.create().register(
        tmp_path / "in",
        "csv",
        minionInstanceTag="nobody",
        minionWait="1s",
        outputDirURI=f"file://{staging}",
    )
    ran = table.run()
    assert ran.code == 1
    assert "'nobody'" in ran.err
    assert "pinotctl serve minion" in ran.err
    assert table.segments() == []
    assert list(staging.rglob("*")) == []
    shown = pinotctl("watch", table.name)
    assert "abandoned" in shown.err
    assert "nobody" in shown.err


@FULL
def test_watch_reports_that_no_run_is_in_progress(
    store: PropertyStore, ingestion_table: IngestionTable
) -> None:
    """Like after a run that was killed while writing its plan."""
    table = ingestion_table.create()
    sessions = SessionStore(store, TableName(table.with_type))
    killed = sessions.create(
        Session(
            session_id=new_session_id(1_700_000_000_000),
            table=table.with_type,
            state=SessionState.INIT,
            created_ms=1_700_000_000_000,
            updated_ms=1_700_000_000_000,
            owner="killed",
            mode=IngestionMode.APPEND,
            atomic=True,
            source="file:///in",
            staging_uri="file:///staging",
        )
    )
    watching = start_pinotctl(table.controller_url, "task", "watch", table.name)
    assert watching.stderr is not None
    note = next(line for line in watching.stderr if "no run of" in line)
    assert note == f"no run of {table.with_type} is in progress; the next one resumes the session\n"
    sessions.save(abandon(killed, "it is over", 1_700_000_000_001))
    ran = ended(watching)
    assert ran.code == 0, ran
    assert "INIT (abandoned)" in ran.err
