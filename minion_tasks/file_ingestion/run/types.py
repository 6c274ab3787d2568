"""The tools, reports and errors of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from controller_client.client import ControllerClient
from controller_client.clock import Clock
from controller_client.common.names import TableName
from controller_client.common.text import WordEnum
from controller_client.errors import ConflictError, InputError, NotAppliedError
from controller_client.zookeeper import PropertyStore, TableLock, process_name
from minion_tasks.file_ingestion.engine.minion import Engine
from minion_tasks.file_ingestion.params.table_params import TASK_TYPE
from minion_tasks.file_ingestion.plan.planner import LeftOut
from minion_tasks.file_ingestion.session.column_notes import DifferingColumn
from minion_tasks.file_ingestion.session.model import IngestionMode, Session
from minion_tasks.file_ingestion.session.progress import SessionProgress
from minion_tasks.sources.base import SourceVersion


class FilesFailedError(InputError):
    """Files of the session could not be built into segments; the table is unchanged."""


class NotBegunError(NotAppliedError):
    """A scheduled run could not begin, since the cluster does not answer; its trigger has not been fired."""


class HeldError(ConflictError):
    """The table was rolled back, and its task does not follow the source until somebody says so."""


class RunOutcome(WordEnum):
    """How a run ended successfully."""

    SWITCHED = "switched"
    SWITCH_FINISHED = "switch_finished"
    """The run finished the switch of an earlier run."""
    NOTHING_NEW = "nothing_new"
    ROLLED_BACK = "rolled_back"
    """The table has returned to an earlier version."""
    BEGUN = "begun"
    """The run's subtasks are submitted; the caller watches them and then ends the run."""
    DONE_BEFORE = "done_before"
    """An earlier try or another run has already ended the session."""


@dataclass(frozen=True)
class RunReport:
    """The report of a run.

    Attributes:
        replaced: Number of replaced segments.
        behind: Servers that lacked new segments when it continued, and how many each lacked.
        by_patterns: Files of the source that the patterns excluded; none if the source was not listed.
        hidden: Files of the source that were hidden; likewise.
        columns: How the columns of its files differ from the table's.
        changed: Files that stay in the table in an older version, since append mode does not read them again.
        skipped: Files that the run skipped.
        source_version: The version of the lakehouse table that was read; None for a folder.
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
    by_patterns: LeftOut
    hidden: LeftOut
    columns: tuple[DifferingColumn, ...]
    changed: tuple[str, ...]
    skipped: tuple[str, ...]
    fallback_reasons: tuple[str, ...]
    source_version: SourceVersion | None = None


@dataclass(frozen=True)
class RunTools:
    """Everything that a run needs.

    Attributes:
        client: The controller.
        store: ZooKeeper's property store of the cluster.
        engine: Runs the subtasks.
        clock: The clock.
        on_progress: Called while subtasks run, in the run's own thread.
        on_session: Called in that thread when a run continues a session (before it reads files, and before
            the switch) and when it discards one.
    """

    client: ControllerClient
    store: PropertyStore
    engine: Engine
    clock: Clock
    on_progress: Callable[[SessionProgress], None] = lambda _progress: None
    on_session: Callable[[Session], None] = lambda _session: None

    @property
    def now_ms(self) -> int:
        """The current time in epoch milliseconds."""
        return int(self.clock.now() * 1000)

    @property
    def owner(self) -> str:
        """Who is running it: user, host and process."""
        return process_name()

    def lock(self, table: TableName) -> TableLock:
        """Create the lock that each run of a table holds."""
        return TableLock(self.store, table, TASK_TYPE, self.owner, clock=self.clock)
