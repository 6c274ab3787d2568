"""Avro container files with any codec and any schema, written byte by byte."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa

__all__ = ["AVRO_TYPES", "CODECS", "avro_block", "avro_header", "encoded", "varint", "write_avro_file"]

AVRO_TYPES = {
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.string(): "string",
    pa.binary(): "bytes",
}

_SYNC = bytes(range(100, 116))


def _deflated(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def _snappy(data: bytes) -> bytes:
    return bytes(pa.Codec("snappy").compress(data, asbytes=True)) + zlib.crc32(data).to_bytes(4, "big")


CODECS: Mapping[str, Callable[[bytes], bytes]] = {
    "null": lambda data: data,
    "deflate": _deflated,
    "snappy": _snappy,
    "zstandard": lambda data: bytes(pa.Codec("zstd").compress(data, asbytes=True)),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}


def varint(number: int) -> bytes:
    """Return a number in Avro's encoding of ints and longs."""
    number, out = (number << 1) ^ (number >> 63), bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def avro_header(fields: Sequence[Mapping[str, Any]], codec: str = "null") -> bytes:
    """Return the header of a file with these fields."""
    schema = {"type": "record", "name": "rows", "fields": list(fields)}
    metadata = {b"avro.schema": json.dumps(schema).encode(), b"avro.codec": codec.encode()}
    entries = b"".join(varint(len(each)) + each for item in metadata.items() for each in item)
    return b"Obj\x01" + varint(len(metadata)) + entries + varint(0) + _SYNC


def avro_block(rows: int, data: bytes, codec: str = "null") -> bytes:
    """Return a block with this number of rows, or that claims to have it."""
    packed = CODECS[codec](data)
    return varint(rows) + varint(len(packed)) + packed + _SYNC


def encoded(fields: Sequence[Mapping[str, Any]], rows: Iterable[Mapping[str, Any]]) -> list[bytes]:
    """Return each row in Avro's encoding; values of logical types are given in their stored form."""
    plain = {"type": "record", "name": "rows", "fields": [_without_logical(each) for each in fields]}
    parsed = fastavro.parse_schema(plain)
    found = []
    for row in rows:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, dict(row))
        found.append(out.getvalue())
    return found


def _without_logical(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_logical(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {key: _without_logical(value) for key, value in schema.items() if key != "logicalType"}


def write_avro_file(
    path: Path,
    fields: Sequence[Mapping[str, Any]],
    rows: Iterable[Mapping[str, Any]],
    *,
    codec: str = "null",
    block_rows: int = 1_000,
) -> None:
    """Write a file, gzipped if its name ends so."""
    data = encoded(fields, rows)
    parts = [data[start : start + block_rows] for start in range(0, len(data), block_rows)]
    blocks = b"".join(avro_block(len(part), b"".join(part), codec) for part in parts)
    content = avro_header(fields, codec) + blocks
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
