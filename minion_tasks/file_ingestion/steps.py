"""The steps of a run that holds its table's lock: plan, stage, switch, clear away."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

from controller_client.errors import ConflictError, PinotPluginError, SourceError
from controller_client.zookeeper import TableLock
from minion_tasks.file_ingestion.ingested import ingested_files
from minion_tasks.file_ingestion.params import FileIngestionParams
from minion_tasks.file_ingestion.planner import SourceDiff, compare, group, select
from minion_tasks.file_ingestion.progress import read_progress
from minion_tasks.file_ingestion.run_types import FilesFailedError, RunOutcome, RunReport, RunTools
from minion_tasks.file_ingestion.session import (
    FileEntry,
    FileGroup,
    FileStatus,
    Session,
    SessionState,
    StagedSegment,
    abandon,
    move,
)
from minion_tasks.file_ingestion.session_store import SessionStore
from minion_tasks.file_ingestion.staging import is_below, open_staging, session_uri, staging_root
from minion_tasks.file_ingestion.switch import switch, was_reverted
from minion_tasks.filestore import open_store

logger = logging.getLogger(__name__)


class LockedRun:
    """The steps of a run that holds the table's lock."""

    def __init__(
        self,
        tools: RunTools,
        table: str,
        params: FileIngestionParams,
        sessions: SessionStore,
        lock: TableLock,
    ) -> None:
        self._tools = tools
        self._table = table
        self._params = params
        self._sessions = sessions
        self._lock = lock
        self._staging_root = staging_root(params, tools.client)
        self._staging_s = 0.0

    def start(self) -> RunReport:
        """Start a new session for what is new in the source, and take it to its end."""
        diff = self._diff()
        changed = tuple(file.uri for file in diff.changed)
        if not diff.new:
            logger.info("%s: nothing new in %s", self._table, self._params.input_dir_uri)
            return self._report(RunOutcome.NOTHING_NEW, None, [], 0.0, changed)
        started = self._tools.clock.monotonic()
        session = self._create(diff)
        session = self._stage(session)
        self._staging_s = self._tools.clock.monotonic() - started
        return self.finish_switch(session, RunOutcome.SWITCHED, changed)

    def _diff(self) -> SourceDiff:
        params = self._params
        source = open_store(params.input_dir_uri, params.input_fs)
        # The staging folder may lie in the source folder; what other runs stage there is no source file.
        found = (f for f in source.list(params.input_dir_uri) if not is_below(f.uri, self._staging_root))
        listed = list(select(found, params.include, params.exclude))
        if not listed:
            raise SourceError(
                f"no file below {params.input_dir_uri} matches",
                expected=f"includeFileNamePattern {params.include}, excludeFileNamePattern {params.exclude}",
                remedy="patterns are matched against the whole path: begin them with glob:**/",
            )
        diff = compare(listed, ingested_files(self._tools.client, self._tools.store, self._table))
        for file in diff.changed:
            logger.warning("%s changed after it was ingested; append mode does not read it again", file.uri)
        return diff

    def _create(self, diff: SourceDiff) -> Session:
        """Write the session and its plan; the session leaves INIT only after all of the plan is there."""
        params = self._params
        groups = group(
            diff.new,
            max_groups=params.max_tasks,
            max_files=params.max_files_per_task,
            max_bytes=params.max_bytes_per_task,
        )
        now = self._now_ms()
        stamp = datetime.fromtimestamp(now / 1000, UTC).strftime("%Y%m%dT%H%M%S%f")[:-3]
        session_id = f"{stamp}-{secrets.token_hex(3)}"
        session = self._sessions.create(
            Session(
                session_id=session_id,
                table=self._table,
                state=SessionState.INIT,
                created_ms=now,
                updated_ms=now,
                owner=self._tools.owner,
                staging_uri=session_uri(self._staging_root, self._table, session_id),
                files=len(diff.new),
                total_bytes=sum(file.size_bytes for file in diff.new),
                groups=len(groups),
            )
        )
        number = 0
        for index, files in enumerate(groups):
            entries = tuple(FileEntry(number + offset, file) for offset, file in enumerate(files))
            number += len(files)
            self._sessions.create_group(session_id, FileGroup(index, entries))
        logger.info(
            "session %s of %s: %d files in %d groups", session_id, self._table, session.files, session.groups
        )
        return session

    def _stage(self, session: Session) -> Session:
        """Run the subtasks; return the session in SWITCH, or throw it away and raise."""
        with self._thrown_away_on_failure(session) as current:
            session = current.save(move(session, SessionState.IN_PROGRESS, self._now_ms()))
            task_name = self._tools.engine.submit(session, range(session.groups), self._params)
            session = current.save(replace(session, task_name=task_name))
            self._tools.engine.wait(task_name, self._params, lambda: self._tell(session))
            self._tell(session)
            self._require_all_staged(session)
            if self._lock.lost:
                raise ConflictError(
                    f"the lock of {self._table} was lost while subtasks ran", remedy="run the task again"
                )
            # Compare-and-set: if another run took the table meanwhile, it abandoned this session and this
            # fails.
            return current.save(move(session, SessionState.SWITCH, self._now_ms()))

    def _require_all_staged(self, session: Session) -> None:
        failed: list[str] = []
        ends: Mapping[int, str] | None = None
        for files in self._sessions.groups(session):
            for entry in files.entries:
                if entry.status is FileStatus.FAILED:
                    failed.append(entry.error or entry.file.uri)
                elif entry.status is FileStatus.PENDING:
                    if ends is None:
                        ends = self._tools.engine.explain(session.task_name) if session.task_name else {}
                    end = ends.get(files.number, "see the minion's log")
                    failed.append(f"{entry.file.uri}: its subtask ended without a result ({end})")
        if failed:
            shown = "\n  ".join(failed[:10]) + (
                f"\n  ... and {len(failed) - 10} more" if len(failed) > 10 else ""
            )
            raise FilesFailedError(
                f"{len(failed)} of {session.files} files could not be ingested; {self._table} is unchanged:\n"
                f"  {shown}",
                remedy="mend the files or the schema, then run the task again",
            )

    def finish_switch(self, session: Session, outcome: RunOutcome, changed: tuple[str, ...]) -> RunReport:
        """Publish a session in SWITCH; safe to run again after a crash at any point."""
        segments = self._staged_segments(session)
        started = self._tools.clock.monotonic()
        saved = _Saved(self._sessions, session)
        entry_id = switch(
            self._tools.client,
            self._table,
            segments,
            open_staging(session.staging_uri, self._params),
            push_mode=self._params.push_mode,
            on_entry=lambda entry: saved.update(entry_id=entry),
        )
        switch_s = self._tools.clock.monotonic() - started
        saved.save(replace(move(saved.session, SessionState.DONE, self._now_ms()), entry_id=entry_id))
        self._delete_staging(session)
        self._sessions.prune()
        return self._report(outcome, saved.session, segments, switch_s, changed)

    def _staged_segments(self, session: Session) -> list[StagedSegment]:
        return [
            entry.segment
            for files in self._sessions.groups(session)
            for entry in files.entries
            if entry.segment is not None
        ]

    def deal_with(self, session: Session) -> RunReport | None:
        """Finish the switch of an earlier run, or clear the session away: then a new one can begin."""
        if session.state is not SessionState.SWITCH:
            self._throw_away(session, "a new run began: there are no retries")
            return None
        if self._sessions.is_of_dropped_table(session):
            # Its segments were built for a table that only had the same name.
            self._throw_away(session, "its table was dropped", entry_gone=True)
            return None
        names = [segment.name for segment in self._staged_segments(session)]
        if was_reverted(self._tools.client, self._table, names):
            self._throw_away(session, "the lineage entry of its switch was reverted", entry_gone=True)
            return None
        return self.finish_switch(session, RunOutcome.SWITCH_FINISHED, ())

    def _throw_away(self, session: Session, reason: str, *, entry_gone: bool = False) -> None:
        """Abandon a session and delete what it staged."""
        self._sessions.save(abandon(session, reason, self._now_ms(), entry_gone=entry_gone))
        if session.task_name is not None:
            self._tools.engine.cancel(session.task_name)
        self._delete_staging(session)
        self._sessions.prune()

    def sweep_staging(self) -> None:
        """Delete what subtasks of sessions that are over may have staged after their session was cleared."""
        uri = f"{self._staging_root}/{self._table}"
        try:
            swept = open_staging(uri, self._params).delete_tree(uri)
        except SourceError as error:
            logger.warning("leftovers in the staging folder were not deleted: %s", error)
            return
        if swept:
            logger.info("%d leftover files deleted from %s", swept, uri)

    @contextmanager
    def _thrown_away_on_failure(self, session: Session) -> Iterator[_Saved]:
        saved = _Saved(self._sessions, session)
        try:
            yield saved
        except (PinotPluginError, KeyboardInterrupt) as error:
            reason = str(error) or type(error).__name__
            try:
                self._throw_away(saved.session, reason)
            except PinotPluginError as second:
                # The first error matters to the caller; the next run clears what is left.
                logger.warning("session %s could not be cleared: %s", session.session_id, second)
            raise

    def _delete_staging(self, session: Session) -> None:
        try:
            open_staging(session.staging_uri, self._params).delete_tree(session.staging_uri)
        except SourceError as error:
            logger.warning("the staging folder of session %s was not deleted: %s", session.session_id, error)

    def _tell(self, session: Session) -> None:
        self._tools.on_progress(read_progress(self._sessions, session))

    def _report(
        self,
        outcome: RunOutcome,
        session: Session | None,
        segments: list[StagedSegment],
        switch_s: float,
        changed: tuple[str, ...],
    ) -> RunReport:
        return RunReport(
            table=self._table,
            outcome=outcome,
            session_id=session.session_id if session else None,
            files=session.files if session else 0,
            rows=sum(segment.rows for segment in segments),
            segments=len(segments),
            bytes_read=session.total_bytes if session else 0,
            staging_s=self._staging_s,
            switch_s=switch_s,
            changed=changed,
            fallback_reasons=tuple(sorted({s.fallback_reason for s in segments if s.fallback_reason})),
        )

    def _now_ms(self) -> int:
        return int(self._tools.clock.now() * 1000)


class _Saved:
    """The session as it was last written."""

    def __init__(self, sessions: SessionStore, session: Session) -> None:
        self._sessions = sessions
        self.session = session

    def save(self, session: Session) -> Session:
        self.session = self._sessions.save(session)
        return self.session

    def update(self, *, entry_id: str) -> None:
        self.save(replace(self.session, entry_id=entry_id))
