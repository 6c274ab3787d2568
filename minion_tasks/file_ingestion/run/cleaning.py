"""Discards sessions (abandoned, cleared, reverted, damaged), and deletes staged and replaced segments.

What earlier versions of the table need is kept.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from contextlib import suppress
from functools import cached_property

from controller_client.common.names import TableName
from controller_client.errors import PinotPluginError, SourceError
from controller_client.publishing.reverting import LineageTimeouts, delete_leftovers, revert_entry
from controller_client.rest.lineage import LineageState
from controller_client.zookeeper.cluster_id import cluster_id
from minion_tasks.file_ingestion.engine.staging import TableStaging, is_below, staging_root
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.run.purge import purge
from minion_tasks.file_ingestion.run.resuming import is_entry_of, switch_abandon_reason
from minion_tasks.file_ingestion.run.types import RunTools
from minion_tasks.file_ingestion.session.model import Session, SessionState, abandon
from minion_tasks.file_ingestion.session.store import DamagedSessionError, SessionStore
from minion_tasks.file_ingestion.versions.catalogue import needed_segments
from minion_tasks.file_ingestion.versions.kept import KeptSegments, PublishedSegments

logger = logging.getLogger(__name__)


class Cleaning:
    """Deletes what a table no longer needs; for a run that holds the table's lock."""

    def __init__(
        self, tools: RunTools, table: TableName, params: FileIngestionParams, sessions: SessionStore
    ) -> None:
        self._tools = tools
        self._table = table
        self._params = params
        self._sessions = sessions
        self.staging = TableStaging(staging_root(params, tools.client), cluster_id(tools.store), table)

    def discard(self, session: Session, reason: str, *, entry_gone: bool = False) -> None:
        """Abandon a session and delete its staged segments."""
        abandoned = abandon(session, reason, self._tools.now_ms, entry_gone=entry_gone)
        self._tools.on_session(self._sessions.save(abandoned))
        logger.info("session %s of %s discarded: %s", session.session_id, self._table, reason)
        if session.task_name is not None:
            self._tools.engine.cancel(session.task_name)
        self.delete_staging(session.session_id, session.staging_uri)
        self._sessions.prune(self._params.keep_versions)

    def abandon_if_undone(self, session: Session) -> bool:
        """Discard a session in SWITCH if it can no longer be finished; return whether it was discarded."""
        reason = switch_abandon_reason(self._tools.client, self._sessions, session)
        if reason is not None:
            self.discard(session, reason, entry_gone=True)
        return reason is not None

    def after(self, session: Session) -> None:
        """Delete what a completed session no longer needs."""
        self.delete_staging(session.session_id, session.staging_uri)
        self._sessions.prune(self._params.keep_versions)
        self.purge()
        try:
            self.kept.collect(needed_segments(self._sessions, self._params.keep_versions))
        except PinotPluginError as error:
            logger.warning("segments that no version needs could not be deleted: %s", error)

    @cached_property
    def kept(self) -> KeptSegments:
        """The replaced segments that versions of the table need."""
        uri = self.staging.kept_uri
        return KeptSegments(self._params.stores.staging(uri), uri)

    def keep(self, replaced: Collection[str]) -> None:
        """Keep the segments that a session is about to replace, if versions are kept.

        Raises:
            NotFoundError: The deep store has no good copy of one of them.
            SourceError: A store does not answer.
        """
        if self._params.keep_versions > 1 and replaced:
            uri = self.staging.kept_uri
            store = self._params.stores.staging(uri)
            self.kept.keep(
                replaced, PublishedSegments(self._tools.client, self._tools.store, self._table, uri, store)
            )

    def sweep(self) -> None:
        """Delete what ended sessions have left behind: staged and replaced segments, old sessions."""
        uri = self.staging.uri
        try:
            swept = self._params.stores.staging(uri).delete_tree(uri)
        except SourceError as error:
            logger.warning("leftover files in the staging folder could not be deleted: %s", error)
        else:
            if swept:
                logger.info("%d leftover files deleted from %s", swept, uri)
        self._sweep_earlier()
        self._sessions.prune(self._params.keep_versions)
        self.purge()

    def _sweep_earlier(self) -> None:
        """Delete what recorded sessions of earlier releases left in their own folders.

        The rest of what these releases staged may be another cluster's, so it is left alone.
        """
        for session_id in self._sessions.ids():
            with suppress(DamagedSessionError):
                session = self._sessions.load(session_id)
                if not session.is_open and not is_below(session.staging_uri, self.staging.uri):
                    self.delete_staging(session_id, session.staging_uri)

    def purge(self) -> None:
        """Delete replaced segments whose retention period has passed."""
        try:
            purge(
                self._tools.client,
                self._tools.store,
                self._table,
                now_ms=self._tools.now_ms,
                older_than_s=self._params.purge_after_s,
            )
        except PinotPluginError as error:
            logger.warning("replaced segments of %s could not be purged: %s", self._table, error)

    def discard_damaged(self, error: DamagedSessionError) -> None:
        """Discard a session whose record is damaged, so that the next one starts over.

        Its progress is determined from the lineage. An open entry of the session is reverted: queries never
        saw its segments, and the table keeps serving its current ones. A completed entry stays, since the
        session had ended.
        """
        logger.warning("%s: %s; session discarded", self._table, error.message)
        if self._params.keep_versions > 1:
            # It is unknown what it changed, which would have to be undone as well.
            logger.warning("%s: the table can no longer be rolled back to a version before it", self._table)
            self._sessions.forget_before(error.session_id)
        self._delete(error.session_id, None)
        self.delete_staging(error.session_id)

    def clear_all(self) -> list[str]:
        """Delete all sessions and their staged segments, whatever their state.

        A switch in progress is reverted first, so the table keeps serving its current segments. A completed
        switch stays. Sessions with damaged records are deleted as well.

        Returns:
            The ids of the deleted sessions.
        """
        ids = self._sessions.ids()
        for session_id in ids:
            try:
                session = self._sessions.load(session_id)
            except DamagedSessionError as error:
                self.discard_damaged(error)
                continue
            self._delete(session_id, session)
            self.delete_staging(session_id, session.staging_uri)
            logger.info("session %s of %s (%s) cleared", session_id, self._table, session.state)
        return ids

    def _delete(self, session_id: str, session: Session | None) -> None:
        """Delete a session after reverting its open switch; the session is None if its record is damaged."""
        if session is None or (session.state is SessionState.SWITCH and not session.abandoned):
            self._undo_switch(session_id, session.entry_id if session else None)
        if session is not None and session.is_open and session.task_name is not None:
            self._tools.engine.cancel(session.task_name)
        self._sessions.delete(session_id)

    def _undo_switch(self, session_id: str, entry_id: str | None) -> None:
        client, timeouts = self._tools.client, LineageTimeouts()
        for entry in client.lineage.list(self._table):
            if is_entry_of(entry, session_id, entry_id) and entry.state is LineageState.IN_PROGRESS:
                revert_entry(client, self._table, entry, timeouts)
                delete_leftovers(client, self._table, entry.segments_to, timeouts)

    def delete_staging(self, session_id: str, staging_uri: str | None = None) -> None:
        """Delete a session's staging folder; if that fails, a later run deletes the rest.

        Args:
            session_id: The session.
            staging_uri: The folder as recorded in the session; None if that cannot be read.
        """
        unread = (self.staging.session_uri(session_id), self.staging.earlier_session_uri(session_id))
        for uri in unread if staging_uri is None else (staging_uri,):
            if not self.staging.is_session_folder(uri, session_id):
                logger.warning(
                    "the staging folder recorded in session %s is not its own and was not deleted: %s",
                    session_id,
                    uri,
                )
                continue
            try:
                self._params.stores.staging(uri).delete_tree(uri)
            except SourceError as error:
                logger.warning("the staging folder of session %s could not be deleted: %s", session_id, error)
