"""Two releases side by side: formats that differ, the content of ZooKeeper, interrupted runs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import requests

from controller_client.as_code.inventory import INVENTORY_FORMAT
from controller_client.common.formats import Format
from controller_client.consumption.recipes.plan import PLAN_FORMAT
from controller_client.consumption.state.pause_record import PAUSE_FORMAT
from controller_client.zookeeper import PropertyStore
from controller_client.zookeeper.holder import HOLDER_FORMAT
from minion_tasks.file_ingestion.engine.subtask import SUBTASK_FORMAT
from minion_tasks.file_ingestion.params.table_params import TASK_TYPE
from minion_tasks.file_ingestion.run.fired import FIRED_FORMAT
from minion_tasks.file_ingestion.session.records import GROUP_FORMAT, NAMES_FORMAT, SESSION_FORMAT
from minion_tasks.file_ingestion.session.store import sessions_path
from tests.faults.file_ingestion.killing import kill_when
from tests.integration.file_ingestion.ingestion import IngestionTable, Ran, ended
from tests.support.cluster import PinotCluster
from tests.support.expiry import expire_children
from tests.support.faulty_http import FaultyHttp, Rule
from tests.support.faulty_s3 import FaultyS3
from tests.support.releases import THIS, Release

__all__ = ["RAISED", "Sessions", "Znodes", "assert_refused", "delete_znode", "pinotctl", "refusal", "znodes"]

RAISED = (
    *(SESSION_FORMAT, GROUP_FORMAT, NAMES_FORMAT, SUBTASK_FORMAT, FIRED_FORMAT),
    *(HOLDER_FORMAT, PAUSE_FORMAT, PLAN_FORMAT, INVENTORY_FORMAT),
)
"""The formats of which the later release writes the next version."""

Znodes = Mapping[str, tuple[bytes, int]]
"""Content and version by path."""


def pinotctl(release: Release, pinot: PinotCluster, *words: str) -> Ran:
    """Run a command of a release and wait for its end."""
    return ended(release.start(*words, controller=pinot.controller_url))


def refusal(what: Format, where: str) -> str:
    """The error of this release for a record of the next version."""
    reads = f"{what.oldest} to {what.version}" if what.oldest < what.version else f"version {what.version}"
    return (
        f"{what.name} in {where} is of format version {what.version + 1}, but this process (pinot-plugins "
        f"{THIS.version}) reads {reads}: upgrade this process to the release that wrote it, or a later one"
    )


def assert_refused(ran: Ran, what: Format, where: str) -> None:
    """Assert that the command failed with that error and wrote nothing to stdout."""
    assert (ran.code, ran.out) == (1, ""), ran
    assert ran.err.splitlines()[-1] == f"Error: {refusal(what, where)}"
    assert "Traceback" not in ran.err


def znodes(store: PropertyStore, path: str) -> Znodes:
    """Everything at and below a path of the property store."""
    return dict(_znodes(store, f"/{store.cluster_name}/PROPERTYSTORE{path}"))


def _znodes(store: PropertyStore, path: str) -> Iterator[tuple[str, tuple[bytes, int]]]:
    found = store.connection.get(path)
    if found is not None:
        yield path, found
        for name in store.connection.children(path) or ():
            yield from _znodes(store, f"{path}/{name}")


def delete_znode(pinot: PinotCluster, path: str) -> None:
    """Delete a record of the property store by the controller's REST API, as in docs/upgrades.md."""
    requests.delete(
        f"{pinot.controller_url}/zk/delete",
        params={"path": f"/{pinot.cluster_name}/PROPERTYSTORE{path}"},
        timeout=60,
    ).raise_for_status()


class Sessions:
    """The stored sessions of a table, whatever their version, and interrupted runs of it.

    Args:
        table: The table.
        pinot: The cluster.
        store: Its property store.
        controller: The proxy in front of the controller, for the interrupted runs.
        s3: The proxy in front of the S3 server with the table's source.
    """

    def __init__(
        self,
        table: IngestionTable,
        pinot: PinotCluster,
        store: PropertyStore,
        controller: FaultyHttp | None = None,
        s3: FaultyS3 | None = None,
    ) -> None:
        self.path = sessions_path(table.with_type)
        self._table = table
        self._pinot = pinot
        self._store = store
        self._controller = controller
        self._s3 = s3

    def ids(self) -> list[str]:
        """The sessions, oldest first."""
        return sorted(self._store.children(self.path))

    def last(self) -> Mapping[str, str]:
        """The fields of the latest one."""
        return self._fields(f"{self.path}/{self.ids()[-1]}")

    def files(self) -> list[Mapping[str, str]]:
        """The fields of the records of its files."""
        groups = f"{self.path}/{self.ids()[-1]}/groups"
        return [self._fields(f"{groups}/{name}") for name in sorted(self._store.children(groups))]

    def statuses(self) -> list[str]:
        """The statuses of its files."""
        return [
            entry.get("status", "pending")
            for fields in self.files()
            for entry in json.loads(fields["entries"])
        ]

    @contextmanager
    def killed_reading(self, release: Release) -> Iterator[None]:
        """Kill a run while one of its subtasks reads the source; the subtask continues after the block."""
        assert self._s3 is not None
        with self._killed(release, self._s3.hold("GET", "*/in/*", times=None)):
            yield

    @contextmanager
    def killed_switching(self, release: Release) -> Iterator[None]:
        """Kill a run in its switch, before it reads the response that its lineage entry was opened."""
        assert self._controller is not None
        call = f"segments/{self._table.name}/startReplaceSegments"
        with self._killed(release, self._controller.hold_reply("POST", call)):
            yield

    @contextmanager
    def _killed(self, release: Release, held: Rule) -> Iterator[None]:
        assert self._controller is not None
        run = release.start("task", "run", self._table.name, controller=self._controller.url)
        try:
            # Its subtasks are recorded by then: whoever resumes the session waits for them.
            kill_when(
                run,
                lambda: held.was_hit and "taskName" in self.last(),
                f"{held.operation} of {held.key} to be held",
            )
            # As if the session's timeout had passed, after which the dead run's lock is free.
            lock = f"/{self._pinot.cluster_name}/PINOT_PLUGINS/locks/{self._table.with_type}/{TASK_TYPE}"
            expire_children(self._pinot.zookeeper_address, lock)
            yield
        finally:
            held.lift()
            _end(run)

    def _fields(self, path: str) -> Mapping[str, str]:
        found = self._store.get(path)
        assert found is not None, path
        return found.record.simple_fields


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.kill()
    process.communicate()
