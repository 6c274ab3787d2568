"""Groups of segments read from servers, with the next replica where one fails."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from controller_client.errors import AuthError, NotAppliedError, PartialResultError
from spark_connectors.read.assemble import Nulls, null_positions
from spark_connectors.read.columns import ReadColumn
from spark_connectors.read.data_table import DataTable
from spark_connectors.read.plan import SegmentGroup, SegmentToRead, ServerAddress
from spark_connectors.read.server_query import ServerAnswer, ServerConnection, ServerQuery
from spark_connectors.read.sql import select_nulls, select_rows

__all__ = ["ServedRows", "read_from_servers"]

logger = logging.getLogger(__name__)

_ATTEMPTS_WHEN_SEALED = 3


@dataclass(frozen=True)
class ServedRows:
    """Rows of some segments of one server, whole and checked.

    Attributes:
        answer: The rows.
        nulls: Where their nulls are.
    """

    answer: ServerAnswer
    nulls: Nulls

    def tables(self) -> Iterator[DataTable]:
        """Decode part by part, once."""
        return self.answer.tables()


def read_from_servers(
    query: ServerQuery,
    group: SegmentGroup,
    columns: Sequence[ReadColumn],
    nullable: Sequence[ReadColumn],
    limit: int | None,
) -> Iterator[ServedRows]:
    """Read a group; a server's rows come when all of them are here, so none comes twice.

    Args:
        query: How servers are asked.
        group: What to read.
        columns: What to select.
        nullable: Those of them whose nulls are asked for.
        limit: Most rows that are of use.

    Raises:
        PartialResultError: No server that has a segment gives its rows; names segments, servers and reasons.
        QueryError: Pinot finds the query wrong.
    """
    waiting = list(group.segments)
    failed: dict[ServerAddress, str] = {}
    while waiting:
        by_server: dict[ServerAddress, list[SegmentToRead]] = {}
        for segment in waiting:
            server = next((each for each in segment.servers if each not in failed), None)
            if server is None:
                raise _given_up(group, segment, failed)
            by_server.setdefault(server, []).append(segment)
        waiting = []
        for server, segments in by_server.items():
            try:
                served = _ask(query, server, group, segments, columns, nullable, limit)
            except AuthError:
                raise
            except (NotAppliedError, PartialResultError) as error:
                logger.warning("%s: %s; trying the next replica", group.table, error.message)
                failed[server] = error.message
                waiting += segments
            else:
                yield served


def _ask(
    query: ServerQuery,
    server: ServerAddress,
    group: SegmentGroup,
    segments: Sequence[SegmentToRead],
    columns: Sequence[ReadColumn],
    nullable: Sequence[ReadColumn],
    limit: int | None,
) -> ServedRows:
    names = [segment.name for segment in segments]
    sql = select_rows(group.table, columns, group.where, limit, with_position=bool(nullable))
    with query.connect(server) as connection:
        for _ in range(_ATTEMPTS_WHEN_SEALED):
            answer = connection.ask(sql, names, limit=limit)
            try:
                nulls, consuming = _nulls(connection, group, names, nullable)
            except BaseException:
                answer.close()
                raise
            # A consuming segment that is sealed meanwhile may be sorted: then rows have other numbers.
            if consuming <= {answer.consuming}:
                return ServedRows(answer, nulls)
            answer.close()
    raise PartialResultError(f"{server}: segments kept being sealed while they were read")


def _nulls(
    connection: ServerConnection, group: SegmentGroup, names: Sequence[str], nullable: Sequence[ReadColumn]
) -> tuple[Nulls, set[int]]:
    """Return where the nulls are, and how many segments were still consuming."""
    nulls, consuming = {}, set()
    for column in nullable:
        found = connection.ask(select_nulls(group.table, column, group.where), names)
        consuming.add(found.consuming)
        nulls[column.name] = null_positions(found.tables())
    return nulls, consuming


def _given_up(
    group: SegmentGroup, segment: SegmentToRead, failed: dict[ServerAddress, str]
) -> PartialResultError:
    reasons = "; ".join(failed[server] for server in segment.servers)
    return PartialResultError(
        f"no server returned the segment {segment.name} of {group.table}: {reasons}",
        expected=f"an answer of {' or '.join(str(server) for server in segment.servers)}",
        remedy="start these servers; when the table was overwritten while it was read, read it again",
    )
