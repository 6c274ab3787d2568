"""Queries: failover between brokers, exact values, and incomplete results."""

from __future__ import annotations

import base64
import json
import pickle
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from controller_client.broker.client import BrokerClient
from controller_client.common.retry import RetryPolicy
from controller_client.config import BasicAuth, BrokerConfig, Secret
from controller_client.errors import (
    NotAppliedError,
    PartialResultError,
    QueryError,
    RejectedError,
)
from tests.unit.controller_client.scripted_server import (
    ScriptedServer,
    answer,
    closed_port,
    hang_up,
    reset,
    silence,
)
from tests.unit.fake_clock import FakeClock


def document(**changes: Any) -> dict[str, Any]:
    return {
        "resultTable": {
            "dataSchema": {"columnNames": ["n"], "columnDataTypes": ["LONG"]},
            "rows": [[3]],
        },
        "exceptions": [],
        "numServersQueried": 2,
        "numServersResponded": 2,
        "totalDocs": 30,
        **changes,
    }


def client(*urls: str, clock: FakeClock | None = None, read_timeout_s: float = 60.0) -> BrokerClient:
    config = BrokerConfig(urls, read_timeout_s=read_timeout_s, retry=RetryPolicy(attempts=2))
    return BrokerClient(config, clock=clock or FakeClock(), rng=random.Random(1))


@contextmanager
def answering(*bodies: object) -> Iterator[BrokerClient]:
    """A client of a broker that answers with these."""
    with ScriptedServer(*(answer(200, body) for body in bodies)) as server, client(server.url) as broker:
        yield broker


def test_credentials_echoed_by_a_broker_appear_in_no_error() -> None:
    encoded = base64.b64encode(b"me:hush-hush").decode()
    faults = [
        {"errorCode": 150, "message": f"no such user: Basic {encoded}"},
        {"errorCode": 427, "message": "x" * 995 + " hush-hush"},
    ]
    config = BrokerConfig(("http://nowhere",), auth=BasicAuth("me", Secret("hush-hush")))
    for number in range(2):
        with ScriptedServer(answer(200, document(exceptions=faults[number:]))) as server:
            reach = replace(config, urls=(server.url,))
            with BrokerClient(reach) as broker, pytest.raises(QueryError) as caught:
                broker.query("select 1")
        assert "hush" not in str(caught.value)
        assert encoded not in str(caught.value)


@pytest.mark.parametrize(
    ("code", "text", "message"),
    [
        (190, "TableDoesNotExistError", "190 there is no such table"),
        (
            710,
            "UnknownColumnError:\norg.apache.x.X: Unknown columnName 'nope' found in the query\n\tat a.b.C",
            "710 UnknownColumnError: Unknown columnName 'nope' found in the query",
        ),
        (
            150,
            "SQLParsingError:\norg.apache.X: Caught: selec\n\tat org.Y(Y.java:1)\n...\nCaused by: here",
            "150 SQLParsingError: Caught: selec Caused by: here",
        ),
    ],
)
def test_a_refusal_as_text(code: int, text: str, message: str) -> None:
    refusal = document(exceptions=[{"errorCode": code, "message": text}], resultTable=None)
    with answering(refusal) as broker, pytest.raises(QueryError) as caught:
        broker.query("select 1")
    assert caught.value.message == message
    assert caught.value.codes == frozenset({code})
    assert pickle.loads(pickle.dumps(caught.value)).codes == {code}  # noqa: S301  # made here


def test_segments_that_lack_a_column_count_as_missing() -> None:
    lacking = document(numSegmentsQueried=3, numSegmentsPrunedByServer=3, numSegmentsPrunedInvalid=2)
    with answering(lacking, lacking) as broker:
        with pytest.raises(PartialResultError, match="2 of 3 segments lack a column"):
            broker.query("select * from t")
        assert broker.query("select * from t", allow_partial=True).stats.segments_invalid == 2


@pytest.mark.parametrize("text", ["<html>a proxy</html>", "", "{}", "[]", "null", '{"exceptions": null}'])
def test_a_response_that_is_no_result_is_an_error_of_this_project(text: str) -> None:
    with answering(text) as broker, pytest.raises(NotAppliedError, match="the response is") as caught:
        broker.query("select 1")
    assert "proxy answers in its place" in str(caught.value)


@pytest.mark.parametrize("fault", [reset, hang_up, silence, answer(503)])
def test_a_broken_broker_is_skipped(fault: Any) -> None:
    # Short enough to wait for a silent broker, long enough for the good one on a busy machine.
    read_timeout_s = 3 if fault is silence else 60
    with ScriptedServer(*[fault] * 4) as bad, ScriptedServer(*[answer(200, document())] * 4) as good:
        # The client picks the first broker at random; one of the two orders starts with the broken one.
        for urls in ((bad.url, good.url), (good.url, bad.url)):
            with client(*urls, read_timeout_s=read_timeout_s) as broker:
                assert broker.query("select 1").scalar() == 3
                assert broker.query("select 1").broker_url == good.url
        # Once it has failed it is tried last.
        assert len(bad.requests) == 1


def test_brokers_that_are_down() -> None:
    clock = FakeClock()
    urls = [f"http://127.0.0.1:{closed_port()}" for _ in range(2)]
    with client(*urls, clock=clock) as broker, pytest.raises(NotAppliedError, match="Connection refused"):
        broker.query("select 1")
    assert len(clock.sleeps) == 1
    with ScriptedServer(answer(200, document())) as good, client(urls[0], good.url) as broker:
        assert broker.query("select 1").scalar() == 3


def test_a_refused_query_is_not_sent_to_the_next_broker() -> None:
    with ScriptedServer(answer(400, "bad")) as first, ScriptedServer(answer(400, "bad")) as second:
        with client(first.url, second.url) as broker, pytest.raises(RejectedError):
            broker.query("select 1")
        assert len(first.requests) + len(second.requests) == 1


