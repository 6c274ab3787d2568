"""The transport against a real server that misbehaves."""

from __future__ import annotations

import base64
import io
import itertools
import json
import logging
import pickle
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from email.utils import formatdate
from urllib.parse import quote

import pytest

from controller_client.common.retry import RetryPolicy
from controller_client.config import BasicAuth, BearerToken, ControllerConfig, Secret
from controller_client.errors import (
    AuthError,
    ConfigError,
    ConflictError,
    NotAppliedError,
    NotFoundError,
    OutcomeUnknownError,
    PinotPluginError,
    RejectedError,
    UnreachableError,
)
from controller_client.rest.addresses import Addresses
from controller_client.rest.paths import path_of
from controller_client.rest.transport import Transport
from tests.support.tiers import FULL
from tests.unit.controller_client.scripted_server import (
    NOTHING,
    ScriptedServer,
    Step,
    answer,
    closed_port,
    hang_up,
    reset,
    silence,
    truncate,
)
from tests.unit.fake_clock import FakeClock

Make = Callable[..., tuple[Transport, ScriptedServer, FakeClock]]
PASSWORD = "s3cr3t-password"


@pytest.fixture
def make() -> Iterator[Make]:
    with ExitStack() as stack:

        def build(*script: Step, **settings: object) -> tuple[Transport, ScriptedServer, FakeClock]:
            server = stack.enter_context(ScriptedServer(*script))
            clock = FakeClock()
            config = ControllerConfig(
                server.url,
                auth=BasicAuth("admin", Secret(PASSWORD)),
                # Short where the test waits for it, but long enough for a response on a busy machine.
                read_timeout_s=3 if silence in script else 60,
                retry=RetryPolicy(attempts=3),
                **settings,  # type: ignore[arg-type]
            )
            transport = Transport(config, clock=clock)
            stack.callback(transport.close)
            return transport, server, clock

        yield build


