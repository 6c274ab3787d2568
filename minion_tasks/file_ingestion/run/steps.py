"""The steps of a run with its table's lock: plan, stage, switch, resume or clear."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from controller_client.common.names import TableName
from controller_client.common.text import indented_lines
from controller_client.errors import ConflictError, PinotPluginError
from controller_client.filestore import FileInfo
from controller_client.zookeeper import TableLock
from minion_tasks.file_ingestion.engine.minion import NoMinionError
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.plan.planner import share_out
from minion_tasks.file_ingestion.plan.reconcile import reconcile_group
from minion_tasks.file_ingestion.plan.write import SavedSession, write_groups
from minion_tasks.file_ingestion.run.cleaning import Cleaning
from minion_tasks.file_ingestion.run.failures import failures_of, files_failed, others_published
from minion_tasks.file_ingestion.run.judging import check_room_to_publish, judge, rejection
from minion_tasks.file_ingestion.run.publish import Publication, publish, report_of
from minion_tasks.file_ingestion.run.resuming import abandon_reason, check_not_held
from minion_tasks.file_ingestion.run.source_view import SourceView, check_not_empty, check_room, view_source
from minion_tasks.file_ingestion.run.types import FilesFailedError, RunOutcome, RunReport, RunTools
from minion_tasks.file_ingestion.session.model import Session, SessionState, move
from minion_tasks.file_ingestion.session.naming import new_session_id
from minion_tasks.file_ingestion.session.progress import read_progress
from minion_tasks.file_ingestion.session.store import DamagedSessionError, SessionStore
from minion_tasks.sources.base import SourceVersion

logger = logging.getLogger(__name__)


class LockedRun:
    """One trigger of one table.

    Args:
        tools: The tools of the run.
        table: Table name with type.
        params: The parameters of the table's task.
        sessions: The table's sessions.
        lock: The table's lock, acquired.
        request: Name of the request, which new sessions carry.
    """

    def __init__(
        self,
        tools: RunTools,
        table: TableName,
        params: FileIngestionParams,
        sessions: SessionStore,
        lock: TableLock,
        request: str | None = None,
    ) -> None:
        self._tools = tools
        self._table = table
        self._params = params
        self._sessions = sessions
        self._lock = lock
        self._request = request
        self._cleaning = Cleaning(tools, table, params, sessions)
        self._staging_s = 0.0
        self._report_again_s = 0.0

    def trigger(self) -> RunReport:
        """Continue or discard the last session, then start a new one if needed."""
        if self._params.clear_state:
            logger.warning(
                "%s: clearConsistentPushState is true, so every run clears all sessions",
                self._table,
            )
            self._cleaning.clear_all()
        for _ in range(len(self._sessions.ids()) + 1):
            try:
                report = self._continue_last()
            except DamagedSessionError as error:
                self._cleaning.discard_damaged(error)
                continue  # the session before it is now the last
            if report is None:
                break
            if self._is_enough(report):
                return report
        self._cleaning.sweep()
        return self._start()

    def _is_enough(self, report: RunReport) -> bool:
        """Whether a trigger that has continued a session is done."""
        return True

    def _continue_last(self) -> RunReport | None:
        """Continue the last session; None if there is no open one, or it is discarded.

        Raises:
            DamagedSessionError: The session's record is damaged.
        """
        latest = self._sessions.latest()
        if latest is None or not latest.is_open:
            return None
        if latest.state is SessionState.SWITCH:
            if self._cleaning.abandon_if_undone(latest):
                return None
            publication = Publication.of(self._sessions, latest)
            return self._finish(latest, publication, RunOutcome.SWITCH_FINISHED, None)
        reason = abandon_reason(latest, self._params, self._sessions)
        if reason is None:
            is_rejected = latest.state is SessionState.REJECTED
            return self._judge_again(latest) if is_rejected else self._resume(latest)
        self._cleaning.discard(latest, reason)
        return None

    def _start(self) -> RunReport:
        """Start a new session for what differs, and run it to its end."""
        check_not_held(self._sessions)
        view = self._view()
        if view.plan.is_nothing:
            logger.info("%s: nothing new in %s", self._table, self._params.input_dir_uri)
            return self._report(RunOutcome.NOTHING_NEW, None, None, view)
        check_room(self._tools.store, self._table, self._params, view.plan)
        # The engine starts before the session is created: if it fails, nothing is left behind.
        session = self._create(view, self._tools.engine.slots(self._params))
        return self._stage_and_finish(session, view)

    def _create(self, view: SourceView, slots: int) -> Session:
        """Write the session and its plan; the session leaves INIT only when the plan is complete."""
        session = self._new_session(view.version)
        session = self._write_groups(session, view.plan.to_read, slots, view.in_place)
        logger.info(
            "session %s of %s: %d files in %d groups",
            session.session_id,
            self._table,
            session.files,
            session.groups,
        )
        return self._sessions.save(move(session, SessionState.IN_PROGRESS, self._tools.now_ms))

    def _new_session(self, version: SourceVersion | None, restores: str | None = None) -> Session:
        latest = self._sessions.latest()
        # Keeps ids in the order of sessions even if this machine's clock is behind another's.
        now = max(self._tools.now_ms, latest.created_ms + 1 if latest is not None else 0)
        session_id = new_session_id(now)
        return self._sessions.create(
            Session(
                session_id=session_id,
                table=self._table,
                state=SessionState.INIT,
                created_ms=now,
                updated_ms=now,
                owner=self._tools.owner,
                mode=self._params.mode,
                atomic=self._params.atomic,
                source=self._params.input_dir_uri,
                staging_uri=self._cleaning.staging.session_uri(session_id),
                attempts_ms=(now,),
                request=self._request,
                source_version=version,
                restores=restores,
                held=restores is not None,
            )
        )

    def _resume(self, session: Session, view: SourceView | None = None) -> RunReport:
        """Resume a session in which files failed or whose run was killed: a retry."""
        if view is None:
            self._await_earlier(session)
            view = self._view()
        slots = self._tools.engine.slots(self._params)
        now = self._tools.now_ms
        # The attempt is incremented first, which stops subtasks of earlier attempts.
        session = self._sessions.save(
            replace(
                move(session, SessionState.IN_PROGRESS, now),
                retry_count=session.retry_count + 1,
                attempts_ms=(*session.attempts_ms, now),
                owner=self._tools.owner,
                task_name=None,
                source_version=view.version,
            )
        )
        logger.info("session %s of %s: retry %d", session.session_id, self._table, session.retry_count)
        for number in range(session.groups):
            self._sessions.change_group(
                session.session_id, number, lambda group: reconcile_group(group, view.listed)
            )
        new = view.joining(self._sessions.groups(session))
        session = self._sessions.save(self._write_groups(session, new, slots))
        return self._stage_and_finish(session, view)

    def _judge_again(self, session: Session) -> RunReport:
        """Judge a rejected session by the present checks; resume it instead if there is a file to read."""
        view = self._view()
        groups = list(self._sessions.groups(session))
        is_same = all(group.is_settled and reconcile_group(group, view.listed) == group for group in groups)
        if view.joining(groups) or not is_same:
            return self._resume(session, view)
        publication = Publication.of(self._sessions, session)
        with self._kept_or_discarded(session) as saved:
            session = self._to_switch(saved, publication, view)
        return self._finish(session, publication, RunOutcome.SWITCHED, view)

    def _write_groups(
        self,
        session: Session,
        files: Sequence[FileInfo],
        slots: int,
        in_place: Mapping[str, str] | None = None,
    ) -> Session:
        refreshed = in_place if self._params.one_to_one and not session.atomic else None
        return write_groups(self._sessions, session, files, self._params, slots=slots, in_place=refreshed)

    def _await_earlier(self, session: Session) -> None:
        """Wait for the subtasks of a killed run to end, since what they stage counts."""
        if session.task_name is None:
            return
        try:
            self._tools.engine.wait(session.task_name, self._params, lambda: self._report_progress(session))
        except NoMinionError:
            self._tools.engine.cancel(session.task_name)

    def _view(self, version: SourceVersion | None = None) -> SourceView:
        view = view_source(self._tools, self._table, self._params, self._cleaning.staging.root, version)
        check_not_empty(view, self._params)
        return view

    def _stage_and_finish(self, session: Session, view: SourceView) -> RunReport:
        started = self._tools.clock.monotonic()
        self._tools.on_session(session)
        with self._kept_or_discarded(session) as saved:
            self._stage(saved)
            failures = failures_of(saved.session, self._sessions, self._tools.engine)
            if failures and session.atomic:
                raise files_failed(saved.session, failures, self._params.max_retries)
            if self._lock.lost:
                raise ConflictError(
                    f"the lock of {self._table} was lost while subtasks were running",
                    remedy="run the task again",
                )
            publication = Publication.of(self._sessions, saved.session)
            session = self._to_switch(saved, publication, view, indented_lines(failures) or None)
        self._staging_s = self._tools.clock.monotonic() - started
        report = self._finish(session, publication, RunOutcome.SWITCHED, view)
        if failures:
            raise others_published(session, failures)
        return report

    def _to_switch(
        self,
        saved: SavedSession,
        publication: Publication,
        view: SourceView,
        message: str | None = None,
    ) -> Session:
        """Fix which segments are replaced, and move the session on.

        Raises:
            ChecksFailedError: The staged version does not pass the checks: the session is rejected.
        """
        session = saved.session
        replaced = view.replaced_by(publication.staged_uris)
        check_room_to_publish(self._tools, session, publication, replaced)
        pages = self._sessions.write_from(session.session_id, replaced)
        reasons = judge(self._tools, self._params, session, publication, replaced, view.contents)
        if reasons:
            rejected = move(session, SessionState.REJECTED, self._tools.now_ms)
            session = saved.save(replace(rejected, from_pages=pages, message=indented_lines(reasons)))
            raise rejection(session, reasons)
        return self._enter_switch(saved, replaced, pages, message)

    def _enter_switch(
        self, saved: SavedSession, replaced: Sequence[str], pages: int, message: str | None
    ) -> Session:
        """Keep what is replaced, if versions are kept, and move the session to SWITCH."""
        self._cleaning.keep(replaced)
        moved = move(saved.session, SessionState.SWITCH, self._tools.now_ms)
        # Compare-and-set: fails if another run took over the table and abandoned this session.
        return saved.save(replace(moved, from_pages=pages, message=message))

    def _stage(self, saved: SavedSession) -> None:
        self._run_subtasks(saved)
        if self._params.skip_unreadable:
            # If all files were skipped, an empty segment is needed.
            session = self._write_groups(saved.session, (), slots=1)
            if session.groups > saved.session.groups:
                saved.save(session)
                self._run_subtasks(saved)

    def _run_subtasks(self, saved: SavedSession) -> None:
        """Run subtasks for all groups that have files to read."""
        if self._submit(saved):
            self._await_subtasks(saved.session)

    def _submit(self, saved: SavedSession) -> bool:
        """Start subtasks for all groups that have files to read; return whether there are any."""
        unsettled = {
            group.number: group.source_bytes
            for group in self._sessions.groups(saved.session)
            if not group.is_settled
        }
        if not unsettled:
            return False
        tasks = share_out(unsettled, self._params.max_tasks)
        task_name = self._tools.engine.submit(saved.session, tasks, self._params)
        saved.save(replace(saved.session, task_name=task_name))
        return True

    def _await_subtasks(self, session: Session) -> None:
        if session.task_name is not None:
            self._tools.engine.wait(session.task_name, self._params, lambda: self._report_progress(session))
        self._report_again_s = 0.0
        self._report_progress(session)

    def _finish(
        self, session: Session, publication: Publication, outcome: RunOutcome, view: SourceView | None
    ) -> RunReport:
        """Publish a session in SWITCH; safe to repeat after a crash at any point."""
        started = self._tools.clock.monotonic()
        self._tools.on_session(session)
        saved = SavedSession(self._sessions, session)
        publish(
            self._tools.client,
            self._tools.store,
            session,
            publication,
            self._sessions.read_from(session),
            self._params.stores.staging(session.staging_uri),
            push_mode=self._params.push_mode,
            min_replicas=self._params.min_replicas,
            on_entry=lambda entry_id: saved.save(replace(saved.session, entry_id=entry_id)),
        )
        switch_s = self._tools.clock.monotonic() - started
        done = move(saved.session, SessionState.DONE, self._tools.now_ms)
        saved.save(replace(done, behind=tuple(publication.behind.items())))
        self._cleaning.after(saved.session)
        return self._report(outcome, saved.session, publication, view, switch_s)

    @contextmanager
    def _kept_or_discarded(self, session: Session) -> Iterator[SavedSession]:
        """On failure, keep the session for the next trigger if it has retries left."""
        saved = SavedSession(self._sessions, session)
        try:
            yield saved
        except (PinotPluginError, KeyboardInterrupt) as error:
            reason = str(error) or type(error).__name__
            try:
                saved.settle()
                if saved.session.state is SessionState.SWITCH:
                    logger.info("session %s is in its switch; the next run finishes it", session.session_id)
                elif saved.session.state is SessionState.REJECTED:
                    logger.info("session %s is rejected; it stays staged", session.session_id)
                elif (
                    session.atomic
                    and session.restores is None
                    and session.retry_count < self._params.max_retries
                ):
                    saved.save(replace(saved.session, message=reason, updated_ms=self._tools.now_ms))
                    if not isinstance(error, FilesFailedError) and saved.session.task_name is not None:
                        self._tools.engine.cancel(saved.session.task_name)
                else:
                    exhausted = "its retries are exhausted: " if self._params.max_retries else ""
                    self._cleaning.discard(saved.session, exhausted + reason)
            except PinotPluginError as second:
                if isinstance(second, ConflictError) and isinstance(error, FilesFailedError):
                    # It cancelled the subtasks and may have changed the table, so "unchanged" would be wrong.
                    raise ConflictError(
                        f"another run took over {self._table} while subtasks were running: {second.message}",
                        remedy="check the result of that run, or run the task again",
                    ) from error
                # The caller needs the first error; the next run cleans up.
                logger.warning("session %s could not be saved or discarded: %s", session.session_id, second)
            raise

    def _report_progress(self, session: Session) -> bool:
        """Report the session's progress; return whether all its files are settled."""
        # The ledger of a large session takes a while to read; limit that to a tenth of the time.
        clock = self._tools.clock
        started_s = clock.monotonic()
        if started_s < self._report_again_s:
            return False
        progress = read_progress(self._sessions, session)
        self._tools.on_progress(progress)
        self._report_again_s = clock.monotonic() + 10 * (clock.monotonic() - started_s)
        return progress.is_settled

    def _report(
        self,
        outcome: RunOutcome,
        session: Session | None,
        publication: Publication | None,
        view: SourceView | None,
        switch_s: float = 0.0,
    ) -> RunReport:
        times = (self._staging_s, switch_s)
        return report_of(self._table, self._params.mode, outcome, session, publication, view, times)
