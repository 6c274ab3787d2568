"""fsspec's client of WebHDFS, with what it leaves out: time-outs, and a look at what data nodes answer."""

from __future__ import annotations

from typing import Any

import requests
from fsspec.implementations.webhdfs import WebHDFS

__all__ = ["CheckedWebHdfs"]

_CONNECT_S = 10.0
_READ_S = 120.0


class CheckedWebHdfs(WebHDFS):  # type: ignore[misc]  # fsspec has no types
    """WebHDFS whose errors are errors.

    fsspec takes the body of a data node's error for the bytes that it asked for, and goes on behind them: a
    file of the right length with a piece of an error message in it.
    """

    session: requests.Session

    def _connect(self) -> None:
        super()._connect()
        made = self.session
        self.session = _Session()
        self.session.auth, self.session.verify = made.auth or _no_name, made.verify


def _no_name(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """In the place of what requests finds in this machine's netrc."""
    return request


class _Session(requests.Session):
    def rebuild_auth(self, prepared_request: requests.PreparedRequest, response: requests.Response) -> None:
        """Take no credentials along to another host, nor those that netrc has for it."""
        urls = str(response.request.url), str(prepared_request.url)
        if self.should_strip_auth(*urls):  # type: ignore[no-untyped-call]
            prepared_request.headers.pop("Authorization", None)

    def request(self, *arguments: Any, **options: Any) -> requests.Response:
        options.setdefault("timeout", (_CONNECT_S, _READ_S))
        return super().request(*arguments, **options)

    def get(self, url: str | bytes, **options: Any) -> requests.Response:
        """Called for data nodes alone; what the name node answers is looked at by fsspec."""
        answer = super().get(url, **options)
        answer.raise_for_status()
        return answer
