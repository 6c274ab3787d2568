"""The jar cache between processes, over HTTP."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.jvm_bridge.mirror import Mirror

JARS = 12


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with Mirror(JARS, size_bytes=200_000) as running:
        yield running


def fetcher(tmp_path: Path, mirror: Mirror) -> subprocess.Popen[str]:
    pins = tmp_path / "pins.txt"
    pins.write_text(mirror.pins)
    program = "tests.integration.jvm_bridge.jars_program"
    command = [sys.executable, "-m", program, str(pins), str(tmp_path / "cache"), mirror.url]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    found: dict[str, Any] = json.loads(output)
    return found


def check(found: dict[str, Any]) -> None:
    assert [Path(jar).name for jar in found["jars"]] == [f"j{n}-1.jar" for n in range(JARS)]
    assert [Path(jar).read_bytes() for jar in found["jars"]] == [bytes([n]) * 200_000 for n in range(JARS)]


def test_two_processes_at_once_fetch_each_jar_once(tmp_path: Path, mirror: Mirror) -> None:
    both = [fetcher(tmp_path, mirror) for _ in range(2)]
    found = [answer(process) for process in both]
    for one in found:
        check(one)
    assert set(mirror.jar_requests.values()) == {1}
    assert len(mirror.jar_requests) == JARS
    # One process fetched; the other waited and found everything, or started late.
    assert sorted(one["told"] for one in found) == [[], list(range(JARS + 1))]


def test_a_killed_process_is_continued(tmp_path: Path, mirror: Mirror) -> None:
    mirror.hold_after = 5
    victim = fetcher(tmp_path, mirror)
    assert mirror.held.wait(timeout=300)
    while len(list((tmp_path / "cache" / "repository").rglob("*.jar"))) < 5:
        assert victim.poll() is None
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    whole = list((tmp_path / "cache" / "repository").rglob("*.jar"))
    assert {jar.stat().st_size for jar in whole} == {200_000}
    mirror.hold_after = None
    mirror.release.set()
    mirror.requests.clear()
    check(answer(fetcher(tmp_path, mirror)))
    # Not counted: a last request of the killed process may arrive only now.
    asked = {path.rpartition("/")[2] for path in mirror.jar_requests}
    assert asked == {f"j{n}-1.jar" for n in range(JARS)} - {jar.name for jar in whole}


def test_a_complete_cache_sends_no_requests(tmp_path: Path, mirror: Mirror) -> None:
    check(answer(fetcher(tmp_path, mirror)))
    mirror.requests.clear()
    found = answer(fetcher(tmp_path, mirror))
    check(found)
    assert found["told"] == []
    assert not mirror.requests


def test_a_request_to_a_busy_mirror_is_repeated(tmp_path: Path, mirror: Mirror) -> None:
    mirror.busy_answers = 2
    check(answer(fetcher(tmp_path, mirror)))


def test_a_jar_that_the_mirror_lacks_is_reported(tmp_path: Path, mirror: Mirror) -> None:
    del mirror.files["/maven/g/j3/1/j3-1.jar"]
    process = fetcher(tmp_path, mirror)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 1
    assert "SetupError: g:j3:1 cannot be fetched: the repository does not have it" in errors
    assert mirror.url in errors
    assert not list((tmp_path / "cache" / "sets").glob("*"))


def test_a_truncated_response_of_the_mirror_is_rejected(tmp_path: Path, mirror: Mirror) -> None:
    path = "/maven/g/j3/1/j3-1.jar"
    mirror.files[path] = mirror.files[path][:1000]
    process = fetcher(tmp_path, mirror)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 1
    assert "g:j3:1 has the sha256" in errors
    assert not list((tmp_path / "cache" / "repository").rglob("j3-1.jar"))
