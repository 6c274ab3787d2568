"""What the property store records about a segment's copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from controller_client.common.names import TableName
from controller_client.common.parsing import whole_number
from controller_client.deepstore.layout import shown
from controller_client.deepstore.rate import RateLimit
from controller_client.segment_tar import ExpectedSegment
from controller_client.zookeeper import PropertyStore, Versioned, ZNRecord, segment_path, segments_path

__all__ = ["SegmentRecord", "WantedSegment", "read_record", "read_records"]

_PAGE = 500

_STATUS = "segment.realtime.status"
_COMMITTING = "COMMITTING"
_CRC = "segment.crc"
_DATA_CRC = "segment.data.crc"
_USE_DATA_CRC = "segment.use.data.crc"
_SIZE = "segment.size.in.bytes"
_CRYPTER = "segment.crypter"
# The last two are from old versions; Pinot reads them if the first is missing.
_URLS = ("segment.download.url", "segment.offline.download.url", "segment.realtime.download.url")


@dataclass(frozen=True)
class WantedSegment:
    """What is needed to fetch a segment's tar.

    Attributes:
        table: Name with type.
        expected: Its name and expected content.
        url: Where servers download the tar; empty: only from each other. It may contain a secret.
        size_bytes: Its size; None if unknown.
    """

    table: TableName
    expected: ExpectedSegment
    url: str = field(repr=False)
    size_bytes: int | None

    def __str__(self) -> str:
        return f"{self.expected.segment} of {self.table}"


@dataclass(frozen=True, slots=True)
class SegmentRecord:
    """A segment's metadata in ZooKeeper: the parts that matter here, as a table may have millions.

    Attributes:
        table: Name with type.
        segment: Name.
        consuming: Whether it is not committed yet.
        committing: Whether it is not committed yet, but all its rows are consumed and it is being built
            (pauseless tables of Pinot 1.4 and later).
        crc: Checksum of the committed segment; None if it has none.
        data_crc: Checksum of its forward indexes and dictionaries (Pinot 1.5); None if it has none.
        by_data_crc: Whether servers may have another crc if their data crc is the same.
        url: Where servers download the tar; empty: only from each other. It may contain a secret.
        size_bytes: Its size; None if unknown (in Pinot 0.11.0, for commits by servers).
        size_is_of_tar: Whether that is the size of the tar, rather than of the unpacked folder.
        encrypted: Whether the stored tar is encrypted, so that its size and content cannot be compared.
        version: The znode's version.
    """

    table: TableName
    segment: str
    consuming: bool
    committing: bool
    crc: int | None
    data_crc: int | None
    by_data_crc: bool
    url: str = field(repr=False)
    size_bytes: int | None
    size_is_of_tar: bool
    encrypted: bool
    version: int

    @classmethod
    def of(
        cls, table: TableName, segment: str, znode: Versioned, *, folder_sizes: bool = False
    ) -> SegmentRecord:
        """Read a record.

        Args:
            table: Name with type.
            segment: Name.
            znode: The record.
            folder_sizes: Whether the cluster records the size of the unpacked folder for commits by servers.
        """
        fields = znode.record.simple_fields
        status = fields.get(_STATUS)
        return cls(
            table,
            segment,
            consuming=status in ("IN_PROGRESS", _COMMITTING),
            committing=status == _COMMITTING,
            crc=whole_number(fields.get(_CRC)),
            data_crc=whole_number(fields.get(_DATA_CRC)),
            by_data_crc=fields.get(_USE_DATA_CRC) == "true",
            url=next((fields[key] for key in _URLS if fields.get(key) not in (None, "null")), ""),
            size_bytes=whole_number(fields.get(_SIZE)),
            size_is_of_tar=not (folder_sizes and status == "DONE"),
            encrypted=bool(fields.get(_CRYPTER)),
            version=znode.version,
        )

    @property
    def tar_bytes(self) -> int | None:
        """Size of the tar; None if unknown."""
        return self.size_bytes if self.size_is_of_tar else None

    @property
    def shown_url(self) -> str:
        """The URL without possible secrets."""
        return shown(self.url)

    @property
    def expected(self) -> ExpectedSegment:
        """The segment's expected content."""
        return ExpectedSegment(self.segment, self.crc, self.data_crc, self.by_data_crc)

    @property
    def wanted(self) -> WantedSegment:
        """What is needed to fetch the segment's tar."""
        return WantedSegment(self.table, self.expected, self.url, self.size_bytes)

    def with_copy(self, complete: ZNRecord, url: str, size_bytes: int) -> ZNRecord:
        """Return the record for a segment with a copy in the store; all other fields are unchanged.

        Args:
            complete: The complete record, of the same version.
            url: Where servers download the copy.
            size_bytes: Its size.
        """
        fields = {**complete.simple_fields, _URLS[0]: url}
        if self.size_is_of_tar:
            fields[_SIZE] = str(size_bytes)
        return replace(complete, simple_fields=fields)


def read_record(
    store: PropertyStore, table: TableName, segment: str, *, folder_sizes: bool = False
) -> SegmentRecord | None:
    """Read one segment's record; None if there is none. Arguments as for :meth:`SegmentRecord.of`."""
    found = store.get(segment_path(table, segment))
    return SegmentRecord.of(table, segment, found, folder_sizes=folder_sizes) if found else None


def read_records(
    store: PropertyStore,
    table: TableName,
    rate: RateLimit,
    segments: Sequence[str] | None = None,
    *,
    folder_sizes: bool = False,
) -> Iterator[SegmentRecord]:
    """Read the records of a table's segments, in pages; segments that are deleted meanwhile are omitted.

    Args:
        store: Property store.
        table: Name with type.
        rate: Limits requests; a page counts as one request.
        segments: Only these segments; None: all.
        folder_sizes: As for :meth:`SegmentRecord.of`.
    """
    if segments is None:
        rate.wait()
        segments = store.children(segments_path(table))
    for start in range(0, len(segments), _PAGE):
        page = segments[start : start + _PAGE]
        rate.wait()
        found = store.get_many([segment_path(table, name) for name in page])
        yield from (
            SegmentRecord.of(table, name, each, folder_sizes=folder_sizes)
            for name, each in zip(page, found, strict=True)
            if each
        )
