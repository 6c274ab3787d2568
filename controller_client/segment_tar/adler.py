"""Adler-32, the checksum that Pinot calls a segment's crc, of pieces that are combined afterwards."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

__all__ = ["Adler"]

_BASE = 65521


class Adler:
    """Adler-32 and length of some bytes.

    The checksum of two pieces, one after the other, follows from the checksums and lengths of both.

    Attributes:
        value: The checksum; 1 for no bytes.
        size_bytes: Number of bytes.
    """

    __slots__ = ("size_bytes", "value")

    def __init__(self, data: bytes = b"") -> None:
        self.value = zlib.adler32(data)
        self.size_bytes = len(data)

    @classmethod
    def joined(cls, parts: Iterable[Adler]) -> Adler:
        """Return the checksum of pieces, one after the other."""
        result = cls()
        for part in parts:
            result += part
        return result

    def update(self, data: bytes) -> None:
        """Append bytes."""
        self.value = zlib.adler32(data, self.value)
        self.size_bytes += len(data)

    def __add__(self, other: Adler) -> Adler:
        low, other_low = self.value & 0xFFFF, other.value & 0xFFFF
        high = (self.value >> 16) + (other.value >> 16) + other.size_bytes * (low - 1)
        result = Adler()
        result.value = (high % _BASE) << 16 | (low + other_low - 1) % _BASE
        result.size_bytes = self.size_bytes + other.size_bytes
        return result
