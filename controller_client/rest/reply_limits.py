"""How long a response may be: bounded where its bytes arrive, after decompression.

A megabyte of gzip may be a gigabyte of JSON, which takes several more as objects. Requests reads the whole
body of a response before it returns it, and that of each redirect, so the limit is set on the stream below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import requests

__all__ = ["MAX_ERROR_BYTES", "ReplyTooLongError", "reply_limits"]

MAX_ERROR_BYTES = 1 << 16
"""What is read of a response that is not a success; the rest is dropped."""


class ReplyTooLongError(requests.RequestException):
    """The body of a successful response is longer than allowed."""


def reply_limits(max_bytes: int) -> Mapping[str, Callable[..., Any]]:
    """Return hooks for a request that limit the bodies of its response and of the redirects to it.

    Reading a longer body raises :class:`ReplyTooLongError`.

    Args:
        max_bytes: Maximum size of the body of a successful response, decompressed.
    """

    def limit(response: requests.Response, **_: Any) -> None:
        success = 200 <= response.status_code < 300
        response.raw = _LimitedBody(response.raw, response, max_bytes if success else None)

    return {"response": limit}


class _LimitedBody:
    """The body of a response, as requests reads it.

    Args:
        raw: The body.
        response: For the error.
        max_bytes: Raise an error beyond this size; None: end at the size for errors.
    """

    def __init__(self, raw: Any, response: requests.Response, max_bytes: int | None) -> None:
        self._raw = raw
        self._response = response
        self._max_bytes = max_bytes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._raw, name)

    def stream(self, amount: int, decode_content: bool = True) -> Iterator[bytes]:
        """Yield the body's pieces; called by requests."""
        left = MAX_ERROR_BYTES if self._max_bytes is None else self._max_bytes
        for piece in self._raw.stream(amount, decode_content=decode_content):
            if len(piece) > left:
                # What has not arrived yet is not worth waiting for.
                self._raw.close()
                if self._max_bytes is not None:
                    raise ReplyTooLongError(
                        f"the response is longer than {self._max_bytes:,} bytes", response=self._response
                    )
                yield piece[:left]
                return
            left -= len(piece)
            yield piece
