"""gcsfs with checks that it lacks: that a page of a listing is one, and not endless."""

from __future__ import annotations

from typing import Any

import aiohttp

# The class that gcsfs exports by this name queries the bucket's type by gRPC, at any endpoint.
from gcsfs.core import GCSFileSystem

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
    """GCS client that rejects replies without a listing, which gcsfs takes for the last, empty page."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        options["session_kwargs"] = {
            **(options.get("session_kwargs") or {}),
            "response_class": _LimitedResponse,
        }
        super().__init__(*arguments, **options)

    async def _call(self, method: str, path: str, *arguments: Any, **options: Any) -> Any:
        reply = await super()._call(method, path, *arguments, **options)
        if method == "GET" and path == _LIST and reply.get("kind") != _KIND:
            raise KeyError(_KIND)
        return reply
