from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from jvm_bridge.local_cluster.processes import (
    ProcessRecord,
    find_processes,
    marks,
    spawn,
    stop,
    uninterrupted,
)
from tests.support.wait import wait_for

# Reports when it is ready; the fixture stops it.
STAYS = "import signal, sys; {}; print('ready', flush=True); signal.pause()"


def command(folder: Path, role: str, body: str = "pass") -> list[str]:
    cluster, role_mark = marks(folder, role)
    return [sys.executable, "-X", cluster, "-X", role_mark, "-c", STAYS.format(body)]


@pytest.fixture
def children() -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for child in started:
        child.kill()
        child.wait()


def start(
    folder: Path, role: str, children: list[subprocess.Popen[bytes]], body: str = "pass"
) -> ProcessRecord:
    log = folder / f"{role}.log"
    record, child = spawn(role, command(folder, role, body), log, os.environ)
    children.append(child)
    wait_for(lambda: "ready" in log.read_text() or child.poll() is not None, role, interval_s=0.02)
    assert child.poll() is None
    return record


def test_a_process_is_found_by_its_mark(tmp_path: Path, children: list[subprocess.Popen[bytes]]) -> None:
    one, other = tmp_path / "one", tmp_path / "one-more"
    one.mkdir()
    other.mkdir()
    record = start(one, "broker", children)
    start(other, "controller", children)
    found = find_processes(one)
    assert {role: found[role].pid for role in found} == {"broker": record.pid}
    assert psutil.Process(record.pid).pid == os.getsid(record.pid)


def test_stop_ends_the_process(tmp_path: Path, children: list[subprocess.Popen[bytes]]) -> None:
    record = start(tmp_path, "broker", children)
    assert record.process(tmp_path) is not None
    assert stop([record], tmp_path, timeout_s=60) == []
    assert record.process(tmp_path) is None
    assert find_processes(tmp_path) == {}


def test_a_process_ignoring_sigterm_is_killed(
    tmp_path: Path, children: list[subprocess.Popen[bytes]]
) -> None:
    body = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    record = start(tmp_path, "broker", children, body)
    assert stop([record], tmp_path, timeout_s=0.2) == ["broker"]
    assert record.process(tmp_path) is None


def test_a_reused_pid_is_not_touched(tmp_path: Path, children: list[subprocess.Popen[bytes]]) -> None:
    record = start(tmp_path, "broker", children)
    other_role = replace(record, role="controller")
    assert other_role.process(tmp_path) is None
    assert stop([other_role], tmp_path, timeout_s=5) == []
    assert record.process(tmp_path / "another-folder") is None
    assert children[0].poll() is None


def test_a_process_is_known_after_the_systems_clock_was_set(
    tmp_path: Path, children: list[subprocess.Popen[bytes]]
) -> None:
    record = start(tmp_path, "broker", children)
    assert replace(record, started_s=record.started_s - 48).process(tmp_path) is not None


def test_the_previous_starts_log_is_kept(tmp_path: Path, children: list[subprocess.Popen[bytes]]) -> None:
    (tmp_path / "broker.log").write_text("before")
    start(tmp_path, "broker", children)
    assert (tmp_path / "broker.log.1").read_text() == "before"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_started_process_is_recorded_before_a_signal_ends_the_start(
    tmp_path: Path, children: list[subprocess.Popen[bytes]], number: signal.Signals
) -> None:
    before = signal.signal(number, signal.default_int_handler)
    recorded: list[ProcessRecord] = []

    def interrupted_start() -> None:
        with uninterrupted():
            record = start(tmp_path, "controller", children)
            os.kill(os.getpid(), number)
            recorded.append(record)

    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted_start()
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)
    assert [record.pid for record in recorded] == [child.pid for child in children]
    # The role itself still ends by the signal.
    children[0].send_signal(number)
    assert children[0].wait(60) == -number
