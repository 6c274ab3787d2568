"""``pinotctl task``: the output, effect and exit code of each command."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from controller_client.cli import cli
from controller_client.common.names import TableName
from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.params.table_params import TASK_TYPE
from minion_tasks.file_ingestion.session.model import IngestionMode, Session, SessionState, abandon
from minion_tasks.file_ingestion.session.naming import new_session_id
from minion_tasks.file_ingestion.session.store import SessionStore
from tests.integration.file_ingestion.ingestion import IngestionTable, ended, start_pinotctl, write_numbers
from tests.integration.file_ingestion.scenes.source import Source, ids_of
from tests.integration.file_ingestion.secrecy import assert_hidden
from tests.support.cluster import PinotCluster
from tests.support.wait import wait_for

pytestmark = pytest.mark.cluster

Pinotctl = Callable[..., Result]
SECRETS = {"input.fs.prop.accessKey": "canary-access", "input.fs.prop.secretKey": "canary-secret"}


@pytest.fixture
def pinotctl(pinot: PinotCluster) -> Pinotctl:
    """Runs a command that needs no JVM in this process."""

    def invoke(*arguments: str, code: int | None = 0, stdin: str | None = None) -> Result:
        env = {"PINOT_CONTROLLER_URL": pinot.controller_url, "PINOTCTL_CONFIG": "/no/such/file"}
        result = CliRunner().invoke(cli, arguments, env=env, input=stdin)
        assert code in (None, result.exit_code), result.output
        return result

    return invoke


@pytest.fixture(scope="module")
def table(module_table: IngestionTable) -> IngestionTable:
    return module_table.create()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("source")


@pytest.fixture
def parameters(folder: Path, tmp_path: Path) -> Path:
    file = tmp_path / "task.json"
    configs = {"inputDirURI": str(folder), "inputFormat": "csv", "consistentPushEnabled": "true", **SECRETS}
    file.write_text(json.dumps(configs), encoding="utf-8")
    return file


def registered(table: IngestionTable) -> dict[str, str] | None:
    return table.client.tables.task_config(table.with_type, TASK_TYPE)


def assert_masked(result: Result) -> None:
    assert "canary" not in result.stdout
    assert "canary" not in result.stderr


def test_register_show_unregister(pinotctl: Pinotctl, table: IngestionTable, parameters: Path) -> None:
    task = ("task", "register", table.name, "--file", str(parameters), "--set", "taskMaxNumFilesPerTask=7")
    dry = pinotctl(*task, "--dry-run", "--output", "json")
    assert "would" in dry.stderr
    assert registered(table) is None
    done = pinotctl(*task, "--output", "json")
    wanted = {**json.loads(parameters.read_text()), "taskMaxNumFilesPerTask": "7"}
    assert registered(table) == wanted
    shown = pinotctl("task", "show", table.name, "--output", "json")
    masked = {key: "***" if key in SECRETS else value for key, value in wanted.items()}
    assert json.loads(dry.stdout) == json.loads(done.stdout) == json.loads(shown.stdout) == masked
    as_table = pinotctl("task", "show", table.with_type)
    assert "taskMaxNumFilesPerTask" in as_table.stdout
    for result in (dry, done, shown, as_table):
        assert_masked(result)

    pinotctl("task", "unregister", table.name, "--dry-run")
    assert registered(table) == wanted
    pinotctl("task", "unregister", table.name, stdin="n\n", code=1)
    assert registered(table) == wanted
    pinotctl("task", "unregister", table.name, "--yes")
    assert registered(table) is None
    assert "pinotctl task register" in pinotctl("task", "show", table.name, code=1).stderr
    assert "pinotctl task register" in pinotctl("task", "unregister", table.name, "--yes", code=2).stderr
    assert "pinotctl task register" in pinotctl("task", "run", table.name, code=2).stderr


def test_register_rejects_invalid_parameters_and_changes_nothing(
    pinotctl: Pinotctl, table: IngestionTable, parameters: Path, tmp_path: Path
) -> None:
    before = registered(table)

    def refused(*arguments: str, name: str = table.name, code: int = 2) -> str:
        result = pinotctl("task", "register", name, *arguments, code=code)
        assert_masked(result)
        assert registered(table) == before
        return result.stderr

    file = ("--file", str(parameters))
    assert "did you mean 'inputDirURI'" in refused(*file, "--set", "inputDirUri=x")
    assert "taskMaxNumFilesPerTask is 'many'" in refused(*file, "--set", "taskMaxNumFilesPerTask=many")
    assert "KEY=VALUE" in refused(*file, "--set", "inputFormat")
    assert "inputDirURI is missing" in refused("--set", "inputFormat=csv")
    assert "no_such_table_OFFLINE" in refused(*file, name="no_such_table", code=1)
    assert "realtime" in refused(*file, name=f"{table.name}_REALTIME")
    broken = tmp_path / "broken.json"
    broken.write_text('{"input.fs.prop.secretKey": "canary-secret"', encoding="utf-8")
    assert "broken.json" in refused("--file", str(broken))
    broken.write_text('{"taskMaxNumFilesPerTask": 7}', encoding="utf-8")
    assert "object of strings" in refused("--file", str(broken))


def test_watch_shows_each_subtask_during_and_after_the_run(
    pinot: PinotCluster,
    pinotctl: Pinotctl,
    table: IngestionTable,
    folder: Path,
) -> None:
    assert "pinotctl task run" in pinotctl("task", "watch", table.name, code=1).stderr
    files = [write_numbers(folder, f"{n}.csv", n * 40_000, 40_000) for n in range(4)]
    sizes = [file.stat().st_size for file in files]
    table.register(folder, "csv", **SECRETS, taskMaxNumFilesPerTask="1", numConcurrentTasksPerInstance="1")

    def watched(*arguments: str) -> list[dict[str, Any]]:
        shown = pinotctl("task", "watch", table.name, "--output", "json", *arguments)
        rows: list[dict[str, Any]] = json.loads(shown.stdout)
        return rows

    running = table.start()
    wait_for(lambda: pinotctl("task", "watch", table.name, "--once", code=None).exit_code == 0, "a session")

    def in_the_middle() -> list[dict[str, Any]] | None:
        rows = watched("--once")
        assert running.poll() is None, "the run ended before its progress was seen"
        return rows if 0 < sum(row["staged"] for row in rows) < 4 else None

    middle = wait_for(in_the_middle, "some of the subtasks to be done", 120, interval_s=0.05)
    assert middle is not None
    for row, size in zip(middle, sizes, strict=True):
        part = row["staged"]
        assert (row["files"], row["bytes_total"], row["failed"]) == (1, size, 0)
        assert (row["rows"], row["bytes_read"]) == (part * 40_000, part * size)
    after = watched()
    ran = ended(running)
    assert ran.report["rows"] == 160_000
    assert ran.report["bytes_read"] == sum(sizes)
    assert [(row["subtask"], row["staged"], row["rows"], row["bytes_read"]) for row in after] == [
        (n, 1, 40_000, size) for n, size in enumerate(sizes)
    ]
    as_table = pinotctl("task", "watch", table.name)
    assert "DONE" in as_table.stderr
    assert str(sizes[0]) in as_table.stdout
    assert "40000" in as_table.stdout
    assert_hidden(pinot, list(SECRETS.values()), ran)


def test_a_run_without_a_suitable_minion_names_the_tag_and_the_command(
    pinot: PinotCluster, pinotctl: Pinotctl, ingestion_table: IngestionTable, tmp_path: Path
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
    shown = pinotctl("task", "watch", table.name)
    assert "abandoned" in shown.stderr
    assert "nobody" in shown.stderr


@pytest.mark.s3
def test_ctrl_c_leaves_the_table_unchanged_and_the_next_run_ingests_everything(
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
    files = [f"F{n}" for n in range(1, 17)]
    source.put(*files)
    # One subtask is waiting for its file, so the run cannot end before it is interrupted.
    held = source.proxy.hold("GET", source.of("F9"))
    running = table.start()
    held.wait_hit()
    running.send_signal(signal.SIGINT)
    ran = ended(running)
    assert ran.code == 130, ran
    assert "abandoned" in pinotctl("task", "watch", table.name, "--once").stderr
    assert table.segments() == []
    held.lift()
    wait_for(lambda: list(staging.rglob("*.tar.gz")), "that subtask to stage its file nevertheless")
    assert table.run().report["rows"] == sum(len(ids_of(file)) for file in files)
    assert table.value("select sum(id) from {t}") == sum(sum(ids_of(file)) for file in files)
    assert [path for path in staging.rglob("*") if path.is_file()] == []


def test_watch_reports_that_no_run_is_in_progress(
    pinot: PinotCluster, ingestion_table: IngestionTable
) -> None:
    """Like after a run that was killed while writing its plan."""
    table = ingestion_table.create()
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
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
        watching = start_pinotctl(pinot.controller_url, "task", "watch", table.name)
        assert watching.stderr is not None
        note = next(line for line in watching.stderr if "no run of" in line)
        assert note == f"no run of {table.with_type} is in progress; the next one resumes the session\n"
        sessions.save(abandon(killed, "it is over", 1_700_000_000_001))
        ran = ended(watching)
    assert ran.code == 0, ran
    assert "INIT (abandoned)" in ran.err
