"""``pinotctl deepstore sweep`` and ``safe-to-stop``: questions, columns and notes."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from controller_client.zookeeper import ZNRecord, segment_path
from pinotctl.context import CliContext
from tests.unit.controller_client.deepstore.samples import TABLE
from tests.unit.controller_client.rest.conftest import V11
from tests.unit.controller_client.scripted_server import ScriptedServer, Seen, Step, answer
from tests.unit.memory_zookeeper import MemoryPropertyStore, memory_store
from tests.unit.pinotctl.conftest import Run

A, B = "Server_a_1", "Server_b_1"
NAME = "t__0__3__20250101T0000Z"


def controller(seen: Seen) -> Step:
    """A controller with two servers and one table, which has no segments in the ideal state."""
    if seen.path == "/instances":
        return answer(200, {"instances": [A, B]})
    if seen.path == f"/tables/{TABLE}":
        return answer(200, {"REALTIME": {}})
    if seen.path == "/tables":
        return answer(200, {"tables": []})
    return V11 if seen.path == "/version" else answer(404, {"error": "no"})


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> MemoryPropertyStore:
    store, _ = memory_store()
    monkeypatch.setattr(CliContext, "property_store", lambda _self: store)
    return store


@pytest.fixture
def url() -> Iterator[str]:
    with ScriptedServer() as server:
        server.answers = controller
        yield server.url


@pytest.fixture
def leftover(tmp_path: Path, store: MemoryPropertyStore) -> Path:
    """An object of a deleted segment, in the store of a cluster with another segment."""
    store.create(segment_path(TABLE, "t__0__9__20260102T0000Z"), ZNRecord("x"))
    path = tmp_path / "store" / TABLE.raw / NAME
    path.parent.mkdir(parents=True)
    path.write_bytes(b"tar")
    os.utime(path, (1, 1))
    return path


def test_a_sweep_asks_moves_and_says_where(
    run: Run, url: str, store: MemoryPropertyStore, leftover: Path
) -> None:
    root = leftover.parents[1]

    def sweep(*options: str, stdin: str | None = None) -> Result:
        words = ("deepstore", "sweep", str(TABLE), "--store", f"file://{root}", "--max-share", "100")
        return run("--controller", url, *words, "--output", "json", *options, stdin=stdin)

    refused = sweep(stdin="n\n")
    assert "Quarantine for 7 days 1 object (3 bytes) in file://" in refused.stderr
    assert leftover.exists()
    rows: list[dict[str, Any]] = json.loads(sweep("--dry-run").stdout)
    assert [(each["deleted"], each["moved_to"]) for each in rows] == [(False, "")]
    done = sweep("--yes")
    (row,) = json.loads(done.stdout)
    moved_to = Path(row["moved_to"].removeprefix("file://"))
    assert (row["deleted"], moved_to.read_bytes()) == (False, b"tar")
    assert "quarantined 1, deleted 0." in done.stderr
    # What has been there for long enough is deleted for good, after a question.
    old = root / ".pinot-plugins-quarantine" / "2020-01-01"
    moved_to.parents[1].rename(old)
    assert "Delete for good 1 object in the quarantine of file://" in sweep(stdin="n\n").stderr
    assert "1 object whose time is over." in sweep("--dry-run").stderr
    assert old.exists()
    assert "1 object whose time is over deleted for good." in sweep("--yes").stderr
    assert not old.exists()


def test_a_sweep_without_a_quarantine_asks_to_delete(
    run: Run, url: str, store: MemoryPropertyStore, leftover: Path
) -> None:
    words = ("deepstore", "sweep", str(TABLE), "--store", f"file://{leftover.parents[1]}", "--output", "json")
    options = ("--max-share", "100", "--quarantine-days", "0")
    done = run("--controller", url, *words, *options, stdin="y\n")
    assert "Delete 1 object (3 bytes) in file://" in done.stderr
    assert [
        (each["deleted"], each["moved_to"]) for each in json.loads(done.stdout[done.stdout.index("[") :])
    ] == [(True, "")]
    assert not leftover.exists()


def test_a_reservation_is_made_shown_and_released(run: Run, url: str, store: MemoryPropertyStore) -> None:
    def stop(*words: str) -> Result:
        return run("--controller", url, "deepstore", "safe-to-stop", "--store", "file:///s", *words)

    reserved = stop(A, "--reserve", "30")
    assert (reserved.exit_code, "Reserved for 30 minutes." in reserved.stderr) == (0, True), reserved.output
    for words in ((B,), (B, "--reserve", "5")):
        other = stop(*words)
        assert other.exit_code == 0
        assert f"{A} counts as down: reserved by " in other.stderr
    unknown = stop("Server_c_1", "--reserve", "5")
    assert "there is no server Server_c_1" in unknown.stderr
    released = stop(A, B, "--release", "--output", "json")
    assert [each["server"] for each in json.loads(released.stdout)] == [A, B]
    assert "counts as down" not in stop(A).stderr
    assert "exclude each other" in stop(A, "--release", "--reserve", "5").stderr