@pytest.mark.parametrize(
    "body",
    [
        "you sent {header}",
        {"code": 401, "error": "bad credentials: {header}"},
        {"error": "admin:{quoted} is unknown", "headers": {"Authorization": "{header}"}},
        "<html><body>{encoded} and {password}</body></html>",
    ],
)
@pytest.mark.parametrize("status", [200, 400, 401, 500])
def test_credentials_echoed_by_the_peer_appear_in_no_error(
    make: Make, body: object, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    encoded = base64.b64encode(f"admin:{PASSWORD}".encode()).decode()
    forms = {
        "{header}": f"Basic {encoded}",
        "{encoded}": encoded,
        "{password}": PASSWORD,
        "{quoted}": quote(PASSWORD),
    }
    text = body if isinstance(body, str) else json.dumps(body)
    for name, value in forms.items():
        text = text.replace(name, value)
    if status == 200:
        text = "{" + text  # not JSON
    caplog.set_level(logging.DEBUG)
    transport, _, _ = make(*[answer(status, text)] * 3)
    with pytest.raises(PinotPluginError) as caught:
        transport.get_json("/x", dict)
    shown = str(caught.value) + repr(caught.value) + caplog.text
    assert not [form for form in forms.values() if form in shown]
    assert "***" in shown


def test_a_header_that_cannot_be_sent_is_not_quoted(make: Make) -> None:
    transport, server, _ = make(answer(200, {}))
    with pytest.raises(NotAppliedError) as caught:
        transport.request("GET", "/x", headers={"X-Password": f" {PASSWORD}\n"})
    assert PASSWORD not in str(caught.value)
    assert server.requests == []


def test_a_response_nested_too_deeply_is_an_error_of_this_project(make: Make) -> None:
    transport, _, _ = make(answer(200, "[" * 200_000), answer(400, "[" * 200_000))
    for _ in range(2):
        with pytest.raises(PinotPluginError):
            transport.get_json("/x", dict)


@contextmanager
def between(*urls: str, clock: FakeClock | None = None) -> Iterator[Transport]:
    """A transport that tries these controllers in turn."""
    with closing(Transport(ControllerConfig(",".join(urls)), clock=clock or FakeClock())) as transport:
        yield transport


def nobody() -> str:
    return f"http://127.0.0.1:{closed_port()}"


def test_if_a_controller_is_down_the_next_is_tried() -> None:
    clock = FakeClock()
    with ScriptedServer(answer(200, {"a": 1}), answer(200, {}), answer(200, {})) as there:
        with between(nobody(), f" {there.url}/", clock=clock) as transport:
            assert transport.get_json("/x", dict) == {"a": 1}
            # For a change, too, not a byte was sent to the first one.
            transport.request("POST", "/y")
            transport.request("GET", "/z")
            assert transport.base_url == there.url
        assert [seen.path for seen in there.requests] == ["/x", "/y", "/z"]
    assert clock.sleeps == []


def test_a_change_whose_reply_is_lost_is_not_resent_but_the_next_call_goes_to_the_next_controller() -> None:
    """Otherwise it would wait again for a controller that hangs."""
    with (
        ScriptedServer(hang_up) as first,
        ScriptedServer(answer(200, {})) as second,
        between(first.url, second.url) as transport,
    ):
        with pytest.raises(OutcomeUnknownError, match="unknown") as caught:
            transport.request("POST", "/x")
        assert first.url in str(caught.value.where)
        assert second.requests == []
        transport.request("GET", "/x")
        assert (len(first.requests), len(second.requests)) == (1, 1)


def test_if_a_certificate_is_not_trusted_the_next_controller_is_tried() -> None:
    def untrusted() -> str:
        raise UnreachableError("TLS failed: certificate verify failed", where="GET https://one/x")

    addresses = Addresses(["https://one", "https://two"])
    assert (
        addresses.in_turn(lambda: untrusted() if addresses.current == "https://one" else "answered")
        == "answered"
    )
    with pytest.raises(UnreachableError, match="TLS failed"):
        addresses.in_turn(untrusted)


def test_if_all_controllers_are_down_each_is_named() -> None:
    urls = [nobody() for _ in range(3)]
    with between(*urls) as transport, pytest.raises(UnreachableError) as caught:
        transport.request("GET", "/x")
    for url in urls:
        assert str(caught.value).count(url) == 1


def test_a_pause_comes_after_all_controllers_have_failed() -> None:
    clock = FakeClock()
    with (
        ScriptedServer(answer(503, {}), answer(200, {"a": 1})) as first,
        between(first.url, nobody(), clock=clock) as transport,
    ):
        assert transport.get_json("/x", dict) == {"a": 1}
        assert (len(first.requests), len(clock.sleeps)) == (2, 1)


FAULTS = (reset, hang_up, truncate, silence)  # a test waits some seconds for the last
SILENCE_IN_FULL = (*FAULTS[:3], pytest.param(silence, marks=FULL))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_read_is_repeated_after_a_fault(make: Make, fault: Step) -> None:
    transport, server, clock = make(fault, answer(200, {"a": 1}))
    assert transport.get_json("/x", dict) == {"a": 1}
    assert len(server.requests) == 2
    assert len(clock.sleeps) == 1


@pytest.mark.parametrize("fault", SILENCE_IN_FULL)
def test_a_read_that_never_succeeds_is_not_applied(make: Make, fault: Step) -> None:
    transport, server, _ = make(fault, fault, fault, answer(200, {}))
    with pytest.raises(NotAppliedError):
        transport.get_json("/x", dict)
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("method", "fault"),
    [
        *(("POST", fault) for fault in FAULTS),
        *itertools.product(["PUT", "DELETE"], FAULTS[:3]),
        *(pytest.param(method, silence, marks=FULL) for method in ("PUT", "DELETE")),
    ],
)
def test_a_change_whose_reply_is_lost_is_unknown_and_never_repeated(
    make: Make, method: str, fault: Step
) -> None:
    transport, server, clock = make(fault, answer(200, {}))
    with pytest.raises(OutcomeUnknownError) as caught:
        transport.request(method, "/x", json={})
    assert len(server.requests) == 1
    assert clock.sleeps == []
    assert "read the state back" in str(caught.value)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_refused_connection_is_unreachable_and_repeated(method: str) -> None:
    clock = FakeClock()
    config = ControllerConfig(f"http://127.0.0.1:{closed_port()}", retry=RetryPolicy(attempts=4))
    transport = Transport(config, clock=clock)
    with pytest.raises(UnreachableError, match="Connection refused"):
        transport.request(method, "/x")
    transport.close()
    assert len(clock.sleeps) == 3


