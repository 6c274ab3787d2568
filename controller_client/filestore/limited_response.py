"""A limit on what the HTTP clients of Google's and Azure's libraries read into memory."""

from __future__ import annotations

import aiohttp

from controller_client.common.reply_limits import ReplyTooLongError
from controller_client.config import max_reply_bytes

__all__ = ["LimitedResponse"]


class LimitedResponse(aiohttp.ClientResponse):
    """A response of which a limited part is read into memory; the content of files is streamed."""

    async def read(self) -> bytes:
        """Read the body, decompressed; called by the libraries.

        Raises:
            ReplyTooLongError: It is longer than `max_reply_bytes`.
        """
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
