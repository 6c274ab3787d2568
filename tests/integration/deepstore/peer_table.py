"""A realtime table whose folder in the deep store can be made to refuse uploads."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from controller_client.deepstore.rate import RateLimit
from controller_client.deepstore.segment_record import SegmentRecord, read_records
from tests.integration.consumption.stream_table import StreamTable
from tests.support.pinot_services import DEEP_STORE_BUCKET
from tests.support.wait import wait_for

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_TIMEOUT_S = 300.0


class PeerTable(StreamTable):
    """The table.

    Attributes:
        s3: Client of the deep store.
        peers: Whether servers may fetch segments from each other.
    """

    s3: S3Client
    peers: bool

    def _config(self, **options: Any) -> dict[str, Any]:
        return super()._config(peers=self.peers, **options)

    @property
    def folder_key(self) -> str:
        """Key of the table's folder in the deep store."""
        return f"segments/{self.name}"

    def close_store(self) -> None:
        """Have the store refuse this table's segments: put a file where their folder should be."""
        self.s3.put_object(Bucket=DEEP_STORE_BUCKET, Key=self.folder_key, Body=b"in the way")

    def open_store(self) -> None:
        """Undo :meth:`close_store`."""
        self.s3.delete_object(Bucket=DEEP_STORE_BUCKET, Key=self.folder_key)

    def delete_object(self, segment: str) -> None:
        """Delete a segment's tar, as a user might do."""
        self.s3.delete_object(Bucket=DEEP_STORE_BUCKET, Key=f"{self.folder_key}/{segment}")

    def relabel_replica(self, role: str, segment: str, crc: int) -> None:
        """Change the checksum of a segment on a server's disk, but not in what the server has loaded."""
        path = f"index/{self.table}/{segment}/v3/creation.meta"
        self.pinot.put_file(role, path, struct.pack(">qq", crc, 1))

    def committed(self) -> dict[str, SegmentRecord]:
        """Return the committed segments by name."""
        records = read_records(self.store, self.table, RateLimit(1000))
        return {each.segment: each for each in records if not each.consuming}

    def fill(self, segments: int, rows_per_segment: int = 10) -> None:
        """Write the rows of some segments to each partition; wait until both servers have the segments."""
        wanted = len(self.committed())
        for _ in range(segments):
            self.produce(rows_per_segment)
            wanted += self.partitions
            self._wait_served_twice(wanted)
        self.wait_rows()

    def wait_served(self) -> None:
        """Wait until both servers have all committed segments."""
        self._wait_served_twice(len(self.committed()))

    def _wait_served_twice(self, wanted: int) -> None:
        def served() -> bool:
            view = self.client.tables.external_view(self.table)
            names = self.committed()
            return sum(list(view.get(name, {}).values()) == ["ONLINE"] * 2 for name in names) >= wanted

        wait_for(served, f"{wanted} committed segments of {self.name} on both servers", _TIMEOUT_S)
