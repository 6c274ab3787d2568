"""Shared by the tests of FileIngestionTask: a table with the task, and runs as users start them."""

from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests
from click.testing import CliRunner

from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.errors import NotFoundError, PartialResultError, PinotPluginError
from controller_client.helix import TaskQueues
from controller_client.models import Schema, TableConfig
from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.params.registration import register_task
from minion_tasks.file_ingestion.params.table_params import TASK_TYPE
from pinotctl.root import cli
from tests.support.cluster import PinotCluster
from tests.support.offline_tables import offline_table
from tests.support.wait import WaitError, wait_for

NUMBERS_SCHEMA: Mapping[str, Any] = {
    "dimensionFieldSpecs": [
        {"name": "id", "dataType": "INT"},
        {"name": "word", "dataType": "STRING"},
    ],
    "metricFieldSpecs": [{"name": "amount", "dataType": "DOUBLE"}],
}


_STARTED: list[subprocess.Popen[str]] = []


def start_pinotctl(controller_url: str, *arguments: str) -> subprocess.Popen[str]:
    """Start ``pinotctl`` as a separate process, in its own process group."""
    process = subprocess.Popen(
        [str(Path(sys.executable).with_name("pinotctl")), *arguments],
        env={**os.environ, "PINOT_CONTROLLER_URL": controller_url, "PINOTCTL_CONFIG": "/no/such/file"},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    _STARTED.append(process)
    return process


def end_started() -> None:
    """End the processes of :func:`start_pinotctl` that a failed test has left running."""
    while _STARTED:
        process = _STARTED.pop()
        if process.poll() is None:
            process.kill()
            process.communicate()


def invoke(controller_url: str, *arguments: str, stdin: str | None = None) -> Ran:
    """Run ``pinotctl`` in this process, which takes a second less; for commands that need no JVM."""
    words = ("--controller", controller_url, *arguments)
    log = io.StringIO()
    handler = logging.StreamHandler(log)
    handler.setLevel(logging.WARNING)  # as in a process that does not configure logging
    logging.getLogger().addHandler(handler)
    try:
        result = CliRunner().invoke(cli, words, env={"PINOTCTL_CONFIG": "/no/such/file"}, input=stdin)
    finally:
        logging.getLogger().removeHandler(handler)
    return Ran(result.exit_code, result.stdout, log.getvalue() + result.stderr)


class Pinotctl:
    """Runs ``pinotctl task`` in this process, and checks that its output contains no secret of the tests."""

    def __init__(self, controller_url: str) -> None:
        self._controller_url = controller_url

    def __call__(self, *arguments: str, code: int = 0, stdin: str | None = None) -> Ran:
        ran = invoke(self._controller_url, "task", *arguments, stdin=stdin)
        assert ran.code == code, ran
        assert "canary" not in ran.out + ran.err
        return ran

    def json(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "--output", "json").out)


def ended(process: subprocess.Popen[str], timeout_s: float = 600) -> Ran:
    """Wait for the end of a process and return its output."""
    out, err = process.communicate(timeout=timeout_s)
    return Ran(process.returncode, out, err)


@dataclass
class Ran:
    """The result of one ``pinotctl`` call."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        """What a run reports that must have succeeded."""
        assert self.code == 0, f"exit code {self.code}\n{self.out}\n{self.err}"
        value: dict[str, Any] = json.loads(self.out)
        return value

    @property
    def failed(self) -> str:
        """What a run says that must have failed."""
        assert self.code != 0, f"it succeeded: {self.out}\n{self.err}"
        return self.err

    @property
    def error_type(self) -> str:
        return str(json.loads(self.failed.splitlines()[-1])["error"]["type"])


@dataclass
class IngestionTable:
    """An OFFLINE table with FileIngestionTask, created for one test."""

    name: str
    client: ControllerClient
    broker: BrokerClient
    controller_url: str
    configs: dict[str, str] = field(default_factory=dict)
    schema_name: str = ""
    """Where it is not the table's."""

    @property
    def with_type(self) -> TableName:
        return TableName(f"{self.name}_OFFLINE")

    def create(
        self, schema: Mapping[str, Any] = NUMBERS_SCHEMA, *, replication: int = 1, **config: Any
    ) -> IngestionTable:
        schema_name = self.schema_name or self.name
        self.client.schemas.create(Schema.from_json({"schemaName": schema_name, **schema}), override=True)
        document = offline_table(self.name, replicas=replication, schema_name=schema_name)
        self.client.tables.create(TableConfig.from_json({**document, **config}))
        return self

    def register(self, input_dir: str | Path, input_format: str, **more: str) -> IngestionTable:
        uri = f"file://{input_dir}" if isinstance(input_dir, Path) else input_dir
        self.configs = {
            "inputDirURI": uri,
            "inputFormat": input_format,
            "consistentPushEnabled": "true",
            **{key.replace("__", "."): value for key, value in more.items()},
        }
        register_task(self.client.tables, self.with_type, self.configs)
        return self

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start ``pinotctl task run`` as its own process."""
        return start_pinotctl(self.controller_url, "task", "run", self.name, "--output", "json", *arguments)

    def run(self, *arguments: str) -> Ran:
        """Run the task to its end, in this process."""
        return invoke(self.controller_url, "task", "run", self.name, "--output", "json", *arguments)

    def value(self, sql: str) -> Any:
        """Return the single value of a query's result."""
        return self.broker.query(sql.format(t=self.name)).rows[0][0]

    def count(self) -> int:
        """Return the number of rows that queries see; a query of a table without segments returns no row."""
        rows = self.broker.query(f"select count(*) from {self.name}").rows
        return int(rows[0][0]) if rows else 0

    def wait_count(self, rows: int) -> None:
        """Wait until queries see this number of rows: a broker may answer from before for some moments."""
        try:
            wait_for(lambda: self.count() == rows, f"{rows} rows in {self.name}")
        except WaitError as error:
            error.add_note(f"it has {self.count()} rows")
            raise

    def segments(self) -> list[str]:
        return self.client.segments.list(self.with_type, exclude_replaced=False)

    def tasks(self) -> dict[str, str]:
        """Return the states of the jobs of its runs, by name; Helix forgets jobs of the past at some time."""
        url = f"{self.controller_url}/tasks/{TASK_TYPE}/{self.with_type}/state"
        states: dict[str, str] = {}

        def is_answered() -> bool:
            answer = requests.get(url, headers={"Accept": "application/json"}, timeout=_REST_TIMEOUT_S)
            # 500 while a job of any table is being deleted.
            answer.raise_for_status()
            states.update(answer.json())
            return True

        wait_for(is_answered, f"the jobs of {self.with_type}")
        return states

    @contextmanager
    def polled(self) -> Iterator[Reader]:
        """Run a second reader that counts rows continuously, once the broker knows the table."""
        sql = f"select count(*), sum(id) from {self.name}"
        wait_for(lambda: self.broker.query(sql), f"the broker to know {self.name}")
        with reading(self.broker.config.urls, sql) as reader:
            yield reader


