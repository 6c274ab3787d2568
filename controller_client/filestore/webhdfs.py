"""fsspec's WebHDFS client with what it lacks: timeouts and checks of data nodes' responses."""

from __future__ import annotations

from typing import Any

import requests
from fsspec.implementations.webhdfs import WebHDFS

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
        made = self.session
        self.session = _Session()
        self.session.auth, self.session.verify = made.auth or _no_name, made.verify


def _no_name(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Do nothing; used instead of the credentials that requests finds in this machine's netrc."""
    return request


class _Session(requests.Session):
    def rebuild_auth(self, prepared_request: requests.PreparedRequest, response: requests.Response) -> None:
        """Send no credentials to another host on a redirect, including those in netrc for it."""
        urls = str(response.request.url), str(prepared_request.url)
        if self.should_strip_auth(*urls):  # type: ignore[no-untyped-call]
            prepared_request.headers.pop("Authorization", None)

    def request(self, *arguments: Any, **options: Any) -> requests.Response:
        options.setdefault("timeout", (_CONNECT_S, _READ_S))
        return super().request(*arguments, **options)

    def get(self, url: str | bytes, **options: Any) -> requests.Response:
        """Called only for data nodes; fsspec itself checks the name node's responses."""
        answer = super().get(url, **options)
        answer.raise_for_status()
        return answer
