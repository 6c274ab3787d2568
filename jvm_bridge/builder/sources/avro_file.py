"""Checks an Avro container file block by block, without decoding values.

Java's ``DataFileStream`` takes a truncated file for a complete one, and an empty block for the end: rows
would be lost silently.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import IO, Any

from controller_client.common.avro_bounds import avro_size
from controller_client.common.text import visible
from controller_client.models.epoch_format import UNIT_NS
from jvm_bridge.builder.model import SourceFile, UnreadableFileError
from jvm_bridge.builder.sources.source import CORRUPT_GZIP, open_bytes
from jvm_bridge.input_rules import FileFormat

__all__ = ["check_avro"]

_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_CHUNK_BYTES = 1 << 20
_MAX_VARINT_BYTES = 10
_MAX_HEADER_BYTES = 16 << 20
_MAX_ENTRIES = 10_000
_MAX_EMPTY_ROWS = 1_000_000


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
            file's sync marker, or rows follow an empty block; its header is too long, or has an invalid
            schema; it has too many rows without any bytes.
    """
    with closing(open_bytes(file.path)) as stream:
        try:
            if stream.read(len(_MAGIC)) != _MAGIC:
                raise _error(file, "it does not start like an Avro file")
            fields = _fields(file, _metadata(file, stream))
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
                if rows > _MAX_EMPTY_ROWS and not fields.least_bytes:
                    raise _error(file, f"it has {rows:,} rows, which take no bytes")
        except _TRUNCATED as error:
            raise _error(file, "it is truncated") from error
    return fields.steps_ns


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


@dataclass(frozen=True)
class _Fields:
    """The fields of a file's records.

    Attributes:
        steps_ns: Each field's unit in nanoseconds, if it is a point in time.
        least_bytes: The fewest bytes that a record takes.
    """

    steps_ns: Mapping[str, int | None]
    least_bytes: int


def _fields(file: SourceFile, schema: bytes | None) -> _Fields:
    try:
        document: Any = json.loads(schema or b"{}")
        fields = document.get("fields", []) if isinstance(document, dict) else []
        steps_ns = {str(field["name"]): _step_ns(field.get("type")) for field in fields}
        # Avro's library reports a file without a schema.
        least_bytes = avro_size(document, strict=False).least_bytes if document else 1
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = str(error) if type(error) is ValueError else type(error).__name__
        raise _error(file, f"its schema is invalid: {visible(reason)}") from error
    return _Fields(steps_ns, least_bytes)


def _metadata(file: SourceFile, stream: IO[bytes]) -> bytes | None:
    """Read the header's entries; return its schema."""
    schema, left = None, _MAX_HEADER_BYTES
    entries = 0
    while count := _varint(stream):
        if count < 0:  # then the block's size in bytes follows
            count = -count
            _varint(stream)
        entries += count
        if entries > _MAX_ENTRIES:
            raise _error(file, f"its header has more than {_MAX_ENTRIES:,} entries")
        for _ in range(count):
            entry = []
            for _ in range(2):
                size = _varint(stream)
                left -= max(size, 0)
                if left < 0:
                    raise _error(file, f"its header has more than {_MAX_HEADER_BYTES:,} bytes")
                entry.append(_exactly(stream, size))
            if entry[0] == b"avro.schema":
                schema = entry[1]
    return schema


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
