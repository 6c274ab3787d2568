"""A query's version (the table's mark, or an earlier one), and the segments its result must cover."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from controller_client.broker.result import QueryStats
from controller_client.common.names import TableName
from controller_client.errors import PartialResultError
from controller_client.upsert.mark_keeper import shown_names
from controller_client.upsert.rewriting import RefusedQueryError
from controller_client.upsert.tables import QueriedTable, VersionOptions
from controller_client.upsert.version_ends import VersionEnds

__all__ = ["VersionedQuery", "check_whole", "version_for"]


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


@dataclass(frozen=True)
class VersionedQuery:
    """A query ready to send.

    Attributes:
        text: Its SQL.
        options: Its query options.
        versions: Upsert table (name with type) -> the requested version.
        segments: Upsert table (name with type) -> the segments that a result must cover.
        is_counted: Whether the broker's statistics count the segments of one table, once.
    """

    text: str
    options: Mapping[str, str | int | bool]
    versions: Mapping[TableName, int] = field(default_factory=dict)
    segments: Mapping[TableName, frozenset[str]] = field(default_factory=dict)
    is_counted: bool = False

    def covered(self, stats: QueryStats) -> int | None:
        """Return how many segments a result covers; None if its statistics do not show that."""
        if not self.is_counted or not stats.servers_queried:
            return None
        return stats.segments_queried + stats.segments_pruned_by_broker


def check_whole(
    segments: Mapping[TableName, frozenset[str]],
    routed: Callable[[TableName], Collection[str]],
    assigned: Callable[[TableName], Collection[str]],
    *,
    covered: int | None = None,
    where: str,
) -> None:
    """Refuse a result for which the broker skipped segments because it knows no server with them.

    A broker of Pinot 1.x can skip a new segment in one query and not in the next, so that only the number of
    segments shows it.

    A result of a table that was deleted meanwhile is refused too.

    Args:
        segments: By table, the segments that a result must cover.
        routed: Returns the segments of a table that the broker queries.
        assigned: Returns the segments that servers should have: some may have been deleted meanwhile.
        covered: See :meth:`VersionedQuery.covered`.
        where: The broker's URL.

    Raises:
        PartialResultError: It queries fewer segments, or the table is gone.
    """
    for table, needed in segments.items():
        missing = needed.difference(routed(table))
        if not missing and (covered is None or covered >= len(needed)):
            continue
        present = frozenset(assigned(table))
        if not present:
            raise PartialResultError(
                f"{table} was deleted while it was queried", where=where, remedy="check that the table exists"
            )
        if missing := missing.intersection(present):
            raise PartialResultError(
                f"the broker does not query {len(missing)} segments of {table}, so rows are missing from its "
                f"result: {shown_names(missing)}",
                where=where,
                remedy="check that all servers of the table are running, then query again",
            )
        if covered is not None and covered < (count := len(needed & present)):
            raise PartialResultError(
                f"the broker queried {covered} of {count} segments of {table}, so rows are missing from its "
                "result",
                where=where,
                remedy="query again; brokers pick up new segments in a moment",
            )
