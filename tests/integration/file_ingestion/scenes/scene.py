"""The setting of the scenes: a table, and its source behind a proxy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from controller_client.rest.lineage import LineageEntry
from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.params.registration import register_task
from minion_tasks.file_ingestion.session.model import FileStatus, Session
from minion_tasks.file_ingestion.session.store import SessionStore
from tests.integration.file_ingestion.ingestion import IngestionTable, Ran, Reader, ended, reading
from tests.integration.file_ingestion.scenes.source import Figures, Source, figures, whole
from tests.support.cluster import PinotCluster
from tests.support.needs import Need, has
from tests.support.reader_polls import TALLY
from tests.support.spark import LOCAL_SPARK, spark_words
from tests.support.staging import staging_folder
from tests.support.wait import WaitError, wait_for

__all__ = [
    "APPEND",
    "APPEND_SHARED",
    "MODES",
    "NO_ROW",
    "NO_SEGMENT",
    "SPARK",
    "SWAP",
    "SYNC",
    "Polled",
    "Scene",
    "whole",
]

APPEND = {"consistentPushEnabled": "true", "taskMaxNumFilesPerTask": "1"}
APPEND_SHARED = {"consistentPushEnabled": "true"}
UPDATE = {"consistentPushEnabled": "true", "replaceChangedFiles": "true"}
SYNC = {"enableSync": "true", "consistentPushEnabled": "true"}
SWAP = {"consistentPushSwapEnabled": "true"}
MODES = {
    "append, one file per subtask": APPEND,
    "append, files share segments": APPEND_SHARED,
    "update": UPDATE,
    "sync": SYNC,
    "swap": SWAP,
}

SPARK = spark_words(LOCAL_SPARK)

_AT_THE_END = 10
"""Number of answers that a reader collects after the last change."""

Polled = tuple[Any, ...]
NO_SEGMENT: Polled = ()
"""The answer of a query of a table without segments; since `Need.EMPTY_ANSWERS` it is `NO_ROW` as well."""
NO_ROW: Polled = (0, 0.0)
"""The answer for a table with an empty segment."""


@dataclass
class Scene:
    """The setting of a scene."""

    pinot: PinotCluster
    table: IngestionTable
    source: Source
    store: PropertyStore

    @property
    def sessions(self) -> SessionStore:
        return SessionStore(self.store, self.table.with_type)

    def begin(
        self, mode: Mapping[str, str], table_config: Mapping[str, Any] | None = None, **more: str
    ) -> None:
        """Create the table and register its task."""
        self.table.create(**(table_config or {}))
        self.register(mode, **more)
        wait_for(lambda: self.table.count() == 0, "the broker to know the table")

    def register(self, mode: Mapping[str, str], **more: str) -> None:
        """Register the task; in keywords, ``__`` represents a dot."""
        self.table.configs = {
            **self.source.proxy.access.task_parameters,
            "inputDirURI": self.source.uri,
            "inputFormat": "csv",
            "includeFileNamePattern": "glob:**/*.csv",
            **mode,
            **{key.replace("__", "."): value for key, value in more.items()},
        }
        register_task(self.table.client.tables, self.table.with_type, self.table.configs)

    def trigger(self) -> Ran:
        """Run the task to its end; with the engine spark in a process, as it starts a JVM."""
        if self.table.configs.get("engine") == "spark":
            return ended(self.table.start(*SPARK))
        return self.table.run()

    def figures(self) -> Figures:
        """Return the rows of each version of a file in the table."""
        sql = f"select word, count(*), sum(id) from {self.table.name} group by word limit 1000"
        return {word: (int(count), float(total)) for word, count, total in self.table.broker.query(sql).rows}

    def assert_serves(self, *versions: str) -> None:
        """Wait until the table contains exactly these versions of files, each row once.

        A broker may answer from before for some moments after a switch.
        """
        expected = figures(versions)
        try:
            wait_for(lambda: self.figures() == expected, f"the rows of {versions}")
        except WaitError as error:
            raise AssertionError(f"the table contains {self.figures()} instead of {expected}") from error

    def assert_session(self, session_id: str | None, state: str, retry_count: int) -> None:
        """Return the fields of a session in ZooKeeper."""
        path = f"/MINION_TASK_METADATA/{self.table.with_type}/FileIngestionTask/consistentPush/{session_id}"
        found = self.store.get(path)
        assert found is not None, path
        fields = found.record.simple_fields
        found_as = (fields["state"], fields["retryCount"])
        assert found_as == (state, str(retry_count)), f"session {session_id}: {found_as}"

    def latest(self) -> Session:
        session = self.sessions.latest()
        assert session is not None
        return session

    def statuses(self) -> dict[str, FileStatus]:
        """Return the result of each file in the latest session."""
        return {
            entry.file.uri.rpartition("/")[2].removesuffix(".csv"): entry.status
            for group in self.sessions.groups(self.latest())
            for entry in group.entries
        }

    def lineage(self) -> list[LineageEntry]:
        return self.table.client.lineage.list(self.table.with_type)

    @property
    def staging_uri(self) -> str:
        """The table's staging folder."""
        return f"{self.pinot.deep_store_uri}/{staging_folder(self.pinot, self.table.with_type)}"

    @property
    def staging(self) -> str:
        """The same, as named by the proxy."""
        return self.staging_uri.removeprefix("s3://")

    def staged(self) -> list[str]:
        """The files in the staging folder."""
        bucket, _, prefix = self.staging.partition("/")
        s3 = self.pinot.s3.client()
        try:
            found = s3.list_objects_v2(Bucket=bucket, Prefix=f"{prefix}/").get("Contents", ())
        finally:
            s3.close()
        return [item["Key"] for item in found]

    @contextmanager
    def polled(self, *states: Polled) -> Iterator[Reader]:
        """Query the table continuously, and check that it has exactly these states one after the other.

        Args:
            states: All states that must be seen, in order; `whole` creates one.
        """
        wanted = _as_answered(states)
        sql = f"select count(*), sum(id) from {self.table.name}"
        with reading([self.pinot.broker_url], sql) as reader:
            try:
                yield reader
                reader.poll_until(reader.polls + _AT_THE_END)
                wait_for(lambda: wanted[-1] in _answers(reader), f"the reader to see {wanted[-1]}")
            finally:
                reader.stop()
                torn = TALLY.add(reader.polls, _answers(reader), wanted)
        assert torn == [], f"the reader saw {torn} besides {wanted}"
        assert _answers(reader) == wanted, f"the reader saw {_answers(reader)} instead of {wanted}"
        assert not reader.errors, reader.errors
        assert not reader.partials, reader.partials


def _as_answered(states: Sequence[Polled]) -> list[Polled]:
    """Return the states as answered by this version of Pinot, with equal consecutive ones merged."""
    if has(Need.EMPTY_ANSWERS):
        states = [NO_ROW if state == NO_SEGMENT else state for state in states]
    return [state for state, _ in groupby(states)]


def _answers(reader: Reader) -> list[Polled]:
    return [(int(answer[0]), float(answer[1])) if answer else () for answer in list(reader.seen)]
