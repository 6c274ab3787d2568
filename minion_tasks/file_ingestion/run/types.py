"""What a run works with, what it reports, how it fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from controller_client.client import ControllerClient
from controller_client.clock import Clock
from controller_client.common.names import TableName
from controller_client.common.word_enum import WordEnum
from controller_client.errors import InputError, NotAppliedError
from controller_client.filestore import FileInfo
from controller_client.zookeeper import PropertyStore, TableLock, process_name
from minion_tasks.file_ingestion.engine.minion import Engine
from minion_tasks.file_ingestion.params.table_params import TASK_TYPE
from minion_tasks.file_ingestion.session.column_notes import DifferingColumn
from minion_tasks.file_ingestion.session.model import IngestionMode, Session
from minion_tasks.file_ingestion.session.progress import SessionProgress

_ERRORS_SHOWN = 10


class FilesFailedError(InputError):
    """Files of the session could not be turned into segments; the table is as it was."""


class NotBegunError(NotAppliedError):
    """A scheduled run could not begin, since the cluster does not answer; its trigger is still to be made."""


class RunOutcome(WordEnum):
    """How a run ended well."""

    SWITCHED = "switched"
    SWITCH_FINISHED = "switch_finished"
    """It finished the switch of an earlier run."""
    NOTHING_NEW = "nothing_new"
    BEGUN = "begun"
    """Its subtasks are submitted; whoever asked for it watches them, and ends it."""
    DONE_BEFORE = "done_before"
    """An earlier try, or another run, has brought the session to its end."""


@dataclass(frozen=True)
class RunReport:
    """What a run did.

    Attributes:
        replaced: Segments that went.
        behind: Servers that lacked new segments when it went on, and how many.
        left_out: How many files of the source the patterns left out; 0 where the source was not listed.
        left_out_first: Some of these.
        columns: How the columns of its files differ from the table's.
        changed: Files that are in the table in an older version: append mode does not read them again.
        skipped: Files that the run went on without.
    """

    table: TableName
    outcome: RunOutcome
    mode: IngestionMode
    session_id: str | None
    retry_count: int
    files: int
    rows: int
    segments: int
    replaced: int
    behind: tuple[tuple[str, int], ...]
    bytes_read: int
    staging_s: float
    switch_s: float
    left_out: int
    left_out_first: tuple[FileInfo, ...]
    columns: tuple[DifferingColumn, ...]
    changed: tuple[str, ...]
    skipped: tuple[str, ...]
    fallback_reasons: tuple[str, ...]


@dataclass(frozen=True)
class RunTools:
    """What a run works with.

    Attributes:
        client: The controller.
        store: ZooKeeper's property store of the cluster.
        engine: What runs the subtasks.
        clock: Time.
        on_progress: Called while subtasks run, in the run's own thread.
        on_session: Called, in that thread, when a run takes a session up: before its files are read, and
            before its switch; and when it discards one.
    """

    client: ControllerClient
    store: PropertyStore
    engine: Engine
    clock: Clock
    on_progress: Callable[[SessionProgress], None] = lambda _progress: None
    on_session: Callable[[Session], None] = lambda _session: None

    @property
    def now_ms(self) -> int:
        """The time, epoch milliseconds."""
        return int(self.clock.now() * 1000)

    @property
    def owner(self) -> str:
        """Who runs it: user, host and process."""
        return process_name()

    def lock(self, table: TableName) -> TableLock:
        """Make the lock that each run of a table holds."""
        return TableLock(self.store, table, TASK_TYPE, self.owner, clock=self.clock)


def summary(failures: Sequence[str]) -> str:
    """Join the first of the reasons why files failed, a line each."""
    more = f"\n  ... and {len(failures) - _ERRORS_SHOWN} more" if len(failures) > _ERRORS_SHOWN else ""
    return "\n  ".join(failures[:_ERRORS_SHOWN]) + more
