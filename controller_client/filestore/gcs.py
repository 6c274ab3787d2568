"""gcsfs with what it lacks: pages of a listing are checked and limited, tokens are fetched without netrc."""

from __future__ import annotations

from typing import Any

import aiohttp

# The class that gcsfs exports by this name queries the bucket's type by gRPC, at any endpoint.
from gcsfs.core import GCSFileSystem
from google.auth.transport.requests import Request

from controller_client.common.http_session import HttpSession
from controller_client.common.reply_limits import ReplyTooLongError
from controller_client.config import max_reply_bytes

__all__ = ["CheckedGcs"]

_LIST = "b/{}/o"
_KIND = "storage#objects"


class _LimitedResponse(aiohttp.ClientResponse):
    """A response of which a limited part is read into memory; gcsfs streams the content of files."""

    async def read(self) -> bytes:
        """Read the body; called by gcsfs."""
        if self._body is None:
            left, pieces = max_reply_bytes(), []
            async for piece in self.content.iter_any():
                left -= len(piece)
                if left < 0:
                    self.close()
                    raise ReplyTooLongError(max_reply_bytes(), None)
                pieces.append(piece)
            self._body = b"".join(pieces)
        return await super().read()


class CheckedGcs(GCSFileSystem):  # type: ignore[misc]  # gcsfs has no types
    """GCS client that rejects replies without a listing, which gcsfs takes for the last, empty page.

    A service account's key names the address that issues its tokens. gcsfs would send it what netrc has for
    every host.
    """

    credentials: Any

    def __init__(self, *arguments: Any, **options: Any) -> None:
        options["session_kwargs"] = {
            **(options.get("session_kwargs") or {}),
            "response_class": _LimitedResponse,
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
