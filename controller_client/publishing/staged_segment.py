"""A segment that was built and waits in the staging folder: on the deep store, unknown to the controller."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from controller_client.filestore import FileStore

__all__ = ["STAGING_FOLDER", "LocalSegment", "StagedSegment", "stage_segment"]

STAGING_FOLDER = "pinot-plugins-staging"
"""Name of the folder below which segments are staged. All in it is this project's own, and gets deleted."""


@dataclass(frozen=True, slots=True)
class StagedSegment:
    """A built segment that lies in the staging folder, unknown to the controller so far.

    Attributes:
        stem_uri: Its place without the endings; an attempt's own, so that two attempts never write one file.
        segment_size_bytes: Size unpacked, as servers hold it.
    """

    name: str
    stem_uri: str
    crc: int
    rows: int
    tar_size_bytes: int
    segment_size_bytes: int
    build_s: float
    reader: str
    fallback_reason: str | None = None

    @property
    def tar_uri(self) -> str:
        """Where the whole segment is."""
        return f"{self.stem_uri}.tar.gz"

    @property
    def metadata_uri(self) -> str:
        """Where its metadata are, for a metadata push."""
        return f"{self.stem_uri}.metadata.tar.gz"


class LocalSegment(Protocol):
    """What a segment builder leaves on this machine; ``jvm_bridge.builder.BuiltSegment`` is one.

    Attributes:
        crc: Pinot's check sum of the segment's content.
        segment_size_bytes: Size unpacked.
        reader: Which reader took the rows in.
        fallback_reason: Why it was not the fastest.
    """

    @property
    def name(self) -> str: ...  # noqa: D102  # see the class
    @property
    def crc(self) -> int: ...  # noqa: D102
    @property
    def rows(self) -> int: ...  # noqa: D102
    @property
    def tar_path(self) -> Path: ...  # noqa: D102
    @property
    def tar_size_bytes(self) -> int: ...  # noqa: D102
    @property
    def metadata_tar_path(self) -> Path: ...  # noqa: D102
    @property
    def segment_size_bytes(self) -> int: ...  # noqa: D102
    @property
    def reader(self) -> str: ...  # noqa: D102
    @property
    def fallback_reason(self) -> str | None: ...  # noqa: D102


def stage_segment(store: FileStore, built: LocalSegment, stem_uri: str, build_s: float) -> StagedSegment:
    """Upload a built segment's two tars.

    Args:
        store: That of the staging folder.
        built: The segment on this machine; it stays.
        stem_uri: Its place there without the endings; an attempt's own.
        build_s: Seconds that its build took.
    """
    staged = StagedSegment(
        name=built.name,
        stem_uri=stem_uri,
        crc=built.crc,
        rows=built.rows,
        tar_size_bytes=built.tar_size_bytes,
        segment_size_bytes=built.segment_size_bytes,
        build_s=round(build_s, 3),
        reader=built.reader,
        fallback_reason=built.fallback_reason,
    )
    store.upload(built.tar_path, staged.tar_uri)
    store.upload(built.metadata_tar_path, staged.metadata_uri)
    return staged
