"""Helix's ZNRecord: the content of nearly every znode of a Pinot cluster.

The form is that of ``ZNRecordSerializer`` in Helix 1.0.4: a JSON object with ``id``, ``simpleFields``,
``mapFields`` and ``listFields``; gzipped if the simple field ``enableCompression`` is true or the JSON is
over the limit. The limit of 1,024,000 bytes applies to the written bytes. Helix refuses a record with any
other key.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from controller_client.errors import DataError

__all__ = ["COMPRESSION_FIELD", "RECORD_LIMIT_BYTES", "Versioned", "ZNRecord", "mentions"]

RECORD_LIMIT_BYTES = 1_024_000
"""Helix's limit for a serialized record; ZooKeeper's own (jute.maxbuffer, 1 MiB) is slightly higher."""

COMPRESSION_FIELD = "enableCompression"
"""Simple field that makes Helix and this project compress the record."""

_LARGEST_PLAIN_BYTES = 256 * 1024 * 1024
"""Maximum unpacked size of a record, about the size of an ideal state with a million segments."""

_BEST_COMPRESSION = 9
_HELIX_COMPRESSION = 6
"""Java's default."""

_STRINGS = frozenset({str})
_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True)
class ZNRecord:
    """A record.

    Attributes:
        id: Helix's id of the record, by convention the znode's name.
        simple_fields: Strings by key.
        list_fields: Lists of strings by key.
        map_fields: Maps of strings by key.
        raw_payload: Base64 of bytes that Helix may store in addition to the fields; kept unchanged.
    """

    id: str
    simple_fields: dict[str, str] = field(default_factory=dict)
    list_fields: dict[str, list[str]] = field(default_factory=dict)
    map_fields: dict[str, dict[str, str]] = field(default_factory=dict)
    raw_payload: str | None = None

    def to_bytes(self, compress: bool | None = None) -> bytes:
        """Serialize as Helix does.

        Args:
            compress: Whether to compress; None: by Helix's rule.

        Raises:
            DataError: The result is over :data:`RECORD_LIMIT_BYTES`, so neither Helix nor ZooKeeper would
                accept it.
        """
        data, plain_bytes, is_packed = self._serialized(compress, _BEST_COMPRESSION)
        if len(data) > RECORD_LIMIT_BYTES:
            packed = f", {plain_bytes:,} before compression" if is_packed else ", not compressed"
            raise DataError(
                f"the record {self.id} has {len(data):,} bytes{packed}",
                expected=f"at most {RECORD_LIMIT_BYTES:,} bytes, Helix's limit for a record",
                remedy="split it into several records, or enable compression",
            )
        return data

    def written_bytes(self) -> int:
        """Return the size of the record as written by Helix, to which Helix's limit applies."""
        return len(self._serialized(None, _HELIX_COMPRESSION)[0])

    def _serialized(self, compress: bool | None, level: int) -> tuple[bytes, int, bool]:
        document: dict[str, Any] = {
            "id": self.id,
            "simpleFields": self.simple_fields,
            "mapFields": self.map_fields,
            "listFields": self.list_fields,
        }
        if self.raw_payload is not None:
            document["rawPayload"] = self.raw_payload
        try:
            data = json.dumps(document, indent=2, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            # An unpaired surrogate (in a file name that is not UTF-8) has no UTF-8 form, but a JSON escape.
            data = json.dumps(document, indent=2).encode()
        plain_bytes = len(data)
        if compress is None:
            # Boolean.parseBoolean: "true" in any case, nothing else.
            asked = self.simple_fields.get(COMPRESSION_FIELD, "").lower() == "true"
            compress = asked or plain_bytes > RECORD_LIMIT_BYTES
        if compress:
            data = gzip.compress(data, level, mtime=0)
        return data, plain_bytes, compress

    @classmethod
    def from_bytes(cls, data: bytes, where: str | None = None) -> ZNRecord:
        """Parse a serialized record, compressed or not.

        Keys with the value null are omitted: Helix's getters treat both the same.

        Args:
            data: Content of a znode.
            where: The znode's path, for the error.

        Raises:
            DataError: It is not a record.
        """
        try:
            text = _unpacked(data) if data.startswith(_GZIP_MAGIC) else data
            document = json.loads(text)
            return cls(
                id=_string(document["id"]),
                simple_fields=_strings(document.get("simpleFields")),
                list_fields={
                    key: [_string(item) for item in items if item is not None]
                    for key, items in (document.get("listFields") or {}).items()
                    if items is not None
                },
                map_fields={
                    key: _strings(fields)
                    for key, fields in (document.get("mapFields") or {}).items()
                    if fields is not None
                },
                raw_payload=document.get("rawPayload"),
            )
        except (
            *(ValueError, TypeError, KeyError, AttributeError),
            *(EOFError, OSError, zlib.error, RecursionError),
        ) as error:
            raise DataError(
                f"this znode of {len(data):,} bytes does not contain a Helix record "
                f"({type(error).__name__}: {error})",
                expected="a JSON object with id, simpleFields, mapFields and listFields, possibly gzipped",
                where=where,
            ) from error


def mentions(data: bytes, keys: Iterable[str]) -> bool:
    """Return whether a serialized record may have one of some keys, at any level, without parsing it.

    Args:
        data: Content of a znode.
        keys: ASCII keys that JSON writes as they are.
    """
    try:
        text = _unpacked(data) if data.startswith(_GZIP_MAGIC) else data
    except (ValueError, EOFError, OSError, zlib.error):
        return True  # parsing it tells what is wrong
    return any(key.encode() in text for key in keys)


def _unpacked(data: bytes) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
        text = packed.read(_LARGEST_PLAIN_BYTES + 1)
    if len(text) > _LARGEST_PLAIN_BYTES:
        raise ValueError(f"it unpacks to more than {_LARGEST_PLAIN_BYTES:,} bytes")
    return text


def _strings(fields: dict[str, Any] | None) -> dict[str, str]:
    if not fields or _STRINGS.issuperset(map(type, fields.values())):
        return fields or {}  # by far the most common case: audits read many thousands of records
    return {key: _string(value) for key, value in (fields or {}).items() if value is not None}


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a {type(value).__name__} instead of a string")
    return value


@dataclass(frozen=True)
class Versioned:
    """A record and the version it was read at, as needed for a compare-and-set."""

    record: ZNRecord
    version: int
