"""A built segment in the staging folder: on the deep store, but unknown to the controller."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from controller_client.filestore import FileStore

__all__ = ["STAGING_FOLDER", "LocalSegment", "StagedSegment", "stage_segment"]

STAGING_FOLDER = "pinot-plugins-staging"
"""Name of the folder for staged segments. Everything in it belongs to this project and gets deleted."""


@dataclass(frozen=True, slots=True)
class StagedSegment:
    """A built segment in the staging folder, not yet known to the controller.

    Attributes:
        stem_uri: Its URI without extensions; unique to an attempt, so that two attempts never write the same
            file.
        segment_size_bytes: Unpacked size, as on servers.
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
        """URI of the complete segment."""
        return f"{self.stem_uri}.tar.gz"

    @property
    def metadata_uri(self) -> str:
        """URI of its metadata, for a metadata push."""
        return f"{self.stem_uri}.metadata.tar.gz"


class LocalSegment(Protocol):
    """The output of a segment builder on this machine, e.g. ``jvm_bridge.builder.BuiltSegment``.

    Attributes:
        crc: Pinot's checksum of the segment's content.
        segment_size_bytes: Unpacked size.
        reader: The reader used for the rows.
        fallback_reason: Why it was not the fastest reader.
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
    """Upload the two tars of a built segment.

    Args:
        store: Store of the staging folder.
        built: The segment on this machine; it is kept.
        stem_uri: Its URI without extensions; unique to an attempt.
        build_s: Seconds that the build took.
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
