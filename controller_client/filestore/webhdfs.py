"""fsspec's WebHDFS client with what it lacks: timeouts, limits and checks of data nodes' responses."""

from __future__ import annotations

from typing import Any

import requests
from fsspec.implementations.webhdfs import WebHDFS
from requests.auth import AuthBase, HTTPBasicAuth

from controller_client.common.credential_rules import Origin, may_receive
from controller_client.common.http_session import HttpSession, only_in_address
from controller_client.common.reply_limits import reply_limits
from controller_client.config import max_reply_bytes

__all__ = ["CheckedWebHdfs"]

_CONNECT_S = 10.0
_READ_S = 120.0


class CheckedWebHdfs(WebHDFS):  # type: ignore[misc]  # fsspec has no types
    """WebHDFS client that reports data nodes' errors.

    fsspec treats the body of a data node's error as the requested bytes and continues after them: the result
    is a file of the right size with part of an error message in it.
    """

    session: requests.Session

    def _connect(self) -> None:
        super()._connect()
        base_session = self.session
        self.session = _Session()
        self.session.verify = base_session.verify
        if isinstance(base_session.auth, HTTPBasicAuth):
            self.session.auth = _ForNameNode(base_session.auth, self.url)
        elif base_session.auth:
            self.session.auth = base_session.auth  # Kerberos: a ticket is of use to its host only


class _ForNameNode(AuthBase):
    """Credentials for the name node alone: it names the data nodes, whose addresses contain tokens."""

    def __init__(self, auth: HTTPBasicAuth, url: str) -> None:
        self._auth = auth
        self._named = (Origin.of(url),)

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the header to a request."""
        is_named = may_receive(str(request.url), self._named)
        return self._auth(request) if is_named else only_in_address(request)


class _Session(HttpSession):
    def request(self, *arguments: Any, **options: Any) -> requests.Response:
        options.setdefault("timeout", (_CONNECT_S, _READ_S))
        options["hooks"] = reply_limits(max_reply_bytes())
        return super().request(*arguments, **options)

    def get(self, url: str | bytes, **options: Any) -> requests.Response:
        """Called only for data nodes; fsspec itself checks the name node's responses."""
        answer = super().get(url, **options)
        answer.raise_for_status()
        return answer
