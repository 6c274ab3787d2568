"""Reads groups of segments from servers, using another replica if one fails."""

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
    """Rows of some segments from one server, complete and checked.

    Attributes:
        answer: The rows.
        nulls: The positions of nulls.
    """

    answer: ServerAnswer
    nulls: Nulls

    def tables(self) -> Iterator[DataTable]:
        """Decode the answer part by part; can be called once."""
        return self.answer.tables()


def read_from_servers(
    query: ServerQuery,
    group: SegmentGroup,
    columns: Sequence[ReadColumn],
    nullable: Sequence[ReadColumn],
    limit: int | None,
) -> Iterator[ServedRows]:
    """Read a group; the rows of a server are yielded only once all were received, so none is yielded twice.

    Args:
        query: Settings for queries of servers.
        group: The segments to read.
        columns: The columns to select.
        nullable: Those of the columns whose nulls are requested.
        limit: Maximum number of rows needed.

    Raises:
        PartialResultError: No server returns the rows of a segment; the error names segment, servers and
            reasons.
        QueryError: Pinot rejects the query.
    """
    waiting = list(group.segments)
    failed: dict[ServerAddress, str] = {}
    while waiting:
        by_server: dict[ServerAddress, list[SegmentToRead]] = {}
        for segment in waiting:
            server = next((each for each in segment.servers if each not in failed), None)
            if server is None:
                raise _no_server(group, segment, failed)
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
            # If a consuming segment is sealed meanwhile, it may be sorted, which changes its row numbers.
            if consuming <= {answer.consuming}:
                return ServedRows(answer, nulls)
            answer.close()
    raise PartialResultError(f"{server}: segments kept being sealed during the read")


def _nulls(
    connection: ServerConnection, group: SegmentGroup, names: Sequence[str], nullable: Sequence[ReadColumn]
) -> tuple[Nulls, set[int]]:
    """Return the positions of nulls, and how many segments were still consuming."""
    nulls, consuming = {}, set()
    for column in nullable:
        found = connection.ask(select_nulls(group.table, column, group.where), names)
        consuming.add(found.consuming)
        nulls[column.name] = null_positions(found.tables())
    return nulls, consuming


def _no_server(
    group: SegmentGroup, segment: SegmentToRead, failed: dict[ServerAddress, str]
) -> PartialResultError:
    reasons = "; ".join(failed[server] for server in segment.servers)
    return PartialResultError(
        f"no server returned segment {segment.name} of {group.table}: {reasons}",
        expected=f"an answer from {' or '.join(str(server) for server in segment.servers)}",
        remedy="start these servers; if the table was overwritten during the read, read it again",
    )