@pytest.mark.parametrize(
    ("path", "variable"), [("/instances/Server_dead_1", "idealState"), ("/tenants/t", "tableIdealState")]
)
def test_a_change_that_pinot_reports_as_not_applied_is_repeated(path: str, variable: str, make: Make) -> None:
    call = "org.apache.helix.model.IdealState.getPartitionSet()"
    refusal = f'Cannot invoke "{call}" because "{variable}" is null'
    transport, server, _ = make(answer(500, {"error": refusal}), answer(200, {}))
    transport.request("DELETE", path)
    assert len(server.requests) == 2


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_gateways_status_is_unknown_for_a_change_and_repeated_for_a_read(make: Make, status: int) -> None:
    transport, server, _ = make(answer(status), answer(status), answer(200, [1]))
    with pytest.raises(OutcomeUnknownError):
        transport.request("POST", "/x")
    assert transport.get_json("/x", list) == [1]
    assert [seen.method for seen in server.requests] == ["POST", "GET", "GET"]


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (400, {"code": 400, "error": "Illegal table type 'BAD'"}, RejectedError),
        (401, "", AuthError),
        (403, {"code": 403, "error": "Permission is denied"}, AuthError),
        (404, {"code": 404, "error": "Table 'nope' not found."}, NotFoundError),
        (409, {"error": "exists"}, ConflictError),
        (410, {"error": "gone"}, ConflictError),
        (412, {"error": "crc"}, ConflictError),
        (500, {"_code": 500, "_error": "boom"}, RejectedError),
        (500, "", OutcomeUnknownError),
    ],
)
def test_statuses_of_a_change(
    make: Make, status: int, body: object, expected: type[PinotPluginError]
) -> None:
    transport, _, _ = make(answer(status, body))
    with pytest.raises(PinotPluginError) as caught:
        transport.request("POST", "/x")
    assert type(caught.value) is expected
    assert caught.value.http_status == status
    if isinstance(body, dict):
        assert str(body.get("error") or body.get("_error")) in str(caught.value)


def test_a_500_of_a_read_is_not_repeated(make: Make) -> None:
    transport, server, _ = make(answer(500, {"error": "boom"}))
    with pytest.raises(RejectedError, match="boom"):
        transport.get_json("/x", dict)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "value", "least_s", "max_s"),
    [
        (503, "7", 7.0, 7.0),
        (429, formatdate(FakeClock().now() + 11, usegmt=True), 11 - 1e-5, 11 + 1e-5),
        *((503, invalid, 0.01, 0.99) for invalid in ("soon", "-1", "")),
    ],
)
def test_a_valid_retry_after_overrides_the_policys_wait(
    make: Make, status: int, value: str, least_s: float, max_s: float
) -> None:
    transport, _, clock = make(answer(status, "busy", {"Retry-After": value}), answer(200, {}))
    transport.get_json("/x", dict)
    (waited_s,) = clock.sleeps
    assert least_s <= waited_s <= max_s


def test_each_call_sends_accept_and_credentials(make: Make) -> None:
    transport, server, _ = make(answer(200, []), answer(200, {}))
    transport.get_json("/tasks/tasktypes", list)
    transport.request("POST", "/x", json={"a": [1]}, headers={"UPLOAD_TYPE": "URI"})
    expected = "Basic " + base64.b64encode(f"admin:{PASSWORD}".encode()).decode()
    for seen in server.requests:
        assert seen.headers["Accept"] == "application/json"
        assert seen.headers["Authorization"] == expected
    assert server.requests[1].headers["UPLOAD_TYPE"] == "URI"
    assert server.requests[1].json() == {"a": [1]}


def test_a_bearer_token_is_sent() -> None:
    with ScriptedServer(answer(200, {})) as server:
        transport = Transport(ControllerConfig(server.url, auth=BearerToken(Secret("t0ken"))))
        transport.get_json("/x", dict)
        transport.close()
    assert server.requests[0].headers["Authorization"] == "Bearer t0ken"


@pytest.mark.parametrize("step", [answer(500, f"no {PASSWORD} here, http://bob:pw@h/x"), reset, answer(401)])
def test_no_credentials_in_an_error(make: Make, step: Step) -> None:
    transport, _, _ = make(step)
    with pytest.raises(PinotPluginError) as caught:
        transport.request("POST", "/x")
    chain: BaseException | None = caught.value
    while chain is not None:
        for text in (str(chain), repr(chain)):
            assert PASSWORD not in text
            assert "bob:pw" not in text
        chain = chain.__cause__


