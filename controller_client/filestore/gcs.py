"""gcsfs with a check that it lacks: that a page of a listing is one."""

from __future__ import annotations

from typing import Any

# The class that gcsfs exports by this name queries the bucket's type by gRPC, at any endpoint.
from gcsfs.core import GCSFileSystem

__all__ = ["CheckedGcs"]

_LIST = "b/{}/o"
_KIND = "storage#objects"


class CheckedGcs(GCSFileSystem):  # type: ignore[misc]  # gcsfs has no types
    """GCS client that rejects replies without a listing, which gcsfs takes for the last, empty page."""

    async def _call(self, method: str, path: str, *arguments: Any, **options: Any) -> Any:
        reply = await super()._call(method, path, *arguments, **options)
        if method == "GET" and path == _LIST and reply.get("kind") != _KIND:
            raise KeyError(_KIND)
        return reply
