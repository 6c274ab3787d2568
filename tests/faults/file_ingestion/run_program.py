"""Runs FileIngestionTask, or a rollback, in a child process that can be paused or killed at each step.

A step is a write of the run to the property store or one of its controller calls. Arguments: controller URL,
ZooKeeper, cluster name. A command is a line of JSON on stdin::

    {"table": NAME, "rollback": null or VERSION,
     "halt": null or {"how": "kill" or "pause", "when": "before" or "after",
     "step": NAME, "nth": N, "since": null or NAME of a step that has to be done first}}

The answer is ``{"event": "ended", ...}`` with the report or the error and all steps. A pause is answered with
``{"event": "paused"}`` before that, and the next line on stdin resumes the run.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import requests

from controller_client.client import ControllerClient
from controller_client.clock import SystemClock
from controller_client.config import ControllerConfig
from controller_client.errors import NotFoundError, PinotPluginError
from controller_client.zookeeper import PropertyStore, ZNRecord
from minion_tasks.file_ingestion.engine.minion import MinionEngine
from minion_tasks.file_ingestion.run.rollback import roll_back
from minion_tasks.file_ingestion.run.trigger import RunTools, run_task

_LOCK_WAIT_S = 120.0
_POLL_INTERVAL_S = 0.1
_SESSION_FIELDS = {"taskName": "task name", "segmentLineageEntryId": "entry id", "retryCount": "retry count"}


class Steps:
    """The steps of a run in order, and the one at which it halts."""

    def __init__(self, on_pause: Callable[[], None]) -> None:
        self._on_pause = on_pause
        self._mutex = threading.Lock()
        self._halt: Mapping[str, Any] | None = None
        self._armed = False
        self._came: Counter[str] = Counter()
        self.done: list[str] = []

    def begin(self, halt: Mapping[str, Any] | None) -> None:
        self._halt = halt
        self._armed = halt is not None and halt["since"] is None
        self._came.clear()
        self.done = []

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        self._reached("before", name)
        yield
        with self._mutex:
            self.done.append(name)
            if self._halt is not None and self._halt["since"] == name:
                self._armed = True
        self._reached("after", name)

    def _reached(self, when: str, name: str) -> None:
        with self._mutex:
            halt = self._halt
            if halt is None or not self._armed or (when, name) != (halt["when"], halt["step"]):
                return
            self._came[name] += 1
            if self._came[name] != halt["nth"]:
                return
            self._halt = None
        if halt["how"] == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        self._on_pause()


class SteppedStore(PropertyStore):
    """The property store, whose writes are steps."""

    def __init__(self, steps: Steps, zookeeper_address: str, cluster_name: str) -> None:
        super().__init__(zookeeper_address, cluster_name)
        self._steps = steps

    def create(self, path: str, record: ZNRecord) -> None:
        with self._steps.step(_part(path) or "session INIT"):
            super().create(path, record)

    def set(self, path: str, record: ZNRecord, expected_version: int) -> int:
        with self._steps.step(self._changed(path, record)):
            return super().set(path, record, expected_version)

    def delete(self, path: str, recursive: bool = False, *, expected_version: int | None = None) -> None:
        if self.get(path) is None:
            raise NotFoundError("no such record", where=path)
        with self._steps.step(f"{_part(path) or 'session'} deleted"):
            super().delete(path, recursive=recursive, expected_version=expected_version)

    def _changed(self, path: str, record: ZNRecord) -> str:
        before = self.get(path)
        old = before.record.simple_fields if before is not None else {}
        new = record.simple_fields
        if "state" not in new:
            return f"{_part(path)} changed"
        if new["abandoned"] == "true":
            return "session abandoned"
        if new["state"] != old.get("state"):
            return f"session {new['state']}"
        named = [name for key, name in _SESSION_FIELDS.items() if key in new and new[key] != old.get(key)]
        return named[0] if named else "session saved"


def _part(path: str) -> str | None:
    """Name the part of a session at a path; None for the session itself."""
    parts = path.partition("/consistentPush/")[2].split("/")
    if len(parts) == 1:
        return None
    kind = {"groups": "group", "from": "from page"}[parts[1]]
    return f"{kind} {int(parts[2])}"


class SteppedHttp(requests.Session):
    """The HTTP session of the controller's client, whose calls are steps."""

    def __init__(self, steps: Steps) -> None:
        super().__init__()
        self._steps = steps

    def request(self, method: str | bytes, url: str | bytes, *args: Any, **kwargs: Any) -> requests.Response:
        with self._steps.step(_call(str(method), str(url))):
            return super().request(method, url, *args, **kwargs)


def _call(method: str, url: str) -> str:
    parts = urlsplit(url).path.strip("/").split("/")
    if parts in (["v2", "segments"], ["segments", "batchUpload"]):
        return f"{method} push"
    # segments/{table}: the list; segments/{table}/{segment}/metadata: metadata; otherwise the last part.
    last = parts[0] if len(parts) == 2 else parts[-1]
    return f"{method} {last}"


def main() -> None:
    controller_url, zookeeper_address, cluster_name = sys.argv[1:]
    # Other output to stdout, such as Java's, goes to stderr.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(event: str, **document: Any) -> None:
        answers.write(json.dumps({"event": event, **document}) + "\n")
        answers.flush()

    def pause() -> None:
        answer("paused")
        sys.stdin.readline()

    steps = Steps(pause)
    clock = SystemClock()
    with (
        SteppedHttp(steps) as http,
        ControllerClient(ControllerConfig(controller_url), session=http) as client,
        SteppedStore(steps, zookeeper_address, cluster_name) as store,
    ):
        engine = MinionEngine(client, store, clock, poll_interval_s=_POLL_INTERVAL_S)
        answer("ready")
        while line := sys.stdin.readline():
            command = json.loads(line)
            steps.begin(command["halt"])
            ended: dict[str, Any] = {}
            try:
                tools, table = RunTools(client, store, engine, clock), command["table"]
                if (version := command["rollback"]) is None:
                    report = run_task(tools, table, lock_wait_s=_LOCK_WAIT_S)
                else:
                    report = roll_back(tools, table, version, lock_wait_s=_LOCK_WAIT_S)
                ended["report"] = dataclasses.asdict(report)
            except PinotPluginError as error:
                ended["error"] = {"type": type(error).__name__, "text": str(error)}
            answer("ended", steps=steps.done, **ended)


if __name__ == "__main__":
    main()
