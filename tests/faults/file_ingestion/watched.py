"""A table with a changing source, which is ingested under faults while a reader polls the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import Protocol

from controller_client.common.names import TableName
from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.params.registration import register_task
from minion_tasks.file_ingestion.params.table_params import TASK_TYPE
from minion_tasks.file_ingestion.session.store import SessionStore
from tests.faults.file_ingestion.leftovers import wait_nothing_left
from tests.faults.file_ingestion.runs import Runners
from tests.integration.file_ingestion.ingestion import IngestionTable, Reader, reading
from tests.support.cluster import PinotCluster
from tests.support.reader_polls import TALLY
from tests.support.wait import wait_for

MODES: Mapping[str, Mapping[str, str]] = {
    "append": {"consistentPushEnabled": "true"},
    "sync": {"enableSync": "true", "consistentPushEnabled": "true"},
    "swap": {"consistentPushSwapEnabled": "true"},
}
ROWS = 10

State = tuple[int, float]
"""Count and sum of the ids, which show exactly which versions of files are ingested."""


class Source(Protocol):
    """The source of a table."""

    @property
    def configs(self) -> Mapping[str, str]:
        """Parameters of the task: the folder, and access to it."""
        ...

    def put(self, name: str, content: str) -> None:
        """Write a file, or replace it."""
        ...

    def delete(self, name: str) -> None:
        """Delete a file."""
        ...


@dataclass
class WatchedTable:
    """The table and its source.

    Attributes:
        files: The source files: the first id of the rows by name.
        held: First ids of the files whose rows are in the table.
        is_sound: Whether the last test passed, so that the next may use the table.
        between: States that queries may also see before the new one, because a segment was deleted by hand.
    """

    mode: str
    table: IngestionTable
    pinot: PinotCluster
    store: PropertyStore
    source: Source
    files: dict[str, int] = field(default_factory=dict, kw_only=True)
    held: set[int] = field(default_factory=set, kw_only=True)
    is_sound: bool = field(default=False, kw_only=True)
    between: list[State] = field(default_factory=list, kw_only=True)
    _given: int = field(default=0, kw_only=True)

    @property
    def name(self) -> TableName:
        return self.table.with_type

    @property
    def sessions(self) -> SessionStore:
        return SessionStore(self.store, self.name)

    @property
    def lock_path(self) -> str:
        return f"/{self.pinot.cluster_name}/PINOT_PLUGINS/locks/{self.name}/{TASK_TYPE}"

    @property
    def state(self) -> State:
        """The state that queries must see now."""
        return _state(self.held)

    def served(self) -> State:
        """The state that queries see now."""
        rows = self.table.broker.query(f"select count(*), sum(id) from {self.table.name}").rows
        return int(rows[0][0]), float(rows[0][1])

    def served_without(self, segment: str) -> State:
        """The state that queries see without the rows of a segment."""
        count, total = self.served()
        sql = f"select count(*), sum(id) from {self.table.name} where $segmentName = '{segment}'"
        rows = self.table.broker.query(sql).rows
        lost = rows[0] if rows and rows[0][0] else (0, 0.0)
        return count - int(lost[0]), total - float(lost[1])

    def make(self) -> None:
        """Create the table and add files to its source."""
        self.table.create(replication=2)
        for _ in range(2):
            self._put(self._new_name())

    def make_ready(self, runners: Runners) -> None:
        """Create the table and run its task twice, so that each later session deletes an older one."""
        self.make()
        self.register(0, {})
        self.held = set(self.files.values())
        assert runners.lasting().run(self.name).well["outcome"] == "switched"
        self.change()
        assert runners.lasting().run(self.name).well["outcome"] == "switched"

    def register(self, retries: int, more: Mapping[str, str]) -> None:
        """Register the task with one subtask per file."""
        self.table.configs = {
            **self.source.configs,
            "inputFormat": "csv",
            "consistentPushMaxRetries": str(retries),
            "taskMaxNumFilesPerTask": "1",
            **MODES[self.mode],
            **more,
        }
        register_task(self.table.client.tables, self.name, self.table.configs)

    def change(self) -> None:
        """Change the source so that there are two files to read and, except for append, segments to replace.

        In append mode there are two new files; in other modes one is rewritten, one deleted, and one new.
        """
        if self.mode == "append":
            self._put(self._new_name())
        else:
            rewritten, deleted = list(self.files)[:2]
            del self.files[deleted]
            self.source.delete(deleted)
            del self.files[rewritten]
            self._put(rewritten)
        self._put(self._new_name())
        if self.mode == "append":
            self.held |= set(self.files.values())
        else:
            self.held = set(self.files.values())

    @contextmanager
    def polled(self, old: State, *, may_fail: bool = False, unserved: bool = False) -> Iterator[Reader]:
        """Poll the table: it must be in its old state, then in its new one, and never in another.

        Args:
            old: The state before.
            may_fail: Queries may fail while a server is dead; wrong answers are never accepted.
            unserved: All servers of the table are dead for a while, when brokers answer as if it had no rows.
        """
        new = self.state
        self.between.clear()

        def answers() -> list[State]:
            served = [answer for answer in _answers(reader) if not (unserved and answer == (0, 0.0))]
            return [answer for answer, _ in groupby(served)]

        sql = f"select count(*), sum(id) from {self.table.name}"
        with reading([self.pinot.broker_url], sql) as reader:
            try:
                yield reader
                # A broker may still return the old state briefly after a switch.
                wait_for(lambda: new in answers(), f"the reader to see {new}")
                reader.poll_until(reader.polls + 10)
            finally:
                reader.stop()
                torn = TALLY.add(reader.polls, answers(), (old, *self.between, new))
        assert torn == [], f"the reader saw {torn} besides {old} and {new}"
        assert answers() in ([old, new], [old, *self.between, new])
        assert may_fail or (reader.errors, reader.partials) == ([], [])

    def assert_nothing_left(self) -> None:
        """Assert that a purge leaves only what is served and the last two sessions."""
        wait_nothing_left(self.table, self.pinot, self.store)
        sessions = self.sessions
        assert len(sessions.ids()) <= 2
        assert [s for s in map(sessions.load, sessions.ids()) if s.is_open] == []

    def _new_name(self) -> str:
        return f"{self._given:05d}.csv"

    def _put(self, name: str) -> None:
        first = self._given * 100
        self._given += 1
        lines = ["id,word,amount", *(f"{n},w{n % 7},{n / 4}" for n in range(first, first + ROWS))]
        self.source.put(name, "\n".join([*lines, ""]))
        self.files[name] = first


def _state(firsts: set[int]) -> State:
    return ROWS * len(firsts), float(sum(n for first in firsts for n in range(first, first + ROWS)))


def _answers(reader: Reader) -> list[State]:
    # The answer for a table without visible segments has no rows.
    return [(int(answer[0]), float(answer[1])) if answer else (0, 0.0) for answer in list(reader.seen)]
