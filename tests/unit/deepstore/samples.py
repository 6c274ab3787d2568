"""Segments' records, tars and a deep store in a folder."""

from __future__ import annotations

import io
import struct
import tarfile
from pathlib import Path

from controller_client.deepstore import SegmentRecord, StoreLayout
from controller_client.zookeeper import Versioned, ZNRecord

TABLE = "t_REALTIME"


def znode(
    name: str, *, crc: int = 7, url: str = "", size: int | None = None, status: str = "DONE"
) -> ZNRecord:
    fields = {"segment.crc": str(crc), "segment.download.url": url, "segment.realtime.status": status}
    if size is not None:
        fields["segment.size.in.bytes"] = str(size)
    return ZNRecord(name, simple_fields=fields)


def record(
    name: str = "s", *, crc: int = 7, url: str = "", size: int | None = None, status: str = "DONE"
) -> SegmentRecord:
    return SegmentRecord.of(
        TABLE, name, Versioned(znode(name, crc=crc, url=url, size=size, status=status), 3)
    )


def write_tar(path: Path, *, crc: int, name: str = "s", padding: int = 100) -> int:
    """Write a tar.gz with a creation.meta; returns its size."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as tar:
        for file, content in (
            ("columns.psf", b"x" * padding),
            ("creation.meta", struct.pack(">qq", crc, 1)),
        ):
            entry = tarfile.TarInfo(f"{name}/v3/{file}")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return path.stat().st_size


def folder_layout(root: Path) -> StoreLayout:
    return StoreLayout(f"file://{root}", "http://controller:9000")
