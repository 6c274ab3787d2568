"""A run in two steps, for callers that cannot wait: started by one process, ended by another.

::

    report = begin_run(tools, "flights", "nightly/2026-11-25")
    while report.outcome is RunOutcome.BEGUN:
        ...                                     # until RunWatch reports that its subtasks are over
        report = end_run(tools, "flights", "nightly/2026-11-25", report.session_id)

Between the steps, nobody holds the table's lock: minions do the work, and all state is in the session. A run
carries the name of its request, so a repeated request finds the session that its first try started, and
continues that session instead of starting another. Another run of the table may continue it as well; then it
is done before it is ended here. If the table's task has no retries left, such a run discards it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from controller_client.common.names import TableName
from controller_client.errors import ConflictError, NotFoundError
from controller_client.zookeeper import TableLock
from minion_tasks.file_ingestion.engine.minion import MINION, MinionEngine, NoMinionError
from minion_tasks.file_ingestion.params.registration import load_params, load_params_to_run, offline_table
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.plan.write import SavedSession
from minion_tasks.file_ingestion.run.publish import Publication
from minion_tasks.file_ingestion.run.resuming import unfit_reason
from minion_tasks.file_ingestion.run.source_view import SourceView
from minion_tasks.file_ingestion.run.steps import LockedRun
from minion_tasks.file_ingestion.run.types import RunOutcome, RunReport, RunTools
from minion_tasks.file_ingestion.session.model import Session, SessionState
from minion_tasks.file_ingestion.session.progress import SessionProgress, read_progress
from minion_tasks.file_ingestion.session.store import DamagedSessionError, SessionStore

__all__ = ["RunWatch", "SteppedRun", "begin_run", "end_run", "stop_run"]


def begin_run(tools: RunTools, table_name: str, request: str, *, lock_wait_s: float = 0.0) -> RunReport:
    """Start a run, or find the one that an earlier try of the same request has started.

    Args:
        tools: What the run works with.
        table_name: With or without ``_OFFLINE``.
        request: Name of the request, the same for each try.
        lock_wait_s: How long to wait for another run of the same table.

    Returns:
        A report. With the outcome ``begun``, watch its session and then end it; the session may belong to
        another request, which goes first. With any other outcome there is nothing to wait for. If the table's
        engine is not ``minion``, the run ends here, since its subtasks do not outlive this process.

    Raises:
        PinotPluginError: As for :func:`~minion_tasks.file_ingestion.run.run_task`.
    """
    table = offline_table(tools.client, table_name)
    params = load_params_to_run(tools.client, table)
    with tools.lock(table) as lock:
        lock.acquire(lock_wait_s)
        sessions = SessionStore(tools.store, table)
        if tools.engine.name_of(params) != MINION:
            return LockedRun(tools, table, params, sessions, lock, request).trigger()
        return _stepped(tools, params, sessions, lock, request).trigger()


def end_run(
    tools: RunTools, table_name: str, request: str, session_id: str, *, lock_wait_s: float = 0.0
) -> RunReport:
    """End a run whose subtasks are over: switch, or report what failed.

    Returns:
        The report of the request's own run. With the outcome ``begun``, the session belonged to another
        request and has ended, and a session of this request is now in progress.

    Raises:
        ConflictError: Another run has discarded the session.
        PinotPluginError: As for :func:`~minion_tasks.file_ingestion.run.run_task`.
    """
    table = offline_table(tools.client, table_name)
    params = load_params(tools.client, table)
    with tools.lock(table) as lock:
        lock.acquire(lock_wait_s)
        sessions = SessionStore(tools.store, table)
        return _stepped(tools, params, sessions, lock, request).end(session_id)


def stop_run(tools: RunTools, table_name: str, session_id: str) -> bool:
    """Cancel the subtasks of a run; staged segments remain for the next run and stay invisible to queries.

    Returns:
        Whether there were subtasks to cancel.
    """
    session = SessionStore(tools.store, offline_table(tools.client, table_name)).load(session_id)
    if not session.is_open or session.state is not SessionState.IN_PROGRESS or session.task_name is None:
        return False
    tools.engine.cancel(session.task_name)
    return True


class RunWatch:
    """Watches a started session, without a lock.

    Args:
        tools: The tools of the run.
        table_name: With or without ``_OFFLINE``.
        session_id: The session.
    """

    def __init__(self, tools: RunTools, table_name: str, session_id: str) -> None:
        self._table = offline_table(tools.client, table_name)
        self._params = load_params(tools.client, self._table)
        self._sessions = SessionStore(tools.store, self._table)
        self._session_id = session_id
        self._engine = _minions(tools)
        self._job: tuple[str, Callable[[], bool]] | None = None

    def poll(self) -> tuple[bool, SessionProgress | None]:
        """Return whether the session can be ended now, and its progress; None if it does not exist."""
        try:
            session = self._sessions.load(self._session_id)
        except NotFoundError:
            return True, None
        progress = read_progress(self._sessions, session)
        if session.state is not SessionState.IN_PROGRESS or not session.is_open or progress.is_settled:
            return True, progress
        return self._job_is_over(session), progress

    def _job_is_over(self, session: Session) -> bool:
        if session.task_name is None:
            # A run that is resuming it is about to submit subtasks or was killed; ending it finds out.
            return True
        if self._job is None or self._job[0] != session.task_name:
            self._job = (session.task_name, self._engine.watch(session.task_name, self._params))
        try:
            return self._job[1]()
        except NoMinionError:
            return True  # ending the run reports it


class SteppedRun(LockedRun):
    """One of the two steps, with the table's lock held.

    Args:
        tools: The tools of the run.
        table: Table name with type.
        params: The parameters of the table's task.
        sessions: The table's sessions.
        lock: The table's lock, acquired.
        request: Name of the request.
        is_over: Returns whether a job has no subtask that is or will be running.
    """

    def __init__(
        self,
        tools: RunTools,
        table: TableName,
        params: FileIngestionParams,
        sessions: SessionStore,
        lock: TableLock,
        request: str,
        *,
        is_over: Callable[[str], bool],
    ) -> None:
        super().__init__(tools, table, params, sessions, lock, request)
        self._is_over = is_over
        self._ending = False

    def end(self, session_id: str) -> RunReport:
        """End a started session; see :func:`end_run`."""
        session = self._sessions.load(session_id)
        if session.abandoned:
            raise ConflictError(
                f"session {session_id} was discarded by another run: {session.message}",
                where=self._table,
                remedy="run the task again; make sure that no other process runs it, or set"
                " consistentPushMaxRetries",
            )
        if session.state is SessionState.DONE:
            report = self._done_before(session)
        else:
            ended = self._end_open(session)
            if ended is None:
                raise ConflictError(
                    f"session {session_id} can no longer be ended",
                    where=self._table,
                    remedy="run the task again",
                )
            report = ended
        return report if self._is_enough(report) else self.trigger()

    def _end_open(self, session: Session) -> RunReport | None:
        if session.state is not SessionState.IN_PROGRESS:
            return super()._continue_last()
        self._ending = True
        try:
            # What a later version lacks is still part of this one.
            return super()._stage_and_finish(session, self._view(session.source_version))
        finally:
            self._ending = False

    def _is_enough(self, report: RunReport) -> bool:
        if report.outcome is RunOutcome.BEGUN or report.session_id is None:
            return True
        # A session of another request lacks files that were added to the source since it started.
        return self._sessions.load(report.session_id).request == self._request

    def _continue_last(self) -> RunReport | None:
        latest = self._sessions.latest()
        if (
            latest is None
            or not latest.is_open
            or latest.state is not SessionState.IN_PROGRESS
            or latest.task_name is None
            or unfit_reason(latest, self._params, self._sessions) is not None
        ):
            return super()._continue_last()
        if read_progress(self._sessions, latest).is_settled:
            return self._end_open(latest)
        if not self._is_over(latest.task_name):
            return self._report(RunOutcome.BEGUN, latest, None, None)
        return super()._continue_last()

    def _start(self) -> RunReport:
        report = super()._start()
        if report.outcome is not RunOutcome.NOTHING_NEW:
            return report
        for session_id in reversed(self._sessions.ids()):
            with contextlib.suppress(DamagedSessionError, NotFoundError):
                found = self._sessions.load(session_id)
                if found.request == self._request and found.state is SessionState.DONE:
                    return self._done_before(found)
        return report

    def _stage_and_finish(self, session: Session, view: SourceView) -> RunReport:
        with self._kept_or_discarded(session) as saved:
            if self._submit(saved):
                return self._report(RunOutcome.BEGUN, saved.session, None, view)
        return super()._stage_and_finish(saved.session, view)

    def _run_subtasks(self, saved: SavedSession) -> None:
        if self._ending:
            self._ending = False
            self._await_subtasks(saved.session)
        else:
            super()._run_subtasks(saved)

    def _done_before(self, session: Session) -> RunReport:
        publication = Publication.of(self._sessions, session)
        return self._report(RunOutcome.DONE_BEFORE, session, publication, None)


def _stepped(
    tools: RunTools, params: FileIngestionParams, sessions: SessionStore, lock: TableLock, request: str
) -> SteppedRun:
    is_over = _minions(tools).is_over
    return SteppedRun(tools, sessions.table, params, sessions, lock, request, is_over=is_over)


def _minions(tools: RunTools) -> MinionEngine:
    return MinionEngine(tools.client, tools.store, tools.clock)
