"""Decides whether a trigger resumes the session that an earlier one left open."""

from __future__ import annotations

import shlex

from controller_client.client import ControllerClient
from controller_client.publishing.switch import was_reverted
from controller_client.rest.lineage import LineageEntry
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.run.publish import Publication
from minion_tasks.file_ingestion.run.types import HeldError
from minion_tasks.file_ingestion.session.model import Session, SessionState
from minion_tasks.file_ingestion.session.naming import is_session_id
from minion_tasks.file_ingestion.session.store import SessionStore
from minion_tasks.file_ingestion.versions.catalogue import read_versions


def abandon_reason(session: Session, params: FileIngestionParams, sessions: SessionStore) -> str | None:
    """Explain why the next trigger abandons an open session before SWITCH; None if it resumes the session.

    Args:
        session: An open session before SWITCH.
        params: The task's current parameters.
        sessions: The table's sessions.
    """
    reason = unfit_reason(session, params, sessions)
    if reason is not None or session.state is SessionState.REJECTED:
        return reason
    if session.retry_count >= params.max_retries:
        return "its retries are exhausted" if params.max_retries else "a new run began: there are no retries"
    return None


def unfit_reason(session: Session, params: FileIngestionParams, sessions: SessionStore) -> str | None:
    """Explain why an open session before SWITCH cannot be resumed, whatever its retries; None if it can."""
    if session.state is SessionState.INIT:
        return "its plan was not finished"
    if session.restores is not None:
        return f"its rollback to version {session.restores} was interrupted"
    if sessions.is_of_dropped_table(session):
        return "its table was dropped"
    began_with = (session.mode, session.atomic, session.source)
    if began_with != (params.mode, params.atomic, params.input_dir_uri):
        return "the task's configuration has changed since it started"
    return None


def check_not_held(sessions: SessionStore) -> None:
    """Raise an error if the table was rolled back, and nobody has said yet that the task continues.

    Raises:
        HeldError: That is the case.
    """
    for session in read_versions(sessions, 1):
        if session.held:
            table = shlex.quote(session.table)
            raise HeldError(
                f"{session.table} was rolled back to version {session.restores} by {session.owner}",
                expected="a table that follows its source",
                remedy=f"to have the task follow the source again: 'pinotctl task follow {table}'",
            )


def switch_abandon_reason(client: ControllerClient, sessions: SessionStore, session: Session) -> str | None:
    """Explain why a session in SWITCH can no longer be finished; None if it can."""
    if sessions.is_of_dropped_table(session):
        # Its segments were built for another table of the same name.
        return "its table was dropped"
    if session.atomic and was_reverted(client, session.table, Publication.of(sessions, session).names):
        return "the lineage entry of its switch was reverted"
    return None


def is_entry_of(entry: LineageEntry, session_id: str, entry_id: str | None) -> bool:
    """Return whether a lineage entry belongs to a session's switch.

    Decided from the entry, not from the session's staged segments, since its ledger may be damaged.

    Args:
        entry: The entry.
        session_id: The session; its id is part of the names of its segments.
        entry_id: The entry recorded in the session, if any.
    """
    if entry_id is not None and entry.entry_id == entry_id:
        return True
    # A foreign znode among the sessions must not match segment names by chance.
    return is_session_id(session_id) and any(session_id in name for name in entry.segments_to)
