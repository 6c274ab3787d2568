"""Decides whether a staged version may be switched to: there is room for it, and it passes the checks."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from controller_client.common.text import indented_lines
from controller_client.publishing.checks.judgement import ChecksFailedError, RowCounts, failed_checks
from controller_client.publishing.checks.live import LiveValues
from controller_client.publishing.checks.staged import describe_staged
from controller_client.publishing.lineage_size import check_lineage_size
from controller_client.publishing.targets import check_quota
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.plan.ingested import TableContents
from minion_tasks.file_ingestion.run.publish import Publication
from minion_tasks.file_ingestion.run.types import RunTools
from minion_tasks.file_ingestion.session.model import Session

__all__ = ["check_room_to_publish", "judge", "rejection"]


def check_room_to_publish(
    tools: RunTools, session: Session, publication: Publication, replaced: Sequence[str]
) -> None:
    """Raise an error unless quota and lineage have room for the staged segments.

    Args:
        tools: The tools of the run.
        session: The session.
        publication: Its staged segments.
        replaced: Names of the segments that they replace.

    Raises:
        QuotaExceededError: The quota has no room.
        LineageFullError: The lineage has no room.
    """
    check_quota(tools.client, session.table, publication.segments)
    if session.atomic:
        check_lineage_size(tools.store, session.table, replaced, publication.names)


def judge(
    tools: RunTools,
    params: FileIngestionParams,
    session: Session,
    publication: Publication,
    replaced: Sequence[str],
    contents: TableContents,
) -> list[str]:
    """Return why the staged version does not pass the checks, a sentence for each; empty if it does.

    Args:
        tools: The tools of the run.
        params: The parameters of the table's task.
        session: The session.
        publication: Its staged segments.
        replaced: Names of the segments that they replace.
        contents: What queries see now.

    Raises:
        SourceError: The store of the staged segments does not answer.
    """
    new = sum(segment.rows for segment in publication.segments)
    rows = RowCounts(new, contents.rows, replaced, lambda: contents.rows)
    staging = params.stores.staging(session.staging_uri)
    staged = describe_staged(staging, publication.segments)
    return failed_checks(params.checks, rows, staged, LiveValues(tools.client, session.table))


def rejection(session: Session, reasons: Sequence[str]) -> ChecksFailedError:
    """Return the error of a rejected session."""
    table = shlex.quote(session.table)
    return ChecksFailedError(
        f"session {session.session_id} does not pass the checks; {session.table} is unchanged:\n"
        f"  {indented_lines(reasons)}",
        remedy="fix the source, or the checks, and run the task again; or use what is staged, with"
        f" 'pinotctl task publish {table} --accept', or delete it, with 'pinotctl task discard {table}'",
    )
