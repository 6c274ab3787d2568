"""Runs the loop of ``pinotctl scheduler`` with a clock that the test controls; runs as a child process.

Arguments: controller URL, ZooKeeper, cluster name. Commands are lines of JSON on stdin, each is answered by
a line on stdout:

- ``{"table": NAME, "now": EPOCH_S}``: only this table's schedule counts from now on; the clock jumps there.
- ``{"until": EPOCH_S, "lock_wait_s": S}``: the clock advances in steps; due runs are run to their end. The
  answer has each run's report or error.
- ``{"build": PATH, "table": NAME, "segment": NAME, "folder": PATH}``: builds a segment of a CSV, outside
tasks.

Only triggers use that clock: runs use the machine's, like everything else in the cluster.
"""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any, TypeVar

from controller_client.client import ControllerClient
from controller_client.clock import SystemClock
from controller_client.common.names import TableName
from controller_client.config import ControllerConfig
from controller_client.errors import PinotPluginError
from controller_client.zookeeper import PropertyStore
from jvm_bridge.builder import FileFormat, SegmentBuilder
from jvm_bridge.cron import CronSchedule
from minion_tasks.file_ingestion.engine.choose import Engines
from minion_tasks.file_ingestion.engine.minion import Engine, EngineContext, MinionEngine
from minion_tasks.file_ingestion.run.trigger import RunTools, run_scheduled
from minion_tasks.scheduler import Scheduler
from minion_tasks.schedules import Schedules
from tests.support.spark import LOCAL_SPARK

T = TypeVar("T")

STEP_S = 600.0
MADE = "made by another scheduler"
_POLL_INTERVAL_S = 0.1


class SteeredClock:
    """A clock that sleeps until the test advances the time."""

    def __init__(self, next_command: Callable[[], None]) -> None:
        self._next_command = next_command
        self._now_s = 0.0
        self._until_s = 0.0

    def set(self, now_s: float) -> None:
        self._now_s = self._until_s = now_s

    def let_go(self, until_s: float) -> None:
        self._until_s = until_s

    def now(self) -> float:
        return self._now_s

    def monotonic(self) -> float:
        return self._now_s

    def sleep(self, seconds: float) -> None:
        before = self._now_s
        while self._now_s >= self._until_s:
            self._next_command()
            if self._now_s != before:
                return  # the time was set: the schedules are read as of this time
        self._now_s = min(self._now_s + seconds, self._until_s)


class AtOnce(Executor):
    """Runs submitted functions before returning."""

    def submit(self, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        function(*args, **kwargs)
        return Future()


class Program:
    """The scheduler and the commands of the test."""

    def __init__(self, client: ControllerClient, tools: RunTools, answers: int) -> None:
        self._client = client
        self._tools = tools
        self._answers = os.fdopen(answers, "w")
        self._clock = SteeredClock(self._next_command)
        self._stop = threading.Event()
        self._table = ""
        self._read: Mapping[TableName, str] | None = None
        """The schedules as of the last command: time passes in steps, each of which would read all tables."""
        self._lock_wait_s = 0.0
        self._runs: list[dict[str, Any]] = []
        self._unanswered = False

    def serve(self) -> None:
        self._answer({})
        Scheduler(
            self._schedules,
            self._run,
            CronSchedule,
            self._clock,
            refresh_s=STEP_S,
            tick_s=STEP_S,
            pool=AtOnce(),
        ).serve(self._stop)

    def _schedules(self) -> Mapping[TableName, str]:
        if self._read is None:
            self._read = Schedules(
                self._tools.store
            ).read()  # not by watches, which may lag behind the command
        return {name: cron for name, cron in self._read.items() if name == self._table}

    def _run(self, table: TableName, scheduled_s: float) -> None:
        run: dict[str, Any] = {"at": self._clock.now()}
        started = time.monotonic()
        try:
            report = run_scheduled(self._tools, table, scheduled_s, lock_wait_s=self._lock_wait_s)
            if report is None:
                run["report"] = {"outcome": MADE}
            else:
                run["report"] = dataclasses.asdict(report)
        except PinotPluginError as error:
            run["error"] = {"type": type(error).__name__, "text": str(error)}
            raise
        finally:
            run["seconds"] = time.monotonic() - started
            self._runs.append(run)

    def _next_command(self) -> None:
        """Answer and read the next command; called when the granted time has passed."""
        if self._unanswered:
            runs, self._runs = self._runs, []
            self._answer({"runs": runs})
        line = sys.stdin.readline()
        self._read = None
        if not line:
            self._stop.set()
            self._clock.let_go(self._clock.now() + 1)
            return
        command = json.loads(line)
        self._unanswered = True
        if "now" in command:
            self._table = command["table"]
            self._clock.set(command["now"])
        elif "build" in command:
            self._build(command)
        else:
            self._lock_wait_s = command["lock_wait_s"]
            self._clock.let_go(command["until"])

    def _build(self, command: Mapping[str, str]) -> None:
        table, raw = self._client.tables.get(command["table"]), command["table"].rpartition("_")[0]
        schema = self._client.schemas.get(raw)
        builder = SegmentBuilder(table.to_json(), schema.to_json(), Path(command["folder"]))
        built = builder.from_file(Path(command["build"]), FileFormat.CSV, command["segment"])
        self._unanswered = False
        self._answer({"tar": str(built.tar_path)})

    def _answer(self, document: Mapping[str, Any]) -> None:
        self._answers.write(json.dumps(document) + "\n")
        self._answers.flush()


def main() -> None:
    controller_url, zookeeper_address, cluster_name = sys.argv[1:]
    # Redirect everything else that is written to stdout, including by Java, to stderr.
    answers = os.dup(1)
    os.dup2(2, 1)
    clock = SystemClock()
    with (
        ControllerClient(ControllerConfig(controller_url)) as client,
        PropertyStore(zookeeper_address, cluster_name) as store,
    ):

        def minion() -> Engine:
            return MinionEngine(client, store, clock, poll_interval_s=_POLL_INTERVAL_S)

        def spark() -> Engine:
            from spark_connectors.file_ingestion import open_engine

            return open_engine(EngineContext(client, store, clock, LOCAL_SPARK))

        engines = Engines({"minion": minion, "spark": spark})
        Program(client, RunTools(client, store, engines, clock), answers).serve()


if __name__ == "__main__":
    main()
