"""Segments' tars fetched to a task's folder: from where Pinot keeps them, else from a server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from controller_client.client import ControllerClient
from controller_client.config import BrokerConfig
from controller_client.deepstore.http_copies import HttpCopies, download_tar
from controller_client.deepstore.remote_copies import STORE, Place, fetch_first, from_url
from controller_client.errors import NotFoundError, PartialResultError
from controller_client.filestore import FileStore, open_store
from controller_client.rest.transport import Transport
from controller_client.segment_tar import ExpectedSegment, Proof, TarLimits, file_name_of, unpack_tar
from spark_connectors.options import ReadOptions
from spark_connectors.read.plan import SegmentToRead

__all__ = ["SegmentFiles", "SegmentFolder"]


@dataclass(frozen=True)
class SegmentFolder:
    """An unpacked segment.

    Attributes:
        path: Its folder.
        crc: That of the cluster, which the segment's own should equal; None: only their data crcs are equal.
    """

    path: Path
    crc: int | None


class SegmentFiles:
    """Fetches segments.

    Args:
        client: Reaches the controller, which knows where the tars are.
        options: The read's.
        folder: An empty folder of the task.
    """

    def __init__(self, client: ControllerClient, options: ReadOptions, folder: Path) -> None:
        self._client = client
        self._options = options
        self._folder = folder
        self._http = HttpCopies(client)

    def fetch(self, table: str, segment: SegmentToRead) -> SegmentFolder:
        """Fetch and unpack a segment.

        Args:
            table: Name with type.
            segment: Not a consuming one.

        Raises:
            PartialResultError: Neither the store nor a server gives a copy that is proven to be the segment;
                names each with its reason.
            SetupError: This machine's disk is full, or cannot be written.
        """
        metadata = self._client.segments.metadata(table, segment.name)
        tar = self._folder / f"{file_name_of(segment.name)}.tar.gz"
        limits = TarLimits().for_size(metadata.size_bytes)
        try:
            found = fetch_first(
                f"{segment.name} of {table}",
                ExpectedSegment(segment.name, metadata.crc, metadata.data_crc, metadata.use_data_crc),
                self._places(table, segment, metadata.download_url),
                tar,
                limits,
            )
        except NotFoundError as error:
            raise PartialResultError(
                f"the segment {segment.name} of {table} cannot be fetched: {error.message}",
                expected="its tar from the deep store, or from a server that has it",
                remedy="give the deep store's properties by 'fs.prop.*', or use 'readFrom' servers",
            ) from error
        folder = unpack_tar(tar, self._folder, segment.name, limits)
        tar.unlink()
        return SegmentFolder(folder, metadata.crc if found.proof is Proof.CONTENT else None)

    def _places(self, table: str, segment: SegmentToRead, url: str | None) -> list[Place]:
        places = [Place(STORE, from_url(url, self._http, self._open_store))] if url else []
        config = self._options.controller_config()
        # The controller's scheme: credentials that go to it by TLS go to no server without.
        scheme = urlsplit(config.url).scheme
        for server in segment.servers:
            if server.admin_port > 0:
                base = f"{scheme}://{server.host}:{server.admin_port}"
                places.append(
                    Place(server.name, _from_server(BrokerConfig.like(config, (base,)), table, segment.name))
                )
        return places

    def _open_store(self, uri: str) -> FileStore:
        return open_store(uri, self._options.fs_properties, key="download url")


def _from_server(config: BrokerConfig, table: str, segment: str) -> Callable[[Path, int], object]:
    def download(tar: Path, most: int) -> None:
        transport = Transport(config)
        try:
            download_tar(transport, table, segment, tar, most)
        finally:
            transport.close()

    return download
