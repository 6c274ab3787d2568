"""Helix' ZNRecord: what nearly every znode of a Pinot cluster holds.

The form is that of Helix 1.0.4's ``ZNRecordSerializer``: a JSON object of ``id``, ``simpleFields``,
``mapFields`` and ``listFields``; gzip where the simple field ``enableCompression`` is true or the JSON is
over the limit; the limit of 1,024,000 bytes is that of what is written. Helix refuses a record with any
further key.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from dataclasses import dataclass, field
from typing import Any

from controller_client.errors import DataError

__all__ = ["COMPRESSION_FIELD", "RECORD_LIMIT_BYTES", "Versioned", "ZNRecord"]

RECORD_LIMIT_BYTES = 1_024_000
"""Helix' limit for a serialized record; ZooKeeper's own (jute.maxbuffer, 1 MiB) is little above it."""

COMPRESSION_FIELD = "enableCompression"
"""Simple field that makes Helix and us compress the record."""

_LARGEST_PLAIN_BYTES = 256 * 1024 * 1024
"""What a compressed record may unpack to; the ideal state of a million segments is about as large."""

_BEST_COMPRESSION = 9
_HELIX_COMPRESSION = 6
"""Java's default."""

_STRINGS = frozenset({str})
_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True)
class ZNRecord:
    """One record.

    Attributes:
        id: Helix' id of the record, by convention the znode's name.
        simple_fields: Text by key.
        list_fields: Lists of text by key.
        map_fields: Maps of text by key.
        raw_payload: Base64 of the bytes that Helix may keep beside the fields; kept as it was read.
    """

    id: str
    simple_fields: dict[str, str] = field(default_factory=dict)
    list_fields: dict[str, list[str]] = field(default_factory=dict)
    map_fields: dict[str, dict[str, str]] = field(default_factory=dict)
    raw_payload: str | None = None

    def to_bytes(self, compress: bool | None = None) -> bytes:
        """Serialize as Helix does.

        Args:
            compress: True or False to decide; None for Helix' rule.

        Raises:
            DataError: The result is over :data:`RECORD_LIMIT_BYTES`; neither Helix nor ZooKeeper would take
                it.
        """
        data, plain_bytes, is_packed = self._serialized(compress, _BEST_COMPRESSION)
        if len(data) > RECORD_LIMIT_BYTES:
            packed = f", {plain_bytes:,} before compression" if is_packed else ", not compressed"
            raise DataError(
                f"the record {self.id} has {len(data):,} bytes{packed}",
                expected=f"at most {RECORD_LIMIT_BYTES:,} bytes, which is Helix' limit of a record",
                remedy="split it into several records, or let it be compressed",
            )
        return data

    def written_bytes(self) -> int:
        """How large the record is when Helix writes it, compressed by its rule: what its limit is on."""
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
            # An unpaired surrogate (of a file name that is no UTF-8) has no UTF-8 form, but a JSON escape.
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
        """Read a serialized record, compressed or not.

        Keys whose value is null are left out: to Helix' getters both are the same.

        Args:
            data: Content of a znode.
            where: The znode's path, for the error.

        Raises:
            DataError: This is no record.
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
                expected="a JSON object of id, simpleFields, mapFields and listFields, or its gzip",
                where=where,
            ) from error


def _unpacked(data: bytes) -> bytes:
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
        text = packed.read(_LARGEST_PLAIN_BYTES + 1)
    if len(text) > _LARGEST_PLAIN_BYTES:
        raise ValueError(f"unpacked it has more than {_LARGEST_PLAIN_BYTES:,} bytes")
    return text


def _strings(fields: dict[str, Any] | None) -> dict[str, str]:
    if not fields or _STRINGS.issuperset(map(type, fields.values())):
        return fields or {}  # by far the most records: audits read many thousands
    return {key: _string(value) for key, value in (fields or {}).items() if value is not None}


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a {type(value).__name__} where a string belongs")
    return value


@dataclass(frozen=True)
class Versioned:
    """A record and the znode version it was read at; the version is what a compare-and-set wants."""

    record: ZNRecord
    version: int
