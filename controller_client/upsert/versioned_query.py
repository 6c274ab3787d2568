"""A query that names the versions of its upsert tables, and what an answer to it must be of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from controller_client.common.names import TableName
from controller_client.errors import PartialResultError
from controller_client.upsert.mark_keeper import shown_names

__all__ = ["VersionedQuery", "check_whole"]


@dataclass(frozen=True)
class VersionedQuery:
    """A query as it is sent.

    Attributes:
        text: Its SQL.
        options: Its query options.
        versions: Upsert table (with type) -> the version that it asks for.
        segments: Upsert table (with type) -> the segments that an answer must be of.
    """

    text: str
    options: Mapping[str, str | int | bool]
    versions: Mapping[TableName, int] = field(default_factory=dict)
    segments: Mapping[TableName, frozenset[str]] = field(default_factory=dict)


def check_whole(
    segments: Mapping[TableName, frozenset[str]],
    routed: Callable[[TableName], Collection[str]],
    wanted: Callable[[TableName], Collection[str]],
    *,
    where: str,
) -> None:
    """Refuse what a broker answers, where it has left segments out: it knows of no server that has them.

    So is what it answers about a table that has gone meanwhile.

    Args:
        segments: By table, those that an answer must be of.
        routed: Returns the segments of a table that the broker queries.
        wanted: Returns the segments that servers are to have: one may have been deleted meanwhile.
        where: The broker.

    Raises:
        PartialResultError: It queries fewer, or the table is gone.
    """
    for table, needed in segments.items():
        missing = needed.difference(routed(table))
        if not missing:
            continue
        there = frozenset(wanted(table))
        if not there:
            raise PartialResultError(
                f"{table} was deleted while it was queried", where=where, remedy="check that it is there"
            )
        if missing := missing.intersection(there):
            raise PartialResultError(
                f"the broker does not query {len(missing)} segments of {table}, so rows are missing from its "
                f"answer: {shown_names(missing)}",
                where=where,
                remedy="check that all servers of the table are up, then query again",
            )
