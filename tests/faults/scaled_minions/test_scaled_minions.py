"""Minions are scaled from zero, to zero and up again during a session, and killed: each row is there once."""

from __future__ import annotations

import json
import random
import subprocess
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from controller_client.common.names import TableName
from controller_client.helix.unfinished_subtasks import Unfinished, unfinished_subtasks
from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.session.progress import read_progress
from minion_tasks.file_ingestion.session.store import SessionStore
from tests.faults.scaled_minions.crew import Crew
from tests.integration.file_ingestion.ingestion import IngestionTable, Ran, ended, write_numbers
from tests.support.cluster import PinotCluster
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = [FULL, pytest.mark.cluster]

_ROWS = 7
_TIMEOUT_S = 1800.0
_MAX_TRIGGERS = 6


@pytest.mark.parametrize(("minions", "files", "per_subtask"), [(2, 120, 10), (10, 10_000, 50)])
def test_no_row_is_lost_or_duplicated(
    request: pytest.FixtureRequest,
    pinot: PinotCluster,
    store: PropertyStore,
    ingestion_table: IngestionTable,
    tmp_path: Path,
    minions: int,
    files: int,
    per_subtask: int,
) -> None:
    for number in range(files):
        write_numbers(tmp_path / "in", f"{number:05}.csv", number * _ROWS, _ROWS)
    tag = f"scaled_{uuid.uuid4().hex[:8]}"
    table = ingestion_table.create().register(
        tmp_path / "in",
        "csv",
        minionInstanceTag=tag,
        minionWait="30m",
        numConcurrentTasksPerInstance="1",
        taskMaxNumFilesPerTask=str(per_subtask),
        consistentPushMaxRetries=str(_MAX_TRIGGERS),
    )
    rows = files * _ROWS
    whole = (rows, float(sum(range(rows))))
    seed = request.config.option.seed or 0
    sessions = SessionStore(store, TableName(table.with_type))

    def staged() -> int:
        session = sessions.latest()
        return 0 if session is None else read_progress(sessions, session).staged

    def waiting() -> int:
        return unfinished_subtasks(store).get(tag, Unfinished()).waiting

    def live() -> int:
        return sum(tag in tags for tags in store.live_instance_tags().values())

    def wait_staged(count: int) -> None:
        wait_for(lambda: staged() >= count, f"{count} of {files} files to be staged", _TIMEOUT_S)

    with Crew(pinot, tmp_path / "minions", tag, seed) as crew, table.polled() as reader:
        running = table.start()
        wait_for(lambda: waiting() > 0, "subtasks to wait for minions")
        crew.grow(minions)
        wait_staged(files // 10)
        crew.shrink(0)
        wait_for(lambda: live() == 0, "the cluster to notice that all minions are gone")
        left = staged()
        assert left < files, "the session ended before the last minion was killed"
        assert running.poll() is None, ended(running)
        assert table.segments() == []

        crew.grow(minions)
        chances = random.Random(seed)
        wait_staged(left + 1)
        while running.poll() is None and staged() < files * 4 // 5:
            goal = staged() + chances.randint(1, max(2, files // 10))
            crew.kill_one()
            crew.grow(minions)
            wait_for(partial(_is_further, running, staged, goal), "more files to be staged", _TIMEOUT_S)
        ran = _until_switched(table, ended(running))
        reader.poll_until(reader.polls + 5)
    assert json.loads(ran.out)["files"] == files
    assert crew.killed > minions
    assert reader.errors == []
    table.wait_count(rows)
    assert table.value("select sum(id) from {t}") == whole[1]
    assert table.value("select distinctcount(id) from {t}") == rows
    assert {answer for answer in reader.seen if answer and answer[0]} == {whole}


def _is_further(running: subprocess.Popen[str], staged: Callable[[], int], goal: int) -> bool:
    return running.poll() is not None or staged() >= goal


def _until_switched(table: IngestionTable, ran: Ran) -> Ran:
    """Trigger again while runs fail: a subtask whose minion died three times is left to the next trigger."""
    for _ in range(_MAX_TRIGGERS):
        if ran.code == 0:
            return ran
        assert "is unchanged" in ran.err, ran
        assert table.segments() == []
        ran = table.run()
    raise AssertionError(ran)
