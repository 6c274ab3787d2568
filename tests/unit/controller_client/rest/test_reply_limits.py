"""Responses of any size, and error pages that are made to take long."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator

import pytest

from controller_client.broker.client import BrokerClient, without_java
from controller_client.common.retry import RetryPolicy
from controller_client.config import BrokerConfig, ControllerConfig
from controller_client.errors import ConfigError, NotAppliedError, OutcomeUnknownError, RejectedError
from controller_client.rest.bodies import words_of
from controller_client.rest.transport import Transport
from tests.unit.controller_client.scripted_server import ScriptedServer, Step, answer
from tests.unit.fake_clock import FakeClock

_MAX_BYTES = 100_000


def zipped(size_bytes: int, status: int = 200, **headers: str) -> Step:
    body = gzip.compress(json.dumps({"text": "x" * size_bytes}).encode())
    return answer(status, body, {"Content-Encoding": "gzip", "Content-Type": "application/json", **headers})


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


@pytest.fixture
def transport(server: ScriptedServer) -> Iterator[Transport]:
    made = Transport(ControllerConfig(server.url, max_reply_bytes=_MAX_BYTES), clock=FakeClock())
    yield made
    made.close()


def test_a_reply_is_limited_after_decompression(server: ScriptedServer, transport: Transport) -> None:
    server.script.extend([zipped(_MAX_BYTES - 20), zipped(_MAX_BYTES), zipped(50), zipped(_MAX_BYTES)])
    assert len(transport.get_json("/a", dict)["text"]) == _MAX_BYTES - 20
    with pytest.raises(NotAppliedError, match="longer than 100,000 bytes") as caught:
        transport.request("GET", "/b")
    assert "PINOT_MAX_REPLY_BYTES" in str(caught.value)
    assert len(server.requests) == 2, "it is not asked again for the same"
    assert transport.get_json("/c", dict) == {"text": "x" * 50}
    with pytest.raises(OutcomeUnknownError, match="longer"):
        transport.request("POST", "/d", json={})


def test_of_an_error_or_a_redirect_only_the_beginning_is_read(
    server: ScriptedServer, transport: Transport
) -> None:
    page = b"x" * 3_000_000
    server.script.extend([answer(400, page), zipped(10**7, 302, Location="/there"), answer(200, {"a": 1})])
    with pytest.raises(RejectedError) as caught:
        transport.request("POST", "/a", json={})
    assert len(caught.value.message) < 3_000
    assert transport.get_json("/b", dict) == {"a": 1}
    assert [each.path for each in server.requests] == ["/a", "/b", "/there"]


def test_an_error_that_is_cut_off_is_still_classified(server: ScriptedServer, transport: Transport) -> None:
    server.script.append(answer(400, {"code": 400, "error": "wrong " + "y" * 200_000}))
    with pytest.raises(RejectedError, match="wrong y"):
        transport.request("POST", "/a", json={})


def test_a_query_with_too_long_a_result_is_not_run_again() -> None:
    with ScriptedServer(zipped(_MAX_BYTES)) as one, ScriptedServer(zipped(_MAX_BYTES)) as other:
        config = BrokerConfig((one.url, other.url), max_reply_bytes=_MAX_BYTES, retry=RetryPolicy(3))
        with (
            BrokerClient(config, clock=FakeClock()) as broker,
            pytest.raises(NotAppliedError, match="longer"),
        ):
            broker.query("SELECT * FROM t")
        assert len(one.requests) + len(other.requests) == 1


def test_the_limit_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PINOT_MAX_REPLY_BYTES", raising=False)
    assert ControllerConfig("http://c").max_reply_bytes == 1 << 30
    monkeypatch.setenv("PINOT_MAX_REPLY_BYTES", "5000")
    controller = ControllerConfig("http://c")
    assert (controller.max_reply_bytes, BrokerConfig(("http://b",)).max_reply_bytes) == (5_000, 5_000)
    assert BrokerConfig.like(controller, ("http://b",)).max_reply_bytes == 5_000
    for wrong in ("0", "-1", "1 GiB", "1e9"):
        monkeypatch.setenv("PINOT_MAX_REPLY_BYTES", wrong)
        with pytest.raises(ConfigError, match="PINOT_MAX_REPLY_BYTES"):
            ControllerConfig("http://c")


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("<html><title>No</title><style>b{c:'<'}</style><p class='x'>Not <b>found</b></p>", "No Not found"),
        ("<style>a{} <b>text</b>", "a{} text"),
        ("<a>1 < 2", "1 < 2"),
        ("<", "<"),
    ],
)
def test_the_words_of_a_page(page: str, words: str) -> None:
    assert words_of(page) == words


@pytest.mark.parametrize("part", ["<", "<style", "<style>", "</style", "<a ", "<a>", "a.", "a.b.C", "a.b.C:"])
def test_a_message_takes_time_in_proportion_to_its_length(part: str) -> None:
    text = part * (1_000_000 // len(part))
    began_s = time.process_time()
    words_of(text)
    words_of(f"<{text}")
    without_java(text)
    assert time.process_time() - began_s < 3
