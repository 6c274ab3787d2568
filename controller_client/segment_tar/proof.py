"""Whether a tar's content is the segment that was committed, judged by checksums of the content itself.

Adler-32, which Pinot calls a crc, detects damage. It is not a signature: it is easy to forge.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from controller_client.errors import DataError
from controller_client.segment_tar.adler import Adler
from controller_client.segment_tar.committed import Committed, all_but_local, find_committed
from controller_client.segment_tar.content import CopyContent, crc_of, read_content, sums_of_parts
from controller_client.segment_tar.layout import COLUMNS, MARKER_BYTES, java_order
from controller_client.segment_tar.reader import TarLimits

__all__ = ["ExpectedSegment", "Proof", "Verdict", "digest_of_data", "judge_copy"]


class Proof(StrEnum):
    """Why a copy is considered to be the committed segment."""

    CONTENT = "content"
    """All files, without what servers add, have the crc of the segment's record."""
    DATA = "data"
    """Forward indexes and dictionaries have the record's data crc (Pinot 1.5); the rest is unproven."""
    SERVERS = "servers"
    """Two servers have the same data, which no checksum of the record proves."""


@dataclass(frozen=True)
class ExpectedSegment:
    """What a segment's record says about its content.

    Attributes:
        segment: Name.
        crc: The crc of all files; None: the record has none.
        data_crc: The crc of forward indexes and dictionaries; None: the record has none.
        by_data_crc: Whether replicas may have a different crc, as long as their data crc is the same.
    """

    segment: str
    crc: int | None
    data_crc: int | None = None
    by_data_crc: bool = False


@dataclass(frozen=True)
class Verdict:
    """What is known about a tar.

    Attributes:
        content: Its content.
        crc: The crc of all its files.
        committed: The part that is the committed segment, if it is proven.
        proof: How it is proven; None: it is not.
        reason: Why it is not proven.
        is_labelled: Whether it is the right segment at least according to its creation.meta.
    """

    content: CopyContent
    crc: int
    committed: Committed
    proof: Proof | None = None
    reason: str | None = None
    is_labelled: bool = True


def judge_copy(tar_path: Path, expected: ExpectedSegment, limits: TarLimits) -> Verdict:
    """Read a tar and determine whether it is the segment.

    Args:
        tar_path: The tar.gz.
        expected: The segment.
        limits: How much may be read.

    Raises:
        DataError: The file is not a complete tar.gz of a segment.
    """
    content = read_content(tar_path, limits)
    crc, label, whole = crc_of(content), content.label, all_but_local(content)
    if expected.crc is None:
        reason = "the segment's metadata contains no crc to compare with"
        return Verdict(content, crc, whole, reason=reason, is_labelled=False)
    same_data = expected.data_crc is not None and label.data_crc == expected.data_crc
    if label.crc != expected.crc and not (same_data and expected.by_data_crc):
        reason = f"its tar has crc {label.crc}, not {expected.crc}"
        return Verdict(content, crc, whole, reason=reason, is_labelled=False)
    if crc == label.crc == expected.crc:
        return Verdict(content, crc, whole, Proof.CONTENT)
    sums, data_crc = _entry_sums(tar_path, content, limits)
    committed = find_committed(content, sums, expected.crc) if label.crc == expected.crc else None
    if committed is not None:
        return Verdict(content, crc, committed, Proof.CONTENT)
    is_named = content.properties.get("segment.name") == expected.segment
    if same_data and is_named and data_crc == expected.data_crc:
        return Verdict(content, crc, whole, Proof.DATA)
    reason = (
        f"its files have crc {crc}, the record has {expected.crc}: "
        "they were changed, either by a reload that changed columns or indexes, or by damage"
    )
    return Verdict(content, crc, whole, reason=reason)


def digest_of_data(tar_path: Path, content: CopyContent, limits: TarLimits, skipped: Collection[str]) -> str:
    """Return a digest that is equal for the copies of two servers if they have the same rows.

    It covers metadata.properties, forward indexes, dictionaries and null vectors, from which the other
    indexes can be rebuilt, but not those of default columns.

    Args:
        tar_path: The tar.
        content: Its content.
        limits: How much may be read.
        skipped: Columns that servers write into.

    Raises:
        DataError: The segment is of version 1.
    """
    if content.entries is None:
        raise DataError("copies of version 1 are not compared", expected="a segment of version 3")
    digest = hashlib.sha256(content.properties.committed(with_star_tree=False))
    skipped = content.properties.generated.union(skipped)
    ends = [entry.start + entry.size_bytes for entry in content.entries]
    parts = sums_of_parts(tar_path, COLUMNS, ends, limits, hashlib.sha256)
    lines = [
        f"{entry.name} {entry.size_bytes} {part.hexdigest()}\n".encode(errors="surrogateescape")
        for entry, part in zip(content.entries, parts, strict=True)
        if entry.holds_rows and entry.column not in skipped
    ]
    digest.update(b"".join(sorted(lines)))
    return digest.hexdigest()


def _entry_sums(
    tar_path: Path, content: CopyContent, limits: TarLimits
) -> tuple[dict[str, Adler], int | None]:
    """Return the checksums of the entries of columns.psf by name, and the data crc."""
    properties = content.properties
    entries = content.entries
    if entries is None:
        files = [path for path in content.summed() if path.endswith((".fwd", ".dict"))]
        return {}, Adler.joined(content.files[path] for path in files).value if files else None
    cuts = [at for entry in entries for at in (entry.start + MARKER_BYTES, entry.start + entry.size_bytes)]
    parts = sums_of_parts(tar_path, COLUMNS, cuts, limits, Adler)
    sums, data = {}, {}
    for entry, marker, content_sum in zip(entries, parts[::2], parts[1::2], strict=True):
        sums[entry.name] = marker + content_sum
        if entry.column in properties.generated:
            continue
        if entry.kind == "forward_index":
            data[properties.forward_file(entry.column)] = content_sum
        elif entry.kind == "dictionary":
            data[f"{entry.column}.dict"] = content_sum
    # The checksum of nothing proves nothing.
    return sums, Adler.joined(data[name] for name in sorted(data, key=java_order)).value if data else None
