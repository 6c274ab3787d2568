"""gcsfs with what it lacks: pages of a listing are checked and limited, tokens are fetched without netrc."""

from __future__ import annotations

from typing import Any

# The class that gcsfs exports by this name queries the bucket's type by gRPC, at any endpoint.
from gcsfs.core import GCSFileSystem
from google.auth.transport.requests import Request

from controller_client.common.http_session import HttpSession
from controller_client.filestore.limited_response import LimitedResponse

__all__ = ["CheckedGcs"]

_LIST = "b/{}/o"
_KIND = "storage#objects"


class CheckedGcs(GCSFileSystem):  # type: ignore[misc]  # gcsfs has no types
    """GCS client that rejects replies without a listing, which gcsfs takes for the last, empty page.

    A service account's key names the address that issues its tokens. gcsfs would send it what netrc has for
    every host.
    """

    credentials: Any

    def __init__(self, *arguments: Any, **options: Any) -> None:
        options["session_kwargs"] = {
            **(options.get("session_kwargs") or {}),
            "response_class": LimitedResponse,
        }
        super().__init__(*arguments, **options)
        of_google = self.credentials.credentials
        if of_google is not None:
            of_google.refresh = _WithoutNetrc(of_google.refresh)

    async def _call(self, method: str, path: str, *arguments: Any, **options: Any) -> Any:
        reply = await super()._call(method, path, *arguments, **options)
        if method == "GET" and path == _LIST and reply.get("kind") != _KIND:
            raise KeyError(_KIND)
        return reply


class _WithoutNetrc:
    """Fetches a token by a session of this project in place of the given one."""

    def __init__(self, refresh: Any) -> None:
        self._refresh = refresh

    def __call__(self, _request: object) -> None:
        with HttpSession() as session:
            self._refresh(Request(session))