def test_options_and_timeout_are_sent() -> None:
    with ScriptedServer(answer(200, document())) as server:
        with client(server.url) as broker:
            broker.query("select 1", options={"useMultistageEngine": True, "a": 1}, timeout_s=2.5)
        assert server.requests[0].path == "/query/sql"
        assert server.requests[0].json() == {
            "sql": "select 1",
            "queryOptions": "useMultistageEngine=true;a=1;timeoutMs=2500",
        }


def test_values_are_kept_exactly() -> None:
    table = {
        "dataSchema": {
            "columnNames": ["d", "f", "x", "l", "s", "m", "z", "b"],
            "columnDataTypes": [
                *("BIG_DECIMAL", "DOUBLE", "DOUBLE", "LONG", "STRING", "DOUBLE_ARRAY", "STRING", "BOOLEAN")
            ],
        },
        "rows": [[0, 1.5, "NaN", 9007199254740993, "ü", [1.5, 2], None, True]],
    }
    # Pinot writes a BIG_DECIMAL as a number with all its digits.
    raw = json.dumps(document(resultTable=table)).replace("[[0, ", "[[1.23456789012345678901234567890, ")
    with answering(raw) as broker:
        result = broker.query("select 1")
    decimal, double, not_a_number, long, text, array, nothing, flag = result.rows[0]
    assert decimal == Decimal("1.23456789012345678901234567890")
    assert (type(double), double) == (float, 1.5)
    assert not_a_number != not_a_number
    assert long == 9007199254740993
    assert (text, array, nothing, flag) == ("ü", [1.5, 2.0], None, True)
    assert all(type(item) is float for item in array)
    assert result.columns[0].name == "d"


@pytest.mark.parametrize(
    "lack",
    [
        {"numServersResponded": 1},
        {"partialResult": True},
        {"numSegmentsQueried": 6, "numSegmentsProcessed": 3, "numSegmentsPrunedByServer": 2},
        {"exceptions": [{"errorCode": 427, "message": "1 servers [S] not responded"}]},
        {"exceptions": [{"errorCode": 425, "message": "Connection refused: /127.0.0.1:8098"}]},
        {"exceptions": [{"errorCode": 305, "message": "2 segments unavailable: [a, b]"}]},
    ],
)
def test_an_incomplete_result_is_an_error_unless_allowed(lack: dict[str, Any]) -> None:
    body = document(**lack)
    with answering(body, body) as broker:
        with pytest.raises(PartialResultError) as caught:
            broker.query("select 1")
        assert broker.query("select 1", allow_partial=True).scalar() == 3
    for fault in lack.get("exceptions", []):
        assert fault["message"] in str(caught.value)


def test_pruned_segments_and_plans_are_not_incomplete() -> None:
    pruned = document(numSegmentsQueried=6, numSegmentsProcessed=1, numSegmentsPrunedByServer=5)
    columns = ["Operator", "Operator_Id", "Parent_Id"]
    schema = {"columnNames": columns, "columnDataTypes": ["STRING", "INT", "INT"]}
    plan = document(
        numSegmentsQueried=6,
        numSegmentsPrunedByServer=5,
        resultTable={"dataSchema": schema, "rows": [["BROKER_REDUCE(limit:10)", 1, 0]]},
    )
    with answering(pruned, plan) as broker:
        assert broker.query("select * from t limit 1").stats.segments_pruned == 5
        assert broker.query("explain plan for select * from t").rows[0][1] == 1


def test_partial_does_not_hide_a_real_exception() -> None:
    faults = [{"errorCode": 427, "message": "not responded"}, {"errorCode": 200, "message": "boom"}]
    body = document(exceptions=faults)
    with answering(body) as broker:
        with pytest.raises(QueryError, match="200 boom") as caught:
            broker.query("select 1", allow_partial=True)
        assert not isinstance(caught.value, PartialResultError)


def test_a_table_without_segments_has_no_rows() -> None:
    body = document(numServersQueried=0, numServersResponded=0)
    del body["resultTable"]
    with answering(body) as broker:
        result = broker.query("select 1")
        assert (result.columns, result.rows) == ((), ())
        with pytest.raises(QueryError, match="0 rows"):
            result.scalar()


@pytest.mark.parametrize(
    ("named", "versions"),
    [
        ({}, {}),
        ({"traceInfo": {}}, {}),
        (
            {"traceInfo": {"upsertVersions": "a_REALTIME:17,b_REALTIME:4"}},
            {"a_REALTIME": 17, "b_REALTIME": 4},
        ),
        ({"traceInfo": {"upsertVersions": "db.a_REALTIME:0,unpruned"}}, {"db.a_REALTIME": 0}),
    ],
)
def test_the_versions_reported_by_a_hosted_broker(named: dict[str, Any], versions: dict[str, int]) -> None:
    with answering(document(**named)) as broker:
        assert broker.query("select 1 from t").versions == versions


def test_the_next_page_begins_after_the_rows_that_the_broker_has_given() -> None:
    """A broker may end a page before the number of rows that was asked for."""
    stored = document(requestId="7", expirationTimeMs=1, numRowsResultSet=3)
    rest = document(resultTable={**stored["resultTable"], "rows": [[4], [5]]})
    with (
        ScriptedServer(answer(200, stored), answer(200, rest), answer(200)) as server,
        client(server.url) as broker,
        broker.cursor("select n from t limit 9", rows_per_page=2) as cursor,
    ):
        assert [row[0] for page in cursor for row in page] == [3, 4, 5]
    assert server.requests[1].target == "/responseStore/7/results?offset=1&numRows=2"
