"""The HTTP transport: credentials, TLS, timeouts, retries, and mapping responses to errors.

A call is either read-only (``read_only``, by default GETs) or may change the cluster. What is known after a
failure differs:

=============================  ===========================  ================================================
what happened                  a call that only reads       a call that may change something
=============================  ===========================  ================================================
no connection                  repeated, UnreachableError   repeated, UnreachableError: nothing was sent
timeout, reset, truncated      repeated, NotAppliedError    OutcomeUnknownError, never repeated
502, 503, 504                  repeated, NotAppliedError    OutcomeUnknownError, never repeated
a reply that is too long       NotAppliedError              OutcomeUnknownError
429                            repeated, RejectedError      RejectedError
any other status               see :mod:`.error_map`        see :mod:`.error_map`; NotAppliedError is repeated
=============================  ===========================  ================================================

If there are several controllers, a repeatable call is tried at each in turn before a pause; so is a call to a
controller whose certificate is not trusted.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from functools import partial
from typing import IO, Any, TypeVar

import requests

from controller_client.clock import Clock, SystemClock
from controller_client.common.http_session import HttpSession
from controller_client.common.redaction import MASK, Redactor
from controller_client.common.reply_limits import reply_limits
from controller_client.common.retry import RetryPolicy, TransientFailureError, call_with_retry, retry_after_s
from controller_client.config import BrokerConfig, ControllerConfig
from controller_client.errors import NotAppliedError, PinotPluginError, RejectedError
from controller_client.rest.addresses import Addresses
from controller_client.rest.authorization import Authorization
from controller_client.rest.bodies import (
    Download,
    beginning_of,
    path_within,
    redirect_of,
    text_of,
    words_of,
    write_body,
)
from controller_client.rest.error_map import classify
from controller_client.rest.faults import translate
from controller_client.rest.multipart import FilePart
from controller_client.rest.replies import has_nothing, parse_reply, parse_value

__all__ = ["Transport"]

_Form = TypeVar("_Form")
_Value = TypeVar("_Value")

_READING = ("GET", "HEAD")
_RETRY_STATUSES = frozenset({429, 502, 503, 504})
_LONGEST_TEXT = 2_000
_LONGEST_ANSWER = 100_000
"""Maximum number of characters to read of an error response."""
_MAX_REDIRECTS = 5


class Transport:
    """HTTP calls to a controller, or to the next one if it fails; or to one base address.

    Args:
        config: Credentials, TLS, timeouts, retries.
        url: Base address; default: the configuration's addresses, or the first one for brokers.
        session: HTTP session to use; it is not closed. Default: a new session.
        clock: Time and sleep of the retries.
        rng: Random source for the retries' jitter.
    """

    def __init__(
        self,
        config: ControllerConfig | BrokerConfig,
        *,
        url: str | None = None,
        session: requests.Session | None = None,
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        several = config.urls if isinstance(config, ControllerConfig) else config.urls[:1]
        self._addresses = Addresses(several if url is None else (url,))
        self.clock: Clock = clock or SystemClock()
        self._config = config
        self._owns_session = session is None
        self._session = session or HttpSession()
        self._auth = Authorization(config.auth, config.urls)
        self._redact = Redactor(config.auth.secrets() if config.auth is not None else ())
        tls = config.tls
        self._verify: str | bool = (tls.ca_file or True) if tls.verify else False
        self._cert: str | tuple[str, str] | None = tls.client_cert_file
        if tls.client_cert_file and tls.client_key_file:
            self._cert = (tls.client_cert_file, tls.client_key_file)
        self._rng = rng or random.Random()  # noqa: S311 - jitter is no secret
        if self.base_url.startswith("https:"):
            config.tls.check()

    @property
    def base_url(self) -> str:
        """The address currently in use."""
        return self._addresses.current

    def close(self) -> None:
        """Close the connections, if the session is this object's own."""
        if self._owns_session:
            self._session.close()

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str | None] | None = None,
        json: object = None,
        text: str | None = None,
        file: tuple[str, IO[bytes]] | None = None,
        headers: Mapping[str, str] | None = None,
        read_only: bool | None = None,
        read_timeout_s: float | None = None,
        retry: RetryPolicy | None = None,
    ) -> requests.Response:
        """Make a call and return its response (status 200 to 299).

        Args:
            method: HTTP method.
            path: Path, quoted, with a leading slash.
            params: Query; entries with None are omitted.
            json: Body as JSON.
            text: Body as plain text.
            file: Name and open file, sent from its current position as the multipart form field ``file``.
            headers: In addition to ``Accept: application/json``.
            read_only: Whether the call changes nothing and may be repeated; default: true for GETs.
            read_timeout_s: Longest wait for a byte, in seconds; default: the configuration's.
            retry: Retry policy; default: the configuration's.

        Raises:
            PinotPluginError: According to the module's table.
        """
        reads = method in _READING if read_only is None else read_only
        start = file[1].tell() if file else 0

        def attempt() -> requests.Response:
            body: FilePart | bytes | None = None
            extra = dict(headers or {})
            if text is not None:
                body, extra["Content-Type"] = text.encode(), "text/plain"
            if file is not None:
                # A repeated upload (of which nothing was sent) starts at the same position.
                file[1].seek(start)
                body = FilePart("file", *file)
                extra["Content-Type"] = body.content_type
            return self._attempt(
                method,
                path,
                params=params,
                json=json,
                data=body,
                headers=extra,
                reads=reads,
                read_timeout_s=read_timeout_s or self._config.read_timeout_s,
            )

        return call_with_retry(
            partial(self._addresses.in_turn, attempt),
            policy=retry or self._config.retry,
            clock=self.clock,
            rng=self._rng,
            what=f"{method} {self.base_url}{path}",
        )

    def get_json(
        self,
        path: str,
        form: type[_Form],
        *,
        key: str | None = None,
        params: Mapping[str, str | None] | None = None,
    ) -> _Form:
        """GET a JSON document of an expected form; see :func:`.parse_reply`."""
        return parse_reply(self.request("GET", path, params=params), form, key=key, clean=self.clean)

    def get_value(
        self,
        path: str,
        form: type[_Form],
        make: Callable[[_Form], _Value],
        *,
        key: str | None = None,
        params: Mapping[str, str | None] | None = None,
    ) -> _Value:
        """GET a JSON document of an expected form, and make a value of it; see :func:`.parse_value`."""
        response = self.request("GET", path, params=params)
        return parse_value(response, form, make, key=key, clean=self.clean)

    def find_json(
        self, path: str, form: type[_Form], *, params: Mapping[str, str | None] | None = None
    ) -> _Form | None:
        """Like :meth:`get_json`; None if a controller answers that there is nothing."""
        response = self.request("GET", path, params=params)
        return None if has_nothing(response) else parse_reply(response, form, clean=self.clean)

    def download(
        self,
        path: str,
        target: IO[bytes],
        *,
        params: Mapping[str, str | None] | None = None,
        read_timeout_s: float | None = None,
        max_bytes: int | None = None,
    ) -> int:
        """GET and write the body to an open file; retries start at the file's current position.

        Redirects within the base address are followed; others are refused: they must not get the credentials.

        Args:
            path: Path, quoted, with a leading slash.
            target: File to write.
            params: Query; entries with None are omitted.
            read_timeout_s: Longest wait for a byte, in seconds; default: the configuration's.
            max_bytes: Maximum number of bytes to write; None: no limit.

        Returns:
            Bytes written.

        Raises:
            DataError: The body is longer than ``max_bytes``.
            RejectedError: The response redirects to another host, or too many times.
            PinotPluginError: According to the module's table.
        """
        at, query, where = path, "", f"GET {self.base_url}{path}"
        for _ in range(_MAX_REDIRECTS + 1):
            response = self.fetch(
                at, target, query=query, params=params, read_timeout_s=read_timeout_s, max_bytes=max_bytes
            )
            if response.redirect is None:
                return response.size_bytes
            (at, _, query), params = path_within(self.base_url, response.redirect, where).partition("?"), None
        raise RejectedError(f"there are more than {_MAX_REDIRECTS} redirects", where=where)

    def fetch(
        self,
        path: str,
        target: IO[bytes],
        *,
        query: str = "",
        params: Mapping[str, str | None] | None = None,
        read_timeout_s: float | None = None,
        max_bytes: int | None = None,
    ) -> Download:
        """Like :meth:`download`, but does not follow redirects.

        Args:
            path: Path, quoted, with a leading slash.
            target: File to write.
            query: Query in the form of an address. It may be a secret, so errors and logs show neither it nor
                what the other side reports about it.
            params: Query; entries with None are omitted.
            read_timeout_s: Longest wait for a byte, in seconds; default: the configuration's.
            max_bytes: Maximum number of bytes to write; None: no limit.

        Raises:
            DataError: The body is longer than ``max_bytes``.
            PinotPluginError: According to the module's table.
        """
        start = target.tell()

        def attempt() -> Download:
            where = f"GET {self.base_url}{path}"
            target.seek(start)
            target.truncate()
            try:
                with self._open(f"{path}?{query}" if query else path, params, read_timeout_s) as response:
                    if response.is_redirect:
                        return Download(0, redirect_of(response, where))
                    text = "" if query else beginning_of(response)
                    self._raise_for_status("GET", path, response, text, reads=True)
                    return Download(write_body(response, target, where, max_bytes))
            except requests.RequestException as fault:
                # The fault's text contains the whole address.
                cause = None if query else fault
                raise self._translated("GET", path, fault, reads=True, secret=query) from cause

        return call_with_retry(
            partial(self._addresses.in_turn, attempt),
            policy=self._config.retry,
            clock=self.clock,
            rng=self._rng,
            what=f"GET {self.base_url}{path}",
        )

    def _attempt(
        self, method: str, path: str, *, reads: bool, read_timeout_s: float, **arguments: Any
    ) -> requests.Response:
        at, where = path, f"{method} {self.base_url}{path}"
        for _ in range(_MAX_REDIRECTS + 1):
            try:
                response = self._send(method, at, read_timeout_s=read_timeout_s, **arguments)
            except requests.RequestException as fault:
                raise self._translated(method, path, fault, reads=reads) from fault
            if method not in _READING or not response.is_redirect:  # a redirected POST would become a GET
                self._raise_for_status(method, path, response, text_of(response), reads=reads)
                return response
            at = path_within(self.base_url, redirect_of(response, where), where)
            arguments["params"] = None  # the new address has its own
        raise RejectedError(f"there are more than {_MAX_REDIRECTS} redirects", where=where)

    def _translated(
        self, method: str, path: str, fault: requests.RequestException, *, reads: bool, secret: str = ""
    ) -> PinotPluginError | TransientFailureError:
        def clean(text: str) -> str:
            # requests quotes the content of a header that cannot be sent.
            return self.clean(text.replace(secret, MASK) if secret else text)

        return translate(fault, where=f"{method} {self.base_url}{path}", reads=reads, clean=clean)

    def _send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str | None] | None = None,
        headers: Mapping[str, str] | None = None,
        read_timeout_s: float | None = None,
        **body: Any,
    ) -> requests.Response:
        return self._session.request(
            method,
            self.base_url + path,
            params=params,
            # 0.11.0 returns 500 on /tasks without an Accept header.
            headers={"Accept": "application/json", **(headers or {})},
            auth=self._auth,
            timeout=(self._config.connect_timeout_s, read_timeout_s or self._config.read_timeout_s),
            verify=self._verify,
            cert=self._cert,
            allow_redirects=False,
            hooks=reply_limits(self._config.max_reply_bytes),
            **body,
        )

    def _open(
        self, path: str, params: Mapping[str, str | None] | None, read_timeout_s: float | None
    ) -> requests.Response:
        """GET a file and leave the body unread.

        It bypasses the session, which reads the body of a redirect, however long, even without following it.
        """
        request = requests.Request(
            "GET",
            self.base_url + path,
            params=params,
            # Request the file unchanged: gzip added in transit could unpack to any size.
            headers={"Accept": "application/octet-stream", "Accept-Encoding": "identity"},
            auth=self._auth,
        )
        prepared = self._session.prepare_request(request)
        url = str(prepared.url)
        settings: Any = self._session.merge_environment_settings(url, {}, True, self._verify, self._cert)
        timeout_s = (self._config.connect_timeout_s, read_timeout_s or self._config.read_timeout_s)
        return self._session.get_adapter(url).send(prepared, timeout=timeout_s, **settings)

    def _raise_for_status(
        self, method: str, path: str, response: requests.Response, body: str, *, reads: bool
    ) -> None:
        status = response.status_code
        if 200 <= status < 300:
            return
        text = self.clean(words_of(body[:_LONGEST_ANSWER]))
        verdict = classify(method, path, status, text, read_only=reads)
        error = verdict.error(
            verdict.message or text or f"{method} returned status {status} without a message",
            where=f"{method} {self.base_url}{path} ({status})",
            remedy=verdict.remedy,
            http_status=status,
        )
        if (reads and status in _RETRY_STATUSES) or verdict.error is NotAppliedError:
            raise TransientFailureError(
                error,
                f"status {status}",
                retry_after_s(response.headers.get("Retry-After"), self.clock.now()),
            )
        raise error

    def clean(self, text: str) -> str:
        """Remove credentials, in any form, from the peer's text and truncate it to a readable length."""
        text = self._redact(text[:_LONGEST_ANSWER]).strip()
        return text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + " ..."
