"""How long a response may be: bounded where its bytes arrive, after decompression.

A megabyte of gzip may be a gigabyte of JSON, which takes several more as objects. Requests reads the whole
body of a response before it returns it, and that of each redirect, so the limit is set on the stream below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import requests

__all__ = ["MAX_ERROR_BYTES", "LimitedBody", "ReplyTooLongError", "reply_limits"]

MAX_ERROR_BYTES = 1 << 16
"""What is read of a response that is not a success; the rest is dropped."""
_PIECE_BYTES = 1 << 16


class ReplyTooLongError(requests.RequestException):
    """The body of a successful response is longer than allowed."""

    def __init__(self, max_bytes: int, response: requests.Response | None) -> None:
        super().__init__(f"the response is longer than {max_bytes:,} bytes", response=response)


def reply_limits(max_bytes: int) -> Mapping[str, Callable[..., Any]]:
    """Return hooks for a request that limit the bodies of its response and of the redirects to it.

    Reading a longer body raises :class:`ReplyTooLongError`.

    Args:
        max_bytes: Maximum size of the body of a successful response, decompressed.
    """

    def limit(response: requests.Response, **_: Any) -> None:
        success = 200 <= response.status_code < 300
        response.raw = LimitedBody(response.raw, max_bytes if success else None, response)

    return {"response": limit}


class LimitedBody:
    """The body of a response, as requests and boto read it.

    Args:
        raw: The body.
        max_bytes: Raise an error beyond this size; None: end at the size for errors.
        response: For the error, if it is one of requests.
    """

    def __init__(self, raw: Any, max_bytes: int | None, response: requests.Response | None = None) -> None:
        self._raw = raw
        self._response = response
        self._max_bytes = max_bytes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)

    def stream(self, amount: int = _PIECE_BYTES, decode_content: bool | None = None) -> Iterator[bytes]:
        """Yield the body's pieces."""
        left = MAX_ERROR_BYTES if self._max_bytes is None else self._max_bytes
        for piece in self._raw.stream(amount, decode_content=decode_content):
            if len(piece) > left:
                # What has not arrived yet is not worth waiting for.
                self._raw.close()
                if self._max_bytes is not None:
                    raise ReplyTooLongError(self._max_bytes, self._response)
                yield piece[:left]
                return
            left -= len(piece)
            yield piece
