"""Gives a built segment another name, which Pinot keeps in the segment itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from controller_client.common.parsing import whole_number
from controller_client.segment_tar.adler import Adler
from controller_client.segment_tar.content import crc_of, read_content
from controller_client.segment_tar.layout import CREATION_META
from controller_client.segment_tar.reader import TarLimits
from controller_client.segment_tar.unpacking import unpack_tar
from controller_client.segment_tar.writer import write_metadata_tar, write_tar

__all__ = ["RenamedSegment", "rename_segment"]

_CRC_BYTES = 8


@dataclass(frozen=True)
class RenamedSegment:
    """A segment with another name, on this machine; what is staged like a built one.

    Attributes:
        crc: Pinot's checksum of its files, one of which has the name.
        tar_path: ``<name>.tar.gz``.
        metadata_tar_path: ``<name>.metadata.tar.gz``, for a metadata push.
        segment_size_bytes: Unpacked size.
    """

    name: str
    crc: int
    rows: int
    tar_path: Path
    tar_size_bytes: int
    metadata_tar_path: Path
    segment_size_bytes: int
    reader: str = "restored"
    fallback_reason: str | None = None


def rename_segment(tar_path: Path, name: str, folder: Path, limits: TarLimits) -> RenamedSegment:
    """Write the tar of a segment that differs from another one in its name only.

    Args:
        tar_path: The tar of the other one.
        name: The new name.
        folder: An existing folder for the tars.
        limits: How much may be read and unpacked.

    Raises:
        DataError: The file is not a complete tar.gz of a segment, or the name cannot be a file name.
        SetupError: The disk is full.
    """
    content = read_content(tar_path, limits)
    properties = content.properties.renamed(name)
    segment = unpack_tar(tar_path, folder, name, limits)
    path = segment / content.properties_path
    path.write_bytes(properties)
    # The checksum covers the name.
    crc = crc_of(replace(content, files={**content.files, content.properties_path: Adler(properties)}))
    label = path.with_name(CREATION_META)
    label.write_bytes(crc.to_bytes(_CRC_BYTES, "big") + label.read_bytes()[_CRC_BYTES:])
    metadata_tar_path, renamed_path = folder / f"{name}.metadata.tar.gz", folder / f"{name}.tar.gz"
    write_metadata_tar(metadata_tar_path, segment)
    return RenamedSegment(
        name=name,
        crc=crc,
        rows=whole_number(content.properties.get("segment.total.docs")) or 0,
        tar_path=renamed_path,
        tar_size_bytes=write_tar(renamed_path, name, segment),
        metadata_tar_path=metadata_tar_path,
        segment_size_bytes=sum(file.size_bytes for file in content.files.values()),
    )
