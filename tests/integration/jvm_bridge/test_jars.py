"""The jar cache between processes, over HTTP."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from controller_client.errors import SetupError
from jvm_bridge.jars import JarCache, Repository, parse_pins
from tests.integration.jvm_bridge.mirror import Mirror
from tests.support.wait import wait_for

JARS = 12
FETCH = """
import json, sys
from pathlib import Path
from jvm_bridge.jars import JarCache, Repository, parse_pins
pins, folder, mirror = sys.argv[1:]
told = []
cache = JarCache(Path(folder), Repository(mirror))
jars = cache.ensure(parse_pins("demo-1", pins), lambda done, _total: told.append(done))
print(json.dumps({"jars": [str(jar) for jar in jars], "told": told}))
"""


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with Mirror(JARS, size_bytes=200_000) as running:
        yield running


def fetcher(tmp_path: Path, mirror: Mirror) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", FETCH, mirror.pins, str(tmp_path / "cache"), mirror.url]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    found: dict[str, Any] = json.loads(output)
    return found


def check(jars: Sequence[str | Path]) -> None:
    assert [Path(jar).name for jar in jars] == [f"j{n}-1.jar" for n in range(JARS)]
    assert [Path(jar).read_bytes() for jar in jars] == [bytes([n]) * 200_000 for n in range(JARS)]


def test_two_processes_at_once_fetch_each_jar_once(tmp_path: Path, mirror: Mirror) -> None:
    both = [fetcher(tmp_path, mirror) for _ in range(2)]
    found = [answer(process) for process in both]
    for one in found:
        check(one["jars"])
    assert set(mirror.jar_requests.values()) == {1}
    assert len(mirror.jar_requests) == JARS
    # One process fetched; the other waited and found everything, or started late.
    assert sorted(one["told"] for one in found) == [[], list(range(JARS + 1))]


def test_a_killed_process_is_continued(tmp_path: Path, mirror: Mirror) -> None:
    mirror.hold_after = 5
    repository = tmp_path / "cache" / "repository"
    with fetcher(tmp_path, mirror) as victim:
        wait_for(lambda: mirror.held.is_set() and len(list(repository.rglob("*.jar"))) == 5, "five jars")
        victim.send_signal(signal.SIGKILL)
    whole = list(repository.rglob("*.jar"))
    assert {jar.stat().st_size for jar in whole} == {200_000}
    mirror.hold_after = None
    mirror.release.set()
    mirror.requests.clear()
    check(answer(fetcher(tmp_path, mirror))["jars"])
    # Not counted: a last request of the killed process may arrive only now.
    asked = {path.rpartition("/")[2] for path in mirror.jar_requests}
    assert asked == {f"j{n}-1.jar" for n in range(JARS)} - {jar.name for jar in whole}


def test_a_request_to_a_busy_mirror_is_repeated_and_a_jar_that_it_lacks_is_reported(
    tmp_path: Path, mirror: Mirror
) -> None:
    pins, cache = parse_pins("demo-1", mirror.pins), JarCache(tmp_path / "cache", Repository(mirror.url))
    lacking = mirror.files.pop("/maven/g/j3/1/j3-1.jar")
    with pytest.raises(
        SetupError, match="g:j3:1 cannot be fetched: the repository does not have it"
    ) as error:
        cache.ensure(pins)
    assert mirror.url in str(error.value)
    assert mirror.jar_requests["/maven/g/j3/1/j3-1.jar"] == 1
    assert not list((tmp_path / "cache" / "sets").glob("*"))
    mirror.files["/maven/g/j3/1/j3-1.jar"] = lacking
    mirror.busy_answers = 1000
    with pytest.raises(SetupError, match="cannot be fetched: the repository returned status 429"):
        cache.ensure(pins)
    mirror.busy_answers = 2
    check(cache.ensure(pins))
