"""Checks an Avro container file block by block, without decoding values.

Java's ``DataFileStream`` takes a truncated file for a complete one, and an empty block for the end: rows
would be lost silently.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from typing import IO, Any

from controller_client.models.epoch_format import UNIT_NS
from jvm_bridge.builder.model import FileFormat, UnreadableFileError
from jvm_bridge.builder.source_file import SourceFile
from jvm_bridge.builder.sources.source import CORRUPT_GZIP, open_bytes

__all__ = ["check_avro"]

_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_CHUNK_BYTES = 1 << 20
_MAX_VARINT_BYTES = 10


class _TruncatedError(Exception):
    pass


_TRUNCATED: tuple[type[Exception], ...] = (_TruncatedError, *CORRUPT_GZIP)


def check_avro(file: SourceFile) -> Mapping[str, int | None]:
    """Read through the file's blocks.

    Args:
        file: An Avro file, possibly gzipped.

    Returns:
        The record's fields, each with its unit in nanoseconds if it is a point in time.

    Raises:
        UnreadableFileError: The file is not an Avro file or is truncated, a block does not end with the
            file's sync marker, or rows follow an empty block.
    """
    with closing(open_bytes(file.path)) as stream:
        try:
            if stream.read(len(_MAGIC)) != _MAGIC:
                raise _error(file, "it does not start like an Avro file")
            metadata = _metadata(stream)
            sync = _exactly(stream, _SYNC_BYTES)
            rows = 0
            has_empty_block = False
            while (first := stream.read(1)) != b"":
                rows_here = _varint(stream, first)
                _skip(stream, _varint(stream))
                if _exactly(stream, _SYNC_BYTES) != sync:
                    raise _error(file, f"the block after row {rows} does not end where it should")
                if has_empty_block and rows_here:
                    raise _error(file, f"the block after row {rows} is empty, but more blocks follow")
                has_empty_block |= not rows_here
                rows += rows_here
        except _TRUNCATED as error:
            raise _error(file, "it is truncated") from error
    schema: Any = json.loads(metadata.get("avro.schema", b"{}"))
    fields = schema.get("fields", []) if isinstance(schema, dict) else []
    return {str(field["name"]): _step_ns(field.get("type")) for field in fields}


_LOGICAL_NS = {
    "timestamp-millis": UNIT_NS["MILLISECONDS"],
    "timestamp-micros": UNIT_NS["MICROSECONDS"],
    "timestamp-nanos": UNIT_NS["NANOSECONDS"],
    "local-timestamp-millis": UNIT_NS["MILLISECONDS"],
    "local-timestamp-micros": UNIT_NS["MICROSECONDS"],
    "local-timestamp-nanos": UNIT_NS["NANOSECONDS"],
    "date": UNIT_NS["DAYS"],
}


def _step_ns(kind: Any) -> int | None:
    """Return the unit of a field of a type in nanoseconds; its values may be null, or arrays."""
    if isinstance(kind, list):
        others = [each for each in kind if each != "null"]
        return _step_ns(others[0]) if len(others) == 1 else None
    if not isinstance(kind, dict):
        return None
    if kind.get("type") == "array":
        return _step_ns(kind.get("items"))
    return _LOGICAL_NS.get(str(kind.get("logicalType"))) if kind.get("type") in ("int", "long") else None


def _error(file: SourceFile, what: str) -> UnreadableFileError:
    return UnreadableFileError(
        f"{file.name} cannot be read as {FileFormat.AVRO}: {what}",
        expected="a complete Avro file",
        where=file.where,
    )


def _metadata(stream: IO[bytes]) -> dict[str, bytes]:
    metadata = {}
    while count := _varint(stream):
        if count < 0:  # then the block's size in bytes follows
            count = -count
            _varint(stream)
        for _ in range(count):
            key = _exactly(stream, _varint(stream)).decode("utf-8", errors="replace")
            metadata[key] = _exactly(stream, _varint(stream))
    return metadata


def _varint(stream: IO[bytes], first: bytes | None = None) -> int:
    value = 0
    for index in range(_MAX_VARINT_BYTES):
        byte = (first if index == 0 and first else _exactly(stream, 1))[0]
        value |= (byte & 0x7F) << (7 * index)
        if not byte & 0x80:
            break
    return (value >> 1) ^ -(value & 1)


def _exactly(stream: IO[bytes], size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = stream.read(min(size - len(parts), _CHUNK_BYTES))
        if not part:
            raise _TruncatedError
        parts += part
    return bytes(parts)


def _skip(stream: IO[bytes], size: int) -> None:
    while size > 0:
        part = stream.read(min(size, _CHUNK_BYTES))
        if not part:
            raise _TruncatedError
        size -= len(part)