def test_no_credentials_in_the_log_of_retries(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    transport, _, _ = make(reset, answer(200, {}))
    with caplog.at_level(logging.DEBUG):
        transport.get_json("/x", dict)
    assert "the connection broke" in caplog.text
    assert PASSWORD not in caplog.text


def test_errors_cross_process_boundaries(make: Make) -> None:
    transport, _, _ = make(answer(409, {"error": "exists already"}))
    with pytest.raises(ConflictError) as caught:
        transport.request("POST", "/x")
    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
    assert type(again) is ConflictError
    assert str(again) == str(caught.value)
    assert again.http_status == 409


def test_an_html_page_is_reported_as_text(make: Make) -> None:
    page = "<html><title>Grizzly</title><style>b{}</style><body><b>Request failed.</b></body></html>"
    transport, _, _ = make(answer(500, page))
    with pytest.raises(RejectedError, match=r"^Grizzly Request failed\."):
        transport.request("POST", "/x")


def test_a_response_that_is_not_json_names_the_address(make: Make) -> None:
    transport, server, _ = make(answer(200, "hello"))
    with pytest.raises(NotAppliedError, match="not what Pinot returns: 'hello'") as caught:
        transport.get_json("/x", dict)
    assert caught.value.where == f"{server.url}/x"


def test_only_a_controller_itself_answers_that_there_is_nothing(make: Make) -> None:
    pinot, typed = {"Pinot-Controller-Version": "0.11.0"}, {"Content-Type": "application/json"}
    transport, _, _ = make(NOTHING, answer(204, headers=pinot))
    for _ in range(2):
        assert transport.find_json("/segments/t/lineage", dict) is None
    # In the others, a proxy answers, or the body was lost.
    transport, _, _ = make(
        answer(200), answer(204), answer(200, "", {**pinot, **typed}), answer(200, " ", pinot)
    )
    for _ in range(4):
        with pytest.raises(NotAppliedError, match="the response is"):
            transport.find_json("/segments/t/lineage", dict)


def test_a_redirected_change_is_refused_and_not_turned_into_a_get(make: Make) -> None:
    transport, server, _ = make(answer(302, "", {"Location": "/elsewhere"}))
    with pytest.raises(RejectedError):
        transport.request("POST", "/x")
    assert len(server.requests) == 1


def test_none_is_omitted_from_the_query(make: Make) -> None:
    transport, server, _ = make(answer(200, {}))
    transport.get_json("/x", dict, params={"a": "1", "b": None})
    assert server.requests[0].target == "/x?a=1"


def test_a_file_is_sent_as_a_form_with_its_length(make: Make) -> None:
    data = bytes(range(256)) * 5000
    transport, server, _ = make(answer(200, {}))
    transport.request("POST", "/v2/segments", file=("s.tar.gz", io.BytesIO(data)))
    seen = server.requests[0]
    assert int(seen.headers["Content-Length"]) == len(seen.body)
    boundary = seen.headers["Content-Type"].partition("boundary=")[2].encode()
    _, part, end = seen.body.split(b"--" + boundary)
    head, _, content = part.partition(b"\r\n\r\n")
    assert b'name="file"; filename="s.tar.gz"' in head
    assert content.removesuffix(b"\r\n") == data
    assert end == b"--\r\n"


def test_an_interrupted_download_restarts(make: Make) -> None:
    transport, server, _ = make(truncate, answer(200, b"whole file"))
    target = io.BytesIO(b"before")
    target.seek(6)
    assert transport.download("/segments/t/s", target) == 10
    assert target.getvalue() == b"beforewhole file"
    assert len(server.requests) == 2


def test_a_missing_download_is_not_found(make: Make) -> None:
    transport, _, _ = make(answer(404, {"error": "Segment s not found"}))
    with pytest.raises(NotFoundError, match="Segment s not found"):
        transport.download("/segments/t/s", io.BytesIO())


def test_parts_of_a_path_are_quoted() -> None:
    assert path_of("segments", "a b?c", "ü%") == "/segments/a%20b%3Fc/%C3%BC%25"


@pytest.mark.parametrize("name", ["", " ", ".", "..", "../x", "a/b", "a\x1bb", "a\x00", "a\x9f", "a\udcff"])
def test_an_invalid_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="is not a valid name"):
        path_of("tables", name)
