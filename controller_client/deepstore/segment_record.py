"""What the property store says about a segment, as far as its copies are concerned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from controller_client.deepstore.rate import RateLimit
from controller_client.zookeeper import PropertyStore, Versioned, ZNRecord, segment_path

__all__ = ["SegmentRecord", "read_record", "read_records"]

_PAGE = 500

_STATUS = "segment.realtime.status"
_CRC = "segment.crc"
_SIZE = "segment.size.in.bytes"
_CRYPTER = "segment.crypter"
# The later ones are of old versions; Pinot reads them where the first is missing.
_URLS = ("segment.download.url", "segment.offline.download.url", "segment.realtime.download.url")


@dataclass(frozen=True)
class SegmentRecord:
    """A segment's metadata in ZooKeeper.

    Attributes:
        table: Name with type.
        segment: Name.
        consuming: Whether it is not committed yet.
        crc: Check sum of the committed segment; None: not told.
        url: Where servers fetch the tar; empty: only from each other.
        size_bytes: Size of the tar; None: not told (Pinot 0.11.0 tells none where servers commit).
        encrypted: Whether the stored tar is encrypted: then neither its size nor its content can be compared.
        version: The znode's version.
        record: The whole record.
    """

    table: str
    segment: str
    consuming: bool
    crc: int | None
    url: str
    size_bytes: int | None
    encrypted: bool
    version: int
    record: ZNRecord

    @classmethod
    def of(cls, table: str, segment: str, found: Versioned) -> SegmentRecord:
        """Read a record."""
        fields = found.record.simple_fields
        return cls(
            table,
            segment,
            consuming=fields.get(_STATUS) == "IN_PROGRESS",
            crc=_natural(fields.get(_CRC)),
            url=next((fields[key] for key in _URLS if fields.get(key) not in (None, "null")), ""),
            size_bytes=_natural(fields.get(_SIZE)),
            encrypted=bool(fields.get(_CRYPTER)),
            version=found.version,
            record=found.record,
        )

    def with_copy(self, url: str, size_bytes: int) -> ZNRecord:
        """The record as it is to be when the store has a copy; all other fields stay."""
        fields = {**self.record.simple_fields, _URLS[0]: url, _SIZE: str(size_bytes)}
        return replace(self.record, simple_fields=fields)


def read_record(store: PropertyStore, table: str, segment: str) -> SegmentRecord | None:
    """Read one segment's record; None where there is none."""
    found = store.get(segment_path(table, segment))
    return SegmentRecord.of(table, segment, found) if found else None


def read_records(
    store: PropertyStore, table: str, rate: RateLimit, segments: Sequence[str] | None = None
) -> Iterator[SegmentRecord]:
    """Read the records of a table's segments, by pages; segments that are deleted meanwhile are left out.

    Args:
        store: Property store.
        table: Name with type.
        rate: A page counts as one request.
        segments: Only these; None: all.
    """
    if segments is None:
        rate.wait()
        segments = store.children(f"/SEGMENTS/{table}")
    for start in range(0, len(segments), _PAGE):
        page = segments[start : start + _PAGE]
        rate.wait()
        found = store.get_many([segment_path(table, name) for name in page])
        yield from (
            SegmentRecord.of(table, name, each) for name, each in zip(page, found, strict=True) if each
        )


def _natural(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
