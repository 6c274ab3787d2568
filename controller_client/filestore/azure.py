"""adlfs with what it lacks: replies are limited, and netrc's credentials stay on this machine."""

from __future__ import annotations

from typing import Any

import aiohttp
from adlfs import AzureBlobFileSystem
from azure.core.pipeline.transport import AioHttpTransport
from azure.storage.blob.aio import BlobServiceClient
from requests.utils import get_environ_proxies

from controller_client.filestore.limited_response import LimitedResponse

__all__ = ["CheckedAzure"]

_CONNECT_S = 20.0
_READ_S = 60.0


class CheckedAzure(AzureBlobFileSystem):  # type: ignore[misc]  # adlfs has no types
    """Azure client whose requests have the given credentials or none.

    A connection string names any host, and Azure's client would send it what netrc has for every host.
    """

    service_client: Any

    def do_connect(self) -> None:
        """Create the client again, with the same address and credentials, but another transport."""
        super().do_connect()
        made = self.service_client
        self.service_client = BlobServiceClient(
            made.url, credential=made.credential, transport=_CheckedTransport()
        )


class _CheckedTransport(AioHttpTransport):  # type: ignore[misc]  # its module loads it on use, without a type
    def __init__(self) -> None:
        # The settings of the environment are its proxies and netrc, together.
        super().__init__(use_env_settings=False, connection_timeout=_CONNECT_S, read_timeout=_READ_S)

    async def open(self) -> None:
        if not self._has_been_opened:
            # It decompresses, so that the limit is one of what becomes objects.
            self.session = aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(), response_class=LimitedResponse
            )
        await super().open()

    async def send(self, request: Any, *, proxies: Any = None, **config: Any) -> Any:
        if proxies is None and request.url.startswith("https:"):  # a proxy could read http
            proxies = get_environ_proxies(request.url)
        return await super().send(request, proxies=proxies, **config)