def forget_jobs(table: IngestionTable, pinot: PinotCluster) -> None:
    """Delete the jobs of a table's runs from their queue.

    At each change Helix reads every job: with a hundred jobs, controller and ZooKeeper spend most of their
    time on that.
    """
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        for name in table.tasks():
            with suppress(NotFoundError):
                TaskQueues(store).delete(name)


@contextmanager
def reading(broker_urls: Sequence[str], sql: str) -> Iterator[Reader]:
    """Repeat a query continuously during the block, once it has been answered."""
    with requests.Session() as session:
        session.trust_env = False  # tests change the environment meanwhile
        with BrokerClient(broker_urls, session=session) as broker:
            reader = Reader(broker, sql)
            reader.start()
            try:
                reader.poll_until(1)
                yield reader
            finally:
                reader.stop()


_POLL_PAUSE_S = 0.04
_REST_TIMEOUT_S = 60.0


class Reader(threading.Thread):
    """Repeats the same query continuously and records the answers in order.

    Attributes:
        seen: The answers, without consecutive duplicates. A table that returned to an older state is in it
            twice.
        partials: Answers that were marked as partial, of which there are none while all servers are alive.
        errors: Queries that failed in other ways.
    """

    def __init__(self, broker: BrokerClient, sql: str) -> None:
        super().__init__(name="reader", daemon=True)
        self._broker = broker
        self._sql = sql
        self._ended = threading.Event()
        self.tries = 0
        self.polls = 0
        self.seen: list[tuple[Any, ...]] = []
        self.partials: list[str] = []
        self.errors: list[str] = []

    def run(self) -> None:
        # The pause leaves the CPU to the watched processes.
        while not self._ended.wait(_POLL_PAUSE_S):
            self.poll()

    def poll(self) -> None:
        self.tries += 1
        try:
            rows = self._broker.query(self._sql).rows
        except PartialResultError as error:
            self.partials.append(str(error))
            return
        except PinotPluginError as error:
            self.errors.append(str(error))
            return
        answer = tuple(rows[0]) if rows else ()
        self.polls += 1
        if self.seen[-1:] != [answer]:
            self.seen.append(answer)

    def poll_until(self, count: int) -> None:
        """Wait for this number of answers."""
        self._wait(lambda: self.polls >= count, f"{count} answers to {self._sql}")

    def try_until(self, count: int) -> None:
        """Like `poll_until`, but polls without an answer count too."""
        self._wait(lambda: self.tries >= count, f"{count} tries of {self._sql}")

    def _wait(self, is_reached: Callable[[], bool], what: str) -> None:
        wait_for(lambda: is_reached() or not self.is_alive(), what, interval_s=0.01)
        assert self.is_alive(), "the reader has died"

    def stop(self) -> None:
        self._ended.set()
        self.join(30)


def write_numbers(folder: Path, name: str, first: int, count: int) -> Path:
    """Write a CSV file with consecutive ids, so that count and sum show exactly which files are ingested."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["id,word,amount", *(f"{n},w{n % 7},{n / 4}" for n in range(first, first + count))]
    # A schedule may list files at any moment, so a partial file must never exist.
    written = folder.with_name(f"{folder.name}-{uuid.uuid4().hex}")
    written.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return written.rename(folder / name)
