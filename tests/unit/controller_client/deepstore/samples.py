"""Segments' records, tars and a deep store in a folder.

A segment's rows follow from its name and a number, its content; so does its crc.
"""

from __future__ import annotations

import io
import struct
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controller_client.common.names import TableName
from controller_client.deepstore.layout import StoreLayout
from controller_client.deepstore.segment_record import SegmentRecord
from controller_client.zookeeper import Versioned, ZNRecord

TABLE = TableName("t_REALTIME")

_MARKER = bytes.fromhex("deadbeefdeafbead")


def segment_files(content: int, name: str = "s", *, padding: int = 100) -> dict[str, bytes]:
    """The files of a segment with one column, without creation.meta, in the order of their names."""
    entries = {
        "a.dictionary": _MARKER + struct.pack(">q", content),
        "a.forward_index": _MARKER + bytes(padding),
    }
    return {
        "v3/columns.psf": b"".join(entries.values()),
        "v3/index_map": index_map({key: len(value) for key, value in entries.items()}),
        "v3/metadata.properties": (
            f"segment.name = {name}\nsegment.dimension.column.names = a\nsegment.total.docs = {padding}\n"
            "column.a.hasDictionary = true\ncolumn.a.isSingleValues = true\ncolumn.a.isSorted = true\n"
        ).encode(),
    }


def index_map(sizes: Mapping[str, int]) -> bytes:
    lines, start = [], 0
    for key, size in sizes.items():
        lines += [f"{key}.startOffset = {start}\n", f"{key}.size = {size}\n"]
        start += size
    return "".join(lines).encode()


def crc_of(content: int, name: str = "s", *, padding: int = 100) -> int:
    """The crc of a segment, as Pinot computes it."""
    return zlib.adler32(b"".join(segment_files(content, name, padding=padding).values()))


def znode(
    name: str, *, content: int = 7, url: str = "", size: int | None = None, status: str = "DONE"
) -> ZNRecord:
    fields = {
        "segment.crc": str(crc_of(content, name)),
        "segment.download.url": url,
        "segment.realtime.status": status,
    }
    if size is not None:
        fields["segment.size.in.bytes"] = str(size)
    return ZNRecord(name, simple_fields=fields)


def record(
    name: str = "s",
    *,
    content: int = 7,
    crc: int | None = None,
    url: str = "",
    size: int | None = None,
    status: str = "DONE",
    folder_sizes: bool = False,
    more: Mapping[str, str] | None = None,
) -> SegmentRecord:
    """A record with the crc of a content, unless another crc is given; ``more`` has further fields."""
    node = znode(name, content=content, url=url, size=size, status=status)
    fields = {**node.simple_fields, **({} if crc is None else {"segment.crc": str(crc)}), **(more or {})}
    found = Versioned(ZNRecord(name, simple_fields=fields), 3)
    return SegmentRecord.of(TABLE, name, found, folder_sizes=folder_sizes)


def write_tar(path: Path, *, content: int = 7, name: str = "s", padding: int = 100) -> int:
    """Write a segment's tar.gz; return its size."""
    files = segment_files(content, name, padding=padding)
    label = struct.pack(">qq", crc_of(content, name, padding=padding), 1)
    return write_files(path, {**files, "v3/creation.meta": label}, top=name)


def write_files(path: Path, files: Mapping[str, bytes], *, top: str = "s") -> int:
    """Write any files as a tar.gz, below a folder; return its size."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz", compresslevel=1) as tar:
        for folder in (top, f"{top}/v3"):
            entry = tarfile.TarInfo(folder)
            entry.type = tarfile.DIRTYPE
            tar.addfile(entry)
        for file, data in files.items():
            entry = tarfile.TarInfo(f"{top}/{file}")
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return path.stat().st_size


def endless(handler: Any) -> None:
    """Send a body without a length, which is larger than any limit of a test."""
    handler.send_response(200)
    handler.end_headers()
    handler.close_connection = True
    for _ in range(200):
        handler.wfile.write(bytes(1 << 16))


def folder_layout(root: Path) -> StoreLayout:
    return StoreLayout(f"file://{root}", "http://controller:9000")
