"""Adds credentials to requests to the addresses that they are for."""

from __future__ import annotations

from collections.abc import Iterable

import requests
from requests.auth import AuthBase

from controller_client.common.credential_rules import Origin, may_receive
from controller_client.config import Auth

__all__ = ["Authorization"]


class Authorization(AuthBase):
    """Adds credentials to requests to the addresses that they are for.

    Args:
        auth: The credentials; None: none, including those that requests would find in this machine's netrc.
        urls: The addresses.
    """

    def __init__(self, auth: Auth | None, urls: Iterable[str]) -> None:
        self._auth = auth
        self._named = frozenset(_as_sent(url) for url in urls)

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the header to a request; requests calls it in the thread that sends."""
        if self._auth is not None and may_receive(str(request.url), self._named):
            request.headers["Authorization"] = self._auth.header()
        return request


def _as_sent(url: str) -> Origin:
    """Return an address as it is in a prepared request, where e.g. the host's name is in ASCII."""
    try:
        return Origin.of(str(requests.Request("GET", url).prepare().url))
    except requests.RequestException:  # it cannot be sent either
        return Origin.of(url)
