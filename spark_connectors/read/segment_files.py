"""Fetches segments' tar files to a task's folder, from the deep store or from a server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.deepstore.fetching import SegmentFetcher
from controller_client.deepstore.segment_record import WantedSegment
from controller_client.deepstore.servers import ServerTars
from controller_client.errors import NotFoundError, PartialResultError
from controller_client.filestore import OpenStores
from controller_client.segment_tar import ExpectedSegment, Proof, TarLimits, file_name_of, unpack_tar
from spark_connectors.options import ReadOptions
from spark_connectors.read.plan import SegmentGroup, SegmentToRead

__all__ = ["SegmentFiles", "SegmentFolder", "open_segment_files"]


@dataclass(frozen=True)
class SegmentFolder:
    """An unpacked segment.

    Attributes:
        path: Its folder.
        crc: The CRC in the cluster, which the segment's own must equal; None: only their data CRCs are equal.
    """

    path: Path
    crc: int | None


class SegmentFiles:
    """Fetches segments of a table.

    Args:
        client: The controller client, used to find the tar files.
        fetcher: Fetches the tar files.
        table: Table name with type.
        folder: An empty folder of the task.
    """

    def __init__(
        self, client: ControllerClient, fetcher: SegmentFetcher, table: TableName, folder: Path
    ) -> None:
        self._client = client
        self._fetcher = fetcher
        self._table = table
        self._folder = folder

    def fetch(self, segment: SegmentToRead) -> SegmentFolder:
        """Fetch and unpack a segment.

        Args:
            segment: A segment that is not consuming.

        Raises:
            PartialResultError: Neither the store nor a server returns a verified copy of the segment; the
                error names each source and its reason.
            SetupError: The disk of this machine is full or not writable.
        """
        metadata = self._client.segments.metadata(self._table, segment.name)
        expected = ExpectedSegment(segment.name, metadata.crc, metadata.data_crc, metadata.use_data_crc)
        requested = WantedSegment(self._table, expected, metadata.download_url or "", metadata.size_bytes)
        servers = [server.name for server in segment.servers if server.admin_port > 0]
        tar = self._folder / f"{file_name_of(segment.name)}.tar.gz"
        try:
            fetched = self._fetcher.fetch_wanted(requested, servers, tar)
        except NotFoundError as error:
            raise PartialResultError(
                f"segment {requested} cannot be fetched: {error.message}",
                expected="its tar file in the deep store or on a server",
                remedy="set the deep store's properties in 'fs.prop.*', or set 'readFrom' to servers",
            ) from error
        limits = TarLimits().for_size(metadata.size_bytes)
        folder = unpack_tar(tar, self._folder, segment.name, limits)
        tar.unlink()
        return SegmentFolder(folder, metadata.crc if fetched.proof is Proof.CONTENT else None)


@contextmanager
def open_segment_files(
    client: ControllerClient, options: ReadOptions, group: SegmentGroup, folder: Path
) -> Iterator[SegmentFiles]:
    """Open the files of a group of segments, with one connection per server.

    Args:
        client: The controller client.
        options: The options of the read.
        group: Segments, none of which is consuming.
        folder: An empty folder of the task.
    """
    # Uses the controller's scheme, so that credentials sent to it over TLS are not sent to servers without
    # TLS.
    scheme = client.config.scheme
    addresses = {
        server.name: f"{scheme}://{server.host}:{server.admin_port}"
        for segment in group.segments
        for server in segment.servers
    }
    stores = OpenStores(options.resolved_fs_properties(), key="download url")
    with ServerTars(client, addresses) as servers:
        fetcher = SegmentFetcher(client, servers, open_store=stores)
        yield SegmentFiles(client, fetcher, group.table, folder)
