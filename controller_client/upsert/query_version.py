"""Chooses a query's version: the table's mark, or an earlier version on request."""

from __future__ import annotations

from collections.abc import Callable

from controller_client.upsert.rewriting import RefusedQueryError
from controller_client.upsert.tables import QueriedTable, VersionOptions
from controller_client.upsert.version_ends import VersionEnds

__all__ = ["version_for"]


def version_for(
    table: QueriedTable, options: VersionOptions, mark: int, ends: Callable[[QueriedTable], VersionEnds]
) -> int:
    """Return the version to answer at.

    Args:
        table: The table.
        options: The query's version options.
        mark: The table's mark.
        ends: Opens the table's version ends; called only for an earlier version.

    Raises:
        RefusedQueryError: The version is not complete yet, or is no longer in the updates topic.
        SourceError: Kafka does not answer.
    """
    if options.version is None and options.timestamp_ms is None:
        return mark
    if options.version is not None:
        asked = f"asOfVersion={options.version}"
        if options.version > mark:
            raise _too_new(table, asked, mark)
        end = ends(table).newest_up_to(options.version)
    else:
        asked = f"asOfTimestamp={options.timestamp_ms}"
        end = ends(table).newest_at(options.timestamp_ms or 0)
    if end is None:
        raise RefusedQueryError(
            f"{table.table} has no version for {asked}: it is before the first one, or the topic "
            f"{table.settings.updates_topic} no longer contains it",
            where=table.table,
            remedy="query a later version",
        )
    if end.version > mark:
        raise _too_new(table, asked, mark)
    return end.version


def _too_new(table: QueriedTable, asked: str, mark: int) -> RefusedQueryError:
    return RefusedQueryError(
        f"{asked} of {table.table} is not complete on all servers yet: its mark is {mark}",
        where=table.table,
        remedy="query again later, or omit the option",
    )
