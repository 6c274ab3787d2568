from __future__ import annotations

from dataclasses import replace

import grpc
import pytest
from pyspark.sql import types as spark

from controller_client.common.names import TableName
from controller_client.config import BasicAuth, Secret
from controller_client.errors import (
    AuthError,
    NotAppliedError,
    PartialResultError,
    PinotPluginError,
    QueryError,
)
from spark_connectors.options import ReadOptions, parse_options
from spark_connectors.read.columns import ReadColumn
from spark_connectors.read.plan import SegmentGroup, SegmentToRead, ServerAddress
from spark_connectors.read.server_query import ServerQuery
from spark_connectors.read.servers import read_from_servers
from tests.unit.spark_connectors.read.grpc_line import line, metadata, numbers

COLUMN = ReadColumn("n", "INT", True, spark.IntegerType())
DOCS, QUERIED, PROCESSED, PRUNED, INVALID = 2, 5, 6, 20, 21
WHOLE = metadata({DOCS: 3, QUERIED: 2, PROCESSED: 1, PRUNED: 1})
QUERY = ServerQuery(60_000, BasicAuth("me", Secret("do-not-tell")), None, (("skipUpsert", "true"),), None)


def group(*servers: ServerAddress) -> SegmentGroup:
    return SegmentGroup(
        TableName("t_OFFLINE"), None, tuple(SegmentToRead(name, servers, False) for name in "ab")
    )


def rows(read: SegmentGroup, limit: int | None = None) -> list[int]:
    served = read_from_servers(QUERY, read, (COLUMN,), (), limit)
    return [value for each in served for table in each.tables() for value in table.columns[0].to_pylist()]


def test_a_complete_answer() -> None:
    with line("one", numbers(1, 2), numbers(3), WHOLE) as server:
        assert rows(group(server.address)) == [1, 2, 3]
    request = server.requests[0]
    assert list(request.segments) == ["a", "b"]
    assert request.sql == (
        'SET timeoutMs=60000; SET skipUpsert=\'true\'; SELECT "n" FROM "t_OFFLINE" LIMIT 2147483647'
    )
    assert request.metadata["enableStreaming"] == "true"
    assert request.metadata["Authorization"] == "Basic bWU6ZG8tbm90LXRlbGw="


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("token", [{}, {"authToken": "hush"}])
def test_without_tls_a_server_gets_credentials_only_if_the_controllers_have_none_either(
    scheme: str, token: dict[str, str]
) -> None:
    given = {"controller": f"{scheme}://c:9000", "table": "t", "grpcUsePlainText": "true", **token}
    query = ServerQuery.of(parse_options(ReadOptions, given))
    with line("one", WHOLE) as server, query.connect(server.address) as connection:
        connection.ask("select 1", ["a", "b"], limit=0).close()
    assert ("Authorization" in server.requests[0].metadata) == (bool(token) and scheme == "http")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ((numbers(1, 2), grpc.StatusCode.UNAVAILABLE), "bad .* failed: UNAVAILABLE"),
        ((numbers(1, 2), grpc.StatusCode.INTERNAL), "failed: INTERNAL"),
        ((numbers(1, 2, 3),), "answered for -1 of 2 segments"),
        ((numbers(1, 2), WHOLE), "with 2 of 3 rows"),
        ((numbers(1, 2, 3), metadata({DOCS: 3, QUERIED: 1, PROCESSED: 1})), "for 1 of 2 segments"),
        ((numbers(1, 2, 3), metadata({DOCS: 3, QUERIED: 2, PROCESSED: 1})), "for 1 of 2 segments"),
        (
            (metadata({QUERIED: 1, PRUNED: 1}, {235: "1 segments [b] missing"}),),
            r"235 1 segments \[b\] missing",
        ),
    ],
)
def test_rows_of_a_bad_answer_are_never_returned(
    bad: tuple[bytes | grpc.StatusCode, ...], message: str
) -> None:
    with line("bad", *bad) as first, line("good", numbers(1, 2), numbers(3), WHOLE) as second:
        assert rows(group(first.address, second.address)) == [1, 2, 3]
        with pytest.raises(PartialResultError, match=message) as caught:
            rows(group(first.address))
    assert "segment a of t_OFFLINE" in str(caught.value)
    assert "do-not-tell" not in str(caught.value)


def test_a_missing_server() -> None:
    with line("gone") as gone:
        pass
    with line("good", numbers(1, 2), numbers(3), WHOLE) as second:
        assert rows(group(gone.address, second.address)) == [1, 2, 3]


def test_errors_that_another_server_would_not_fix() -> None:
    wrong = metadata({QUERIED: 2}, {200: "QueryExecutionError:\nno column x\n\tat org.apache.Some.java:1"})
    with line("one", wrong) as first, line("two", WHOLE) as second:
        with pytest.raises(QueryError, match="no column x") as caught:
            rows(group(first.address, second.address))
        assert "org.apache" not in str(caught.value)
    lacking = metadata({DOCS: 0, QUERIED: 2, PROCESSED: 0, PRUNED: 2, INVALID: 1})
    with line("one", lacking) as first, pytest.raises(QueryError, match="skipped 1 segment for lack of a"):
        rows(group(first.address))
    with (
        line("one", grpc.StatusCode.PERMISSION_DENIED) as first,
        line("two", WHOLE) as second,
        pytest.raises(AuthError),
    ):
        rows(group(first.address, second.address))
    with line("one", b"none") as first, pytest.raises(PinotPluginError, match="cannot be decoded"):
        rows(group(first.address))
    assert second.requests == []


def test_a_limit_excludes_rows() -> None:
    incomplete = metadata({DOCS: 900, QUERIED: 2, PROCESSED: 1})
    with line("one", numbers(1, 2), incomplete) as server:
        assert rows(group(server.address), limit=2) == [1, 2]
        assert server.requests[0].sql.endswith("LIMIT 2")
        with pytest.raises(PartialResultError):
            rows(group(server.address), limit=3)


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_a_part_of_an_answer_is_limited(compression: grpc.Compression) -> None:
    small = replace(QUERY, max_reply_bytes=100_000)
    parts = numbers(1, 2), bytes(8 << 20), WHOLE
    with (
        line("large", *parts, compression=compression) as server,
        small.connect(server.address) as connection,
        pytest.raises(NotAppliedError, match=r"large .* failed: [A-Z_]+") as caught,
    ):
        connection.ask("SELECT n FROM t", ["a", "b"])
    if compression is grpc.Compression.NoCompression:
        assert "PINOT_MAX_REPLY_BYTES" in str(caught.value)
