"""Segments' tars fetched to a task's folder: from where Pinot keeps them, else from a server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from controller_client.client import ControllerClient
from controller_client.config import BrokerConfig
from controller_client.deepstore.fetching import STORE, Place, fetch_first
from controller_client.errors import NotFoundError, PartialResultError
from controller_client.filestore import open_store
from controller_client.transport import Transport, path_of
from jvm_bridge.tar import unpack_tar
from spark_connectors.options import ReadOptions
from spark_connectors.read.plan import SegmentToRead

__all__ = ["SegmentFiles", "SegmentFolder"]


@dataclass(frozen=True)
class SegmentFolder:
    """An unpacked segment.

    Attributes:
        path: Its folder.
        crc: That of the cluster, which the segment's own should equal; None: the cluster does not tell.
    """

    path: Path
    crc: int | None


class SegmentFiles:
    """Fetches segments.

    Args:
        client: Tells where the tars are.
        options: The read's.
        folder: An empty folder of the task.
    """

    def __init__(self, client: ControllerClient, options: ReadOptions, folder: Path) -> None:
        self._client = client
        self._options = options
        self._folder = folder

    def fetch(self, table: str, segment: SegmentToRead) -> SegmentFolder:
        """Fetch and unpack a segment.

        Args:
            table: Name with type.
            segment: Not a consuming one.

        Raises:
            PartialResultError: Neither the store nor a server gives it with the right check sum; names each
                with its reason.
        """
        metadata = self._client.segments.metadata(table, segment.name)
        tar = self._folder / f"{segment.name}.tar.gz"
        try:
            fetch_first(
                f"{segment.name} of {table}",
                metadata.crc,
                self._places(table, segment, metadata.download_url),
                tar,
            )
        except NotFoundError as error:
            raise PartialResultError(
                f"the segment {segment.name} of {table} cannot be fetched: {error.message}",
                expected="its tar from the deep store, or from a server that has it",
                remedy="give the deep store's properties by 'fs.prop.*', or use 'readFrom' servers",
            ) from error
        folder = unpack_tar(tar, self._folder)
        tar.unlink()
        return SegmentFolder(folder, metadata.crc)

    def _places(self, table: str, segment: SegmentToRead, url: str | None) -> list[Place]:
        places = []
        config = self._options.controller_config()
        if url:
            parts = urlsplit(url)
            if parts.scheme in ("http", "https"):
                base = f"{parts.scheme}://{parts.netloc}"
                places.append(Place(STORE, _by_http(BrokerConfig.like(config, (base,)), parts.path)))
            else:
                places.append(Place(STORE, self._by_store(url)))
        path = path_of("segments", table, segment.name)
        for server in segment.servers:
            if server.admin_port > 0:
                scheme = "https" if self._options.use_https else "http"
                base = f"{scheme}://{server.host}:{server.admin_port}"
                places.append(Place(server.name, _by_http(BrokerConfig.like(config, (base,)), path)))
        return places

    def _by_store(self, url: str) -> Callable[[Path], None]:
        def download(tar: Path) -> None:
            open_store(url, self._options.fs_properties, key="download url").download(url, tar)

        return download


def _by_http(config: BrokerConfig, path: str) -> Callable[[Path], None]:
    def download(tar: Path) -> None:
        transport = Transport(config)
        try:
            with tar.open("wb") as file:
                transport.download(path, file)
        finally:
            transport.close()

    return download
