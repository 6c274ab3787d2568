"""Segments written by Pinot, and helpers to make any kind of tar.

The tars in ``pinot_0_11`` and ``pinot_1_5`` were made with Pinot's own classes of those versions: a segment
of 60 rows was built, then loaded with a different table config or schema, as a server does, and packed.
``tests/contract/test_server_changes.py`` does the same with the version that CI has.
"""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from controller_client.segment_tar import ExpectedSegment, Proof, TarLimits
from controller_client.segment_tar.content import read_content

LIMITS = TarLimits()

_FOLDER = Path(__file__).parent

SEGMENTS: Mapping[Path, Proof | None] = {
    _FOLDER / f"{name}.tar.gz": proof
    for name, proof in {
        "pinot_0_11/as_built": Proof.CONTENT,
        "pinot_0_11/no_rows": Proof.CONTENT,
        "pinot_0_11/indexes_added": Proof.CONTENT,
        "pinot_0_11/added_index_removed": Proof.CONTENT,
        "pinot_0_11/columns_and_indexes_added": Proof.CONTENT,
        "pinot_0_11/columns_left_index_removed": Proof.CONTENT,
        "pinot_0_11/default_value_changed": Proof.CONTENT,
        "pinot_0_11/text_index_added": Proof.CONTENT,
        "pinot_0_11/star_tree_added": Proof.CONTENT,
        "pinot_0_11/star_tree_and_columns": Proof.CONTENT,
        "pinot_0_11/version_1_index_added": Proof.CONTENT,
        "pinot_0_11/version_1_to_3": None,
        "pinot_0_11/committed_index_removed": None,
        "pinot_1_5/as_built": Proof.CONTENT,
        "pinot_1_5/no_rows": Proof.CONTENT,
        "pinot_1_5/indexes_added": Proof.CONTENT,
        "pinot_1_5/columns_and_indexes_added": Proof.CONTENT,
        "pinot_1_5/committed_index_removed": Proof.DATA,
        "pinot_1_5/encoding_changed": None,
    }.items()
}
"""Each tar, and what proves that it is the segment that was built."""


def expected_of(path: Path) -> ExpectedSegment:
    """Return what the segment's record says: servers do not change creation.meta."""
    label = read_content(path, LIMITS).label
    return ExpectedSegment("seg", label.crc, label.data_crc)


def files_of(path: Path) -> dict[str, bytes]:
    """Return the files of a tar, read with Python's own reader."""
    with tarfile.open(path, "r:gz") as tar:
        found = {member.name: tar.extractfile(member) for member in tar if member.isfile()}
        return {name.partition("/")[2]: file.read() for name, file in found.items() if file}


def pack(files: Mapping[str, bytes], *, top: str = "seg", tar_format: int = tarfile.GNU_FORMAT) -> bytes:
    """Pack files as Pinot does: each folder before its files; not yet compressed."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tar_format) as tar:
        folders = {top, *(f"{top}/{path.rpartition('/')[0]}" for path in files if "/" in path)}
        for folder in sorted(folders):
            add(tar, folder, kind=tarfile.DIRTYPE)
        for path, data in files.items():
            add(tar, f"{top}/{path}", data)
    return target.getvalue()


def add(
    tar: tarfile.TarFile, name: str, data: bytes = b"", *, kind: bytes = tarfile.REGTYPE, link: str = ""
) -> None:
    """Add an entry of any kind."""
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname, entry.size = kind, link, len(data)
    tar.addfile(entry, io.BytesIO(data))


def header(name: str, size: bytes, kind: bytes = tarfile.REGTYPE) -> bytes:
    """Return an entry's header with the given size field (12 bytes) and the right checksum."""
    entry = tarfile.TarInfo(name)
    entry.type = kind
    return with_checksum(bytearray(entry.tobuf(tarfile.GNU_FORMAT)[:124] + size + entry.tobuf()[136:512]))


def with_checksum(block: bytearray) -> bytes:
    """Put the right checksum into a header."""
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def gzipped(raw: bytes) -> bytes:
    """Compress a tar."""
    return gzip.compress(raw, compresslevel=1, mtime=0)


def write_gzip(path: Path, raw: bytes) -> Path:
    """Compress a tar and write it."""
    path.write_bytes(gzipped(raw))
    return path
