"""Adds credentials to requests."""

from __future__ import annotations

import requests
from requests.auth import AuthBase

from controller_client.config import Auth

__all__ = ["Authorization"]


class Authorization(AuthBase):
    """Adds credentials to requests."""

    def __init__(self, auth: Auth) -> None:
        self._auth = auth

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the header to a request; requests calls it in the thread that sends."""
        request.headers["Authorization"] = self._auth.header()
        return request
