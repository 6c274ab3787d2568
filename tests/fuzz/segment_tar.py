"""Segments' tars: gzipped, or the tar itself, whose headers get the checksums that they should have."""

from __future__ import annotations

import gzip
from contextlib import suppress

from controller_client.errors import DataError
from controller_client.segment_tar import TarLimits, content_crc, describe_tar
from tests.fuzz.scratch import file_with

_BLOCK = 512
_SUM = slice(148, 156)
_MAGIC = slice(257, 262)
_LIMITS = TarLimits(max_unpacked_bytes=64 << 20)


def parse(data: bytes) -> None:
    packed = data if data.startswith(b"\x1f\x8b") else gzip.compress(_summed(data), 1)
    path = file_with(packed, "segment.tar.gz")
    for read in (describe_tar, content_crc):
        with suppress(DataError):
            read(path, _LIMITS)


def _summed(tar: bytes) -> bytes:
    blocks = []
    for at in range(0, len(tar), _BLOCK):
        block = bytearray(tar[at : at + _BLOCK])
        if block[_MAGIC] == b"ustar":
            block[_SUM] = b" " * 8
            block[_SUM] = b"%06o\0 " % sum(block)
        blocks.append(bytes(block))
    return b"".join(blocks)
