"""Faults specific to the engine spark: one job for all files, dying drivers and workers, its own log."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psutil
import pytest

from minion_tasks.file_ingestion.session.model import FileStatus
from tests.integration.file_ingestion.ingestion import ended
from tests.integration.file_ingestion.scenes.scene import APPEND, NO_SEGMENT, SPARK, Scene, whole
from tests.support.processes import children_running
from tests.support.s3 import S3Access
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.s3]

STAGED, FAILED, SKIPPED = FileStatus.STAGED, FileStatus.FAILED, FileStatus.SKIPPED


def test_each_file_has_its_own_result(scene: Scene, full: bool) -> None:
    plain = {"taskMaxNumFilesPerTask": "1", "skipFileIfFailToInitReader": "true"}
    scene.begin(plain, engine="spark")
    scene.source.put("F1", "F2", "F4")
    scene.source.put_bad("F3")
    scene.source.put_text("F5", b"\x00\x01\x02\x03" * 100)
    failed = ended(scene.table.start(*SPARK, "--spark-master=local[1]")).failed
    assert "1 of 5 files could not be ingested; the others are in" in failed
    assert scene.source.uri_of("F3") in failed
    assert "nine" in failed
    assert scene.statuses() == {"F1": STAGED, "F2": STAGED, "F3": FAILED, "F4": STAGED, "F5": SKIPPED}
    scene.assert_serves("F1", "F2", "F4")
    assert scene.source.gets("F1", "F2", "F3", "F4", "F5") == [1, 1, 1, 1, 1]
    if full:
        scene.source.put("F3", "F5")
        assert scene.trigger().report["files"] == 2
        scene.assert_serves("F1", "F2", "F3", "F4", "F5")
        assert scene.source.gets("F1", "F2", "F3", "F4", "F5") == [1, 1, 2, 1, 2]


@FULL
def test_a_dead_worker_does_not_affect_the_results_of_others(scene: Scene) -> None:
    scene.begin(APPEND, engine="spark", consistentPushMaxRetries="1")
    scene.source.put("F1", "F2")
    held = scene.source.proxy.hold("GET", scene.source.of("F2"))
    with scene.polled(NO_SEGMENT, whole(["F1", "F2"])):
        running = scene.table.start(*SPARK)
        held.wait_hit()
        wait_for(lambda: scene.statuses().get("F1") is STAGED, "the result of F1")
        for worker in _workers(running.pid):
            worker.kill()
        run = ended(running)
        assert f"{scene.source.uri_of('F2')}: its subtask ended without a result (the Spark job" in run.failed
        assert scene.source.uri_of("F1") not in run.failed
        held.lift()
        report = scene.trigger().report
    assert (report["files"], report["retry_count"]) == (2, 1)
    scene.assert_serves("F1", "F2")
    assert scene.source.gets("F1", "F2") == [1, 2]


@FULL
def test_the_session_of_a_killed_driver_is_resumed_by_the_next_run(
    scene: Scene, s3: S3Access, tmp_path: Path
) -> None:
    files = ("F1", "F2", "F3", "F4")
    scene.begin(APPEND, engine="spark", consistentPushMaxRetries="1")
    scene.source.put(*files)
    held = scene.source.proxy.hold("GET", scene.source.of("F3"))
    with scene.polled(NO_SEGMENT, whole(files)):
        log = {"enabled": "true", "compress": "false", "dir": f"file://{tmp_path}"}
        logged = [f"--spark-conf=spark.eventLog.{key}={value}" for key, value in log.items()]
        run = scene.table.start(*SPARK, *logged)
        held.wait_hit()
        others = {name: STAGED for name in files if name != "F3"}
        wait_for(lambda: others.items() <= scene.statuses().items(), "the results of the others")
        spark = psutil.Process(run.pid).children(recursive=True)
        assert len(spark) >= 3, "Spark's JVM, its Python daemon and workers"
        os.kill(run.pid, signal.SIGKILL)
        output = ended(run).err
        wait_for(lambda: not any(_runs(process) for process in spark), "the end of all that Spark started")
        session = scene.latest().session_id
        scene.assert_session(session, "IN_PROGRESS", 0)
        held.lift()
        report = scene.trigger().report
    assert (report["session"], report["retry_count"], report["files"]) == (session, 1, len(files))
    scene.assert_serves(*files)
    assert scene.source.gets(*files) == [1, 1, 2, 1]
    _assert_hidden_from_spark(tmp_path, s3.secret_key, session)
    assert s3.secret_key not in output


@FULL
def test_a_spark_that_fails_to_start_is_reported(scene: Scene) -> None:
    scene.begin(APPEND, engine="spark")
    scene.source.put("F1")
    ran = ended(scene.table.start("--spark-master", "nowhere"))
    assert ran.code == 1
    assert "Spark failed to start" in ran.err
    assert "nowhere" in ran.err
    assert "Traceback" not in ran.err
    assert scene.sessions.ids() == []


def _workers(driver: int) -> list[psutil.Process]:
    """Return Spark's Python workers, which its daemon under the driver's JVM has forked."""
    daemons = children_running("pyspark.daemon", driver)
    pids = {process.pid for process in daemons}
    found = [process for process in daemons if process.ppid() in pids]
    assert found, "no worker runs"
    return found


def _runs(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _assert_hidden_from_spark(folder: Path, secret: str, session_id: str) -> None:
    """Check that what Spark's history server would show names the session of a job and contains no secret."""
    texts = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert any(session_id.encode() in text for text in texts)
    assert not any(secret.encode() in text for text in texts)
