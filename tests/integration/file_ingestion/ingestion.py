"""Shared by the tests of FileIngestionTask: a table with the task, and runs as users start them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests

from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.errors import NotFoundError, PartialResultError, PinotPluginError
from controller_client.helix import TaskQueues
from controller_client.models import Schema, TableConfig
from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.params.registration import register_task
from minion_tasks.file_ingestion.params.table_params import TASK_TYPE
from tests.support.cluster import PinotCluster
from tests.support.offline_tables import offline_table
from tests.support.wait import wait_for

NUMBERS_SCHEMA: Mapping[str, Any] = {
    "dimensionFieldSpecs": [
        {"name": "id", "dataType": "INT"},
        {"name": "word", "dataType": "STRING"},
    ],
    "metricFieldSpecs": [{"name": "amount", "dataType": "DOUBLE"}],
}


def start_pinotctl(controller_url: str, *arguments: str) -> subprocess.Popen[str]:
    """Start ``pinotctl`` as a separate process, in its own process group."""
    return subprocess.Popen(
        [str(Path(sys.executable).with_name("pinotctl")), *arguments],
        env={**os.environ, "PINOT_CONTROLLER_URL": controller_url, "PINOTCTL_CONFIG": "/no/such/file"},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


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
        assert self.code == 0, f"exit code {self.code}\n{self.out}\n{self.err}"
        value: dict[str, Any] = json.loads(self.out)
        return value


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
        return ended(self.start(*arguments))

    def value(self, sql: str) -> Any:
        """Return the single value of a query's result."""
        return self.broker.query(sql.format(t=self.name)).rows[0][0]

    def count(self) -> int:
        """Return the number of rows that queries see; a query of a table without segments returns no row."""
        rows = self.broker.query(f"select count(*) from {self.name}").rows
        return int(rows[0][0]) if rows else 0

    def segments(self) -> list[str]:
        return self.client.segments.list(self.with_type, exclude_replaced=False)

    def tasks(self) -> dict[str, str]:
        """Return the states of the jobs of its runs, by name; Helix forgets jobs of the past at some time."""
        url = f"{self.controller_url}/tasks/{TASK_TYPE}/{self.with_type}/state"
        answer = requests.get(url, headers={"Accept": "application/json"}, timeout=_REST_TIMEOUT_S)
        answer.raise_for_status()
        states: dict[str, str] = answer.json()
        return states

    @contextmanager
    def polled(self) -> Iterator[Reader]:
        """Run a second reader that counts rows continuously, once the broker knows the table."""
        wait_for(
            lambda: self.broker.query(f"select count(*) from {self.name}"), f"the broker to know {self.name}"
        )
        reader = Reader(self.broker, f"select count(*), sum(id) from {self.name}")
        reader.start()
        try:
            yield reader
        finally:
            reader.stop()


def forget_jobs(table: IngestionTable, pinot: PinotCluster) -> None:
    """Delete the jobs of a table's runs from their queue.

    At each change Helix reads every job: with a hundred jobs, controller and ZooKeeper spend most of their
    time on that.
    """
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        for name in table.tasks():
            with suppress(NotFoundError):
                TaskQueues(store).delete(name)


_POLL_PAUSE_S = 0.02
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
        while self.polls < count and self.is_alive():
            self._ended.wait(0.01)

    def try_until(self, count: int) -> None:
        """Like `poll_until`, but polls without an answer count too."""
        while self.tries < count and self.is_alive():
            self._ended.wait(0.01)

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
