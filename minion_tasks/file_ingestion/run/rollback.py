"""A table returns to an earlier version, in one step, and stays there until its task may go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from controller_client.common.text import counted_text
from controller_client.errors import ConfigError, ConflictError, NotFoundError
from minion_tasks.file_ingestion.params.registration import load_params, load_params_to_run, offline_table
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.plan.ingested import read_contents
from minion_tasks.file_ingestion.plan.write import SavedSession
from minion_tasks.file_ingestion.run.cleaning import Cleaning
from minion_tasks.file_ingestion.run.judging import check_room_to_publish
from minion_tasks.file_ingestion.run.publish import Publication
from minion_tasks.file_ingestion.run.steps import LockedRun
from minion_tasks.file_ingestion.run.trigger import locked
from minion_tasks.file_ingestion.run.types import RunOutcome, RunReport, RunTools
from minion_tasks.file_ingestion.session.model import FileGroup, Session, SessionState, StagedBuild, move
from minion_tasks.file_ingestion.session.store import SessionStore
from minion_tasks.file_ingestion.versions.catalogue import Rollback, read_change, read_versions, undo

__all__ = [
    "RollbackRun",
    "TableVersion",
    "describe_versions",
    "follow",
    "roll_back",
    "table_versions",
    "version_of",
]

_GROUP = 200
"""Segments in a group: a group is one znode."""


@dataclass(frozen=True)
class TableVersion:
    """A version that the table has had.

    Attributes:
        session: The session that made it.
        rows: Number of rows that the session added.
        added: Number of segments that it added.
        replaced: Number of segments that it replaced.
        is_current: Whether the table is at it now.
        rollback: What a rollback to it changes.
        not_kept: How many of the segments that would come back are not kept; with any, it fails.
        restored_bytes: Size of the tars of those that would come back.
    """

    session: Session
    rows: int
    added: int
    replaced: int
    is_current: bool
    rollback: Rollback
    not_kept: int
    restored_bytes: int


def table_versions(tools: RunTools, table_name: str) -> list[TableVersion]:
    """Return the versions of a table that are kept, oldest first; the last one is current.

    Args:
        tools: The tools of a run.
        table_name: With or without ``_OFFLINE``.

    Raises:
        ConfigError: The table has no task.
        SourceError: The store of what is kept does not answer.
    """
    table = offline_table(tools.client, table_name)
    params = load_params(tools.client, table)
    sessions = SessionStore(tools.store, table)
    return describe_versions(tools, params, sessions, Cleaning(tools, table, params, sessions))


def version_of(versions: Sequence[TableVersion], version_id: str) -> TableVersion:
    """Return the version that a rollback names.

    Raises:
        NotFoundError: There is none with this id, or segments of it are no longer kept.
        ConflictError: It is the current one.
    """
    for version in versions:
        if version.session.session_id != version_id:
            continue
        if version.is_current:
            raise ConflictError(f"{version_id} is the current version of {version.session.table}")
        if version.not_kept:
            raise NotFoundError(
                f"the table cannot be rolled back to version {version_id}: {version.not_kept} of"
                f" {counted_text(len(version.rollback.restored), 'segment')} to restore are not kept",
                expected="a version since keepVersions was set",
                remedy="see 'pinotctl task versions'",
            )
        return version
    raise NotFoundError(f"there is no version {version_id!r}", expected="an id of 'pinotctl task versions'")


def roll_back(tools: RunTools, table_name: str, version_id: str, *, lock_wait_s: float = 0.0) -> RunReport:
    """Return to an earlier version in one step: what later runs added goes, what they replaced comes back.

    Segments of other writers stay. The task's runs are refused afterwards, until :func:`follow` is called.
    A session that did not get to its switch is discarded. If the table has already been rolled back to that
    version, nothing is done.

    Args:
        tools: The tools of a run.
        table_name: With or without ``_OFFLINE``.
        version_id: The session that made the version.
        lock_wait_s: How long to wait for a run of the same table.

    Raises:
        ConfigError: The task keeps no versions.
        NotFoundError: There is no such version, or segments of it are no longer kept.
        ConflictError: It is the current version.
        PinotPluginError: As for :func:`~minion_tasks.file_ingestion.run.trigger.run_task`.
    """
    with locked(RollbackRun, tools, table_name, load_params_to_run, lock_wait_s) as run:
        return run.roll_back(version_id)


def follow(tools: RunTools, table_name: str, *, lock_wait_s: float = 0.0) -> Session | None:
    """Have the task of a table that was rolled back follow its source again, from its next run on.

    Args:
        tools: The tools of a run.
        table_name: With or without ``_OFFLINE``.
        lock_wait_s: How long to wait for a run of the same table.

    Returns:
        The session of the rollback; None: the table was not rolled back.
    """
    with locked(RollbackRun, tools, table_name, load_params, lock_wait_s) as run:
        return run.follow()


def describe_versions(
    tools: RunTools, params: FileIngestionParams, sessions: SessionStore, cleaning: Cleaning
) -> list[TableVersion]:
    """Describe the versions of a table; see :func:`table_versions`."""
    made_by = read_versions(sessions, params.keep_versions)
    if not made_by:
        return []
    visible = read_contents(tools.client, tools.store, sessions.table).segments
    kept = cleaning.kept.list()
    versions = []
    changes = [read_change(sessions, session) for session in made_by]
    for number, (session, change) in enumerate(zip(made_by, changes, strict=True), 1):
        rollback = undo(changes[number:], visible)
        available = [kept[name] for name in rollback.restored if name in kept]
        versions.append(
            TableVersion(
                session,
                rows=sum(segment.rows for segment in change.added),
                added=len(change.added),
                replaced=len(change.replaced),
                is_current=session is made_by[-1],
                rollback=rollback,
                not_kept=len(rollback.restored) - len(available),
                restored_bytes=sum(segment.tar_size_bytes for segment in available),
            )
        )
    return versions


class RollbackRun(LockedRun):
    """A rollback to an earlier version, with the table's lock held; the arguments are those of a run."""

    def roll_back(self, version_id: str) -> RunReport:
        """Return to a version; see :func:`roll_back`."""
        if self._params.keep_versions == 1:
            raise ConfigError(
                f"the task of {self._table} keeps no earlier versions",
                expected="keepVersions of 2 or more, set before the version was replaced",
                remedy="set it with 'pinotctl task register', for the versions from now on",
            )
        self._end_open()
        versions = describe_versions(self._tools, self._params, self._sessions, self._cleaning)
        if versions and versions[-1].session.restores == version_id:
            return self._report(RunOutcome.DONE_BEFORE, versions[-1].session, None, None)
        version = version_of(versions, version_id)
        session = self._new_session(version.session.source_version, restores=version_id)
        session = self._sessions.save(move(session, SessionState.IN_PROGRESS, self._tools.now_ms))
        with self._kept_or_discarded(session) as saved:
            self._restage(saved, version.rollback.restored)
            publication = Publication.of(self._sessions, saved.session)
            session = self._begin_switch(saved, publication, version.rollback.removed)
        return self._finish(session, publication, RunOutcome.ROLLED_BACK, None)

    def _end_open(self) -> None:
        """Finish the switch of an open session, or discard what has not got that far."""
        latest = self._sessions.latest()
        if latest is None or not latest.is_open:
            return
        if latest.state is SessionState.SWITCH:
            self._continue_last()
        else:
            self._cleaning.discard(latest, f"{self._tools.owner} rolls the table back")

    def _restage(self, saved: SavedSession, restored: Sequence[str]) -> None:
        session = saved.session
        if not restored:
            # Pinot before 1.0 cannot replace segments with nothing.
            saved.save(self._write_groups(session, (), slots=1))
            self._run_subtasks(saved)
            return
        names = {
            name: self._params.names.of_session(self._table.raw, session.session_id, number)
            for number, name in enumerate(restored)
        }
        staging = self._params.stores.staging(session.staging_uri)
        segments = self._cleaning.kept.stage(names, session.staging_uri, staging)
        starts = range(0, len(segments), _GROUP)
        for number, start in enumerate(starts):
            build = StagedBuild((), segments[start : start + _GROUP])
            self._sessions.create_group(session.session_id, FileGroup(number, (), (build,)))
        saved.save(replace(session, groups=len(starts), numbers=len(segments)))

    def _begin_switch(self, saved: SavedSession, publication: Publication, removed: Sequence[str]) -> Session:
        check_room_to_publish(self._tools, saved.session, publication, removed)
        pages = self._sessions.write_from(saved.session.session_id, removed)
        message = f"rolled back to version {saved.session.restores} by {self._tools.owner}"
        return self._enter_switch(saved, removed, pages, message)

    def follow(self) -> Session | None:
        """End the hold; see :func:`follow`."""
        for session in read_versions(self._sessions, 1):
            if session.held:
                return self._sessions.save(replace(session, held=False, updated_ms=self._tools.now_ms))
        return None
