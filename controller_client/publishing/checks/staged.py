"""What staged segments say about themselves: the small tars of their metadata, read from the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from controller_client.common.disk import naming_full_disks
from controller_client.common.folders import scratch_folder
from controller_client.filestore import FileStore
from controller_client.publishing.staged_segment import StagedSegment
from controller_client.segment_tar import DescribedSegment, TarLimits, describe_tar, file_name_of

__all__ = ["describe_staged"]

_AT_ONCE = 16
_LIMITS = TarLimits(max_tar_bytes=64 << 20)


def describe_staged(
    staging: FileStore, segments: Sequence[StagedSegment]
) -> Iterator[list[DescribedSegment]]:
    """Yield what the segments with rows say, a few at a time, so that a caller can stop early.

    Args:
        staging: The store of the staged segments.
        segments: The segments.

    Raises:
        SourceError: The store does not answer.
        DataError: What is staged is not a segment's metadata.
    """
    with_rows = [segment for segment in segments if segment.rows]
    with (
        scratch_folder("pinot-checks-") as folder,
        naming_full_disks(folder),
        ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="checks") as pool,
    ):

        def described(segment: StagedSegment) -> DescribedSegment:
            return _described(staging, segment, folder)

        for start in range(0, len(with_rows), _AT_ONCE):
            yield list(pool.map(described, with_rows[start : start + _AT_ONCE]))


def _described(staging: FileStore, segment: StagedSegment, folder: Path) -> DescribedSegment:
    path = folder / f"{file_name_of(segment.name)}.tar.gz"
    try:
        staging.download(segment.metadata_uri, path)
        return describe_tar(path, _LIMITS)
    finally:
        path.unlink(missing_ok=True)
