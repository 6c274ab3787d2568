"""The HTTP session of all transports: it sends the credentials that it is given, and finds none itself."""

from __future__ import annotations

from typing import Any

import requests
from requests.adapters import HTTPAdapter
from requests.auth import HTTPBasicAuth
from requests.utils import get_auth_from_url

__all__ = ["HttpSession", "only_in_address"]


def only_in_address(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """Use the credentials in a request's address, if any, and none of this machine's netrc."""
    username, password = get_auth_from_url(str(request.url))
    return HTTPBasicAuth(username, password)(request) if username or password else request


class HttpSession(requests.Session):
    """A session without credentials of netrc, and without proxies that could read what is sent.

    An https address is reached through the proxy in ``HTTPS_PROXY`` or ``ALL_PROXY``, unless ``NO_PROXY``
    exempts it: the proxy only passes on what is encrypted. An http address is reached directly: bodies have
    secrets too, for example a new user's password.
    """

    def __init__(self) -> None:
        super().__init__()
        # Without any, requests would search netrc, whose entry "default" fits every host.
        self.auth = only_in_address
        self.mount("http://", _Direct())

    def rebuild_auth(self, prepared_request: requests.PreparedRequest, response: requests.Response) -> None:
        """Send no credentials to another host on a redirect, including those in netrc for it."""
        urls = str(response.request.url), str(prepared_request.url)
        if self.should_strip_auth(*urls):  # type: ignore[no-untyped-call]
            prepared_request.headers.pop("Authorization", None)


class _Direct(HTTPAdapter):
    def send(self, request: requests.PreparedRequest, *arguments: Any, **options: Any) -> requests.Response:
        options["proxies"] = {}
        return super().send(request, *arguments, **options)
