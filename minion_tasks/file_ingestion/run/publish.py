"""Publishes a session in SWITCH to its table: in one step or, without consistent push, one by one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.filestore import FileStore
from controller_client.publishing.staged_segment import StagedSegment
from controller_client.publishing.switch import push_one_by_one, switch
from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.plan.planner import LeftOut
from minion_tasks.file_ingestion.run.source_view import SourceView
from minion_tasks.file_ingestion.run.types import RunOutcome, RunReport
from minion_tasks.file_ingestion.session.column_notes import ColumnCount, DifferingColumn
from minion_tasks.file_ingestion.session.model import FileStatus, IngestionMode, Session
from minion_tasks.file_ingestion.session.store import SessionStore

logger = logging.getLogger(__name__)


@dataclass
class Publication:
    """The staged segments of a session, and the result of publishing them.

    Attributes:
        segments: The new segments; an empty one only if there is no other.
        staged_uris: URIs of the files in them.
        skipped: Files that the session skipped.
        columns: How the columns of the files differ from the table's.
        replaced: How many segments were replaced, once known.
        behind: Servers that lacked new segments at that time, and how many each lacked.
    """

    segments: Sequence[StagedSegment]
    staged_uris: frozenset[str]
    skipped: tuple[str, ...]
    columns: tuple[DifferingColumn, ...] = ()
    replaced: int = 0
    behind: Mapping[str, int] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """Names of the new segments."""
        return [segment.name for segment in self.segments]

    @classmethod
    def of(cls, sessions: SessionStore, session: Session) -> Publication:
        """Read the staged segments from a session's ledger."""
        segments: list[StagedSegment] = []
        without_rows: list[StagedSegment] = []
        staged: set[str] = set()
        skipped: list[str] = []
        columns = ColumnCount()
        for group in sessions.groups(session):
            columns.add(group)
            (without_rows if group.empty_segment else segments).extend(group.segments)
            for entry in group.entries:
                if entry.status is FileStatus.STAGED:
                    staged.add(entry.file.uri)
                elif entry.status is FileStatus.SKIPPED:
                    skipped.append(entry.file.uri)
        return cls(segments or without_rows[:1], frozenset(staged), tuple(skipped), columns.result())


def publish(
    client: ControllerClient,
    store: PropertyStore,
    session: Session,
    publication: Publication,
    replaced: Sequence[str],
    staging: FileStore,
    *,
    push_mode: str,
    min_replicas: int | None,
    on_entry: Callable[[str], object],
) -> None:
    """Add the new segments to the table and remove the replaced ones; safe to repeat.

    Args:
        client: The controller.
        store: ZooKeeper.
        session: The session, in SWITCH.
        publication: Its staged segments.
        replaced: Segments to replace, as recorded when SWITCH began.
        staging: The store of the staged segments.
        push_mode: A :class:`~controller_client.publishing.pushing.PushMode`.
        min_replicas: How many replicas of each new segment must be online; None: all.
        on_entry: Called with the id of the lineage entry as soon as it is known.

    Raises:
        NotAppliedError: The table serves its previous segments (without consistent push, possibly some new
            ones).
        OutcomeUnknownError: It is unknown whether the controller applied the last step; repeat it.
    """
    segments = publication.segments
    if not replaced and not any(segment.rows for segment in segments) and not publication.staged_uris:
        logger.info("session %s has nothing to publish", session.session_id)
        publication.segments = ()
        return
    if session.atomic:
        switched = switch(
            client,
            store,
            session.table,
            segments,
            replaced,
            staging,
            push_mode=push_mode,
            on_entry=on_entry,
            min_replicas=min_replicas,
        )
    else:
        switched = push_one_by_one(
            client,
            store,
            session.table,
            segments,
            replaced,
            staging,
            push_mode=push_mode,
            min_replicas=min_replicas,
        )
    publication.replaced, publication.behind = switched.replaced, switched.behind


def report_of(
    table: TableName,
    mode: IngestionMode,
    outcome: RunOutcome,
    session: Session | None,
    publication: Publication | None,
    view: SourceView | None,
    times: tuple[float, float],
) -> RunReport:
    """Return the report of a run.

    Args:
        table: Name with type.
        mode: How the run changes the table.
        outcome: How it ended.
        session: Its session; None: it had none.
        publication: What it published; None: nothing.
        view: What it saw of the source; None: it did not look.
        times: Seconds until everything was staged, and of the switch.
    """
    segments = publication.segments if publication is not None else ()
    return RunReport(
        table=table,
        outcome=outcome,
        mode=mode,
        session_id=session.session_id if session else None,
        retry_count=session.retry_count if session else 0,
        files=session.files if session else 0,
        rows=sum(segment.rows for segment in segments),
        segments=len(segments),
        replaced=publication.replaced if publication is not None else 0,
        behind=session.behind if session else (),
        bytes_read=session.total_bytes if session else 0,
        staging_s=times[0],
        switch_s=times[1],
        by_patterns=view.by_patterns if view is not None else LeftOut(),
        hidden=view.hidden if view is not None else LeftOut(),
        columns=publication.columns if publication is not None else (),
        changed=view.left_as_they_are if view is not None else (),
        skipped=publication.skipped if publication is not None else (),
        source_version=session.source_version if session else view.version if view else None,
        fallback_reasons=tuple(sorted({s.fallback_reason for s in segments if s.fallback_reason})),
    )
