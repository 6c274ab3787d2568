"""What an operator decides about a session that does not pass the checks: publish it, or discard it."""

from __future__ import annotations

from collections.abc import Sequence

from controller_client.errors import ConflictError, NotFoundError
from minion_tasks.file_ingestion.params.registration import load_params, load_params_to_run
from minion_tasks.file_ingestion.plan.ingested import read_contents
from minion_tasks.file_ingestion.plan.write import SavedSession
from minion_tasks.file_ingestion.run.judging import check_room_to_publish
from minion_tasks.file_ingestion.run.publish import Publication
from minion_tasks.file_ingestion.run.resuming import unfit_reason
from minion_tasks.file_ingestion.run.steps import LockedRun
from minion_tasks.file_ingestion.run.trigger import locked
from minion_tasks.file_ingestion.run.types import RunOutcome, RunReport, RunTools
from minion_tasks.file_ingestion.session.model import Session, SessionState
from minion_tasks.file_ingestion.session.store import SessionStore

__all__ = ["RejectedRun", "discard_rejected", "publish_rejected", "rejected_session"]


def rejected_session(sessions: SessionStore, session_id: str | None = None) -> Session:
    """Return the table's rejected session, which can only be its last one.

    Args:
        sessions: The table's sessions.
        session_id: The session that the caller means; None: any.

    Raises:
        NotFoundError: The last session is not rejected, or another one.
    """
    latest = sessions.latest()
    if latest is None:
        state = "there is none"
    elif latest.is_open and latest.state is SessionState.REJECTED and session_id in (None, latest.session_id):
        return latest
    else:
        state = f"it is {latest.session_id} in {latest.state}{' (abandoned)' if latest.abandoned else ''}"
    raise NotFoundError(
        f"the last session of {sessions.table} is not a rejected one"
        f"{f' with the id {session_id}' if session_id else ''}: {state}",
        expected="a session in REJECTED",
        remedy="see it with 'pinotctl task session show'",
    )


def publish_rejected(
    tools: RunTools, table_name: str, session_id: str | None = None, *, lock_wait_s: float = 0.0
) -> RunReport:
    """Publish the staged segments of a rejected session, in spite of the checks.

    Args:
        tools: The tools of the run.
        table_name: With or without ``_OFFLINE``.
        session_id: The session; default: the table's rejected session.
        lock_wait_s: How long to wait for a run of the same table.

    Raises:
        NotFoundError: There is no such session, or it is not rejected.
        ConflictError: The table or the task has changed, so that what was staged no longer fits.
        PinotPluginError: As for :func:`~minion_tasks.file_ingestion.run.trigger.run_task`.
    """
    with locked(RejectedRun, tools, table_name, load_params_to_run, lock_wait_s) as run:
        return run.publish(session_id)


def discard_rejected(
    tools: RunTools, table_name: str, session_id: str | None = None, *, lock_wait_s: float = 0.0
) -> Session:
    """Delete what a rejected session has staged; the next trigger reads the source again.

    Args:
        tools: The tools of the run.
        table_name: With or without ``_OFFLINE``.
        session_id: The session; default: the table's rejected session.
        lock_wait_s: How long to wait for a run of the same table.

    Returns:
        The session as it was.

    Raises:
        NotFoundError: There is no such session, or it is not rejected.
    """
    with locked(RejectedRun, tools, table_name, load_params, lock_wait_s) as run:
        return run.discard(session_id)


class RejectedRun(LockedRun):
    """The end of a rejected session, with the table's lock held; the arguments are those of a run."""

    def publish(self, session_id: str | None) -> RunReport:
        """Switch to what is staged; see :func:`publish_rejected`."""
        session = rejected_session(self._sessions, session_id)
        replaced = self._sessions.read_from(session)
        self._check_fits(session, replaced)
        publication = Publication.of(self._sessions, session)
        check_room_to_publish(self._tools, session, publication, replaced)
        saved = SavedSession(self._sessions, session)
        accepted = f"accepted by {self._tools.owner}: {session.message}"
        session = self._enter_switch(saved, replaced, session.from_pages, accepted)
        return self._finish(session, publication, RunOutcome.SWITCHED, None)

    def _check_fits(self, session: Session, replaced: Sequence[str]) -> None:
        reason = unfit_reason(session, self._params, self._sessions)
        present = read_contents(self._tools.client, self._tools.store, self._table).segments
        if reason is None and (gone := set(replaced).difference(present)):
            reason = f"{len(gone)} of the segments that it would replace are gone, such as {min(gone)}"
        if reason is not None:
            raise ConflictError(
                f"session {session.session_id} of {self._table} no longer fits: {reason}",
                remedy="run the task again; it compares the source with the table as it is now",
            )

    def discard(self, session_id: str | None) -> Session:
        """Delete what is staged; see :func:`discard_rejected`."""
        session = rejected_session(self._sessions, session_id)
        self._cleaning.discard(session, f"discarded by {self._tools.owner}: {session.message}")
        return session
