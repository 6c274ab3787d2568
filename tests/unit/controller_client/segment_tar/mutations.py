"""Seeded random changes to segments' tars: their bytes, gzip, headers, structure and content."""

from __future__ import annotations

import gzip
import io
import random
import tarfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.unit.controller_client.segment_tar.corpus import add, pack, with_checksum

__all__ = ["MUTATIONS", "Subject"]

_BLOCK = 512


@dataclass(frozen=True)
class Subject:
    """A tar to be changed.

    Attributes:
        files: The files of a segment.
        raw: The files as a tar.
        packed: The tar as a tar.gz.
    """

    files: Mapping[str, bytes]
    raw: bytes
    packed: bytes


Mutation = Callable[[random.Random, Subject], bytes]


def _gzipped(raw: bytes) -> bytes:
    return gzip.compress(raw, compresslevel=1, mtime=0)


def _damaged(rng: random.Random, data: bytes) -> bytes:
    """Flip, overwrite, insert, remove, repeat or truncate."""
    at = rng.randrange(len(data) + 1)
    size = min(rng.choice((1, 1, 2, 8, 100, 1000)), len(data) - at)
    match rng.randrange(6):
        case 0:
            damaged = bytearray(data or b"x")
            for _ in range(rng.choice((1, 1, 1, 2, 5))):
                damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
            return bytes(damaged)
        case 1:
            return data[:at] + rng.randbytes(size) + data[at + size :]
        case 2:
            return data[:at] + rng.randbytes(rng.choice((1, 7, 512))) + data[at:]
        case 3:
            return data[:at] + data[at + size :]
        case 4:
            return data[: at + size] + data[at:]
        case _:
            return data[:at]


def _gzip_bytes(rng: random.Random, subject: Subject) -> bytes:
    return _damaged(rng, subject.packed)


def _tar_bytes(rng: random.Random, subject: Subject) -> bytes:
    return _gzipped(_damaged(rng, subject.raw))


def _file_bytes(rng: random.Random, subject: Subject) -> bytes:
    path = rng.choice(sorted(subject.files))
    return _gzipped(pack({**subject.files, path: _damaged(rng, subject.files[path])}))


def _gzip(rng: random.Random, subject: Subject) -> bytes:
    raw, packed = subject.raw, subject.packed
    cut = rng.randrange(len(raw))
    match rng.randrange(8):
        case 0:
            return gzip.compress(raw, compresslevel=rng.randrange(10))
        case 1:
            return packed + rng.choice((b"\0", b"x", packed, _gzipped(b""), packed[:20]))
        case 2:
            return _gzipped(raw[:cut]) + _gzipped(raw[cut:])
        case 3:
            at = len(packed) - 1 - rng.randrange(8)
            return packed[:at] + bytes([packed[at] ^ 1 << rng.randrange(8)]) + packed[at + 1 :]
        case 4:  # the checksum of other data
            other = _gzipped(raw[:cut])
            return packed[:-8] + other[-8:]
        case 5:
            return zlib.compress(raw)
        case 6:
            return packed[:3] + bytes([rng.randrange(256)]) + packed[4:]
        case _:
            packer = zlib.compressobj(1, zlib.DEFLATED, 31)
            return (
                packer.compress(raw[:cut])
                + packer.flush(zlib.Z_FULL_FLUSH)
                + packer.compress(raw[cut:])
                + (packer.flush() if rng.randrange(2) else b"")
            )


def _header(rng: random.Random, subject: Subject) -> bytes:
    """Change one header, and usually correct its checksum."""
    raw = bytearray(subject.raw)
    starts = _headers(subject.raw)
    start = rng.choice(starts)
    block = raw[start : start + _BLOCK]
    match rng.randrange(6):
        case 0:
            size = rng.choice((0, 1, 511, 512, 2**20, 2**33, 2**36, 2**50, 2**62, rng.randrange(10_000)))
            block[124:136] = (
                b"%011o\0" % size if size < 8**11 and rng.randrange(2) else b"\x80" + size.to_bytes(11, "big")
            )
        case 1:
            block[156:157] = rng.choice(
                (b"0", b"\0", b"1", b"2", b"3", b"5", b"6", b"7", b"L", b"K", b"S", b"x", b"g")
            )
        case 2:
            name = rng.choice(
                (b"seg/../x", b"/x", b"seg/v3/x", b"other/x", b"seg/v3/index_map", b"seg", rng.randbytes(9))
            )
            block[:100] = name.ljust(100, b"\0")
        case 3:
            block[345:500] = rng.choice((b"seg", b"..", b"/", b"x" * 155)).ljust(155, b"\0")
        case 4:
            at = rng.randrange(_BLOCK)
            block[at] = rng.randrange(256)
        case _:
            at = rng.randrange(124, 136)
            block[at] = rng.randrange(256)
    raw[start : start + _BLOCK] = with_checksum(block) if rng.randrange(4) else block
    return _gzipped(bytes(raw))


def _headers(raw: bytes) -> list[int]:
    with tarfile.open(fileobj=io.BytesIO(raw)) as tar:
        return [member.offset for member in tar]


def _structure(rng: random.Random, subject: Subject) -> bytes:
    files = dict(subject.files)
    path, other = rng.choice(sorted(files)), rng.choice(sorted(files))
    match rng.randrange(10):
        case 0:
            del files[path]
        # The crc does not cover names, and only version 3 records the sizes of its files.
        case 1 if "v3/columns.psf" in files:
            files[path], files[other] = files[other], files[path]
        case 2:
            files[rng.choice((path + "x", "x" + path, "v3/" + path, path.upper(), "a"))] = files.pop(path)
        case 3:
            files[
                rng.choice(
                    ("new", "v3/new", "v3/zz", "a/b/c", "v3/x.crc", "v3/creation.meta.crc", "x.mapping")
                )
            ] = b"x" * 9
        case 4 if "v3/columns.psf" in files:
            # The same bytes in the same order, split elsewhere.
            names = sorted(name for name in files if not name.endswith("creation.meta"))
            position = rng.randrange(len(names) - 1)
            first, second = names[position], names[position + 1]
            size = rng.randrange(min(200, len(files[first])) + 1)
            kept = len(files[first]) - size
            files[first], files[second] = files[first][:kept], files[first][kept:] + files[second]
        case 5:
            shuffled = list(files.items())
            rng.shuffle(shuffled)
            return _gzipped(
                pack(dict(shuffled), tar_format=rng.choice((tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)))
            )
        case 6:
            return _gzipped(pack(files, top=rng.choice(("other", "seg", ".ssh", "a b"))))
        case 7:
            return _gzipped(subject.raw[: _headers(subject.raw)[-1]] + bytes(1024))
        case 8:
            return _gzipped(
                subject.raw.rstrip(b"\0") + rng.choice((b"", bytes(100), bytes(512), subject.raw))
            )
        case _:
            return _gzipped(_with_more(rng, files, path))
    return _gzipped(pack(files))


def _with_more(rng: random.Random, files: Mapping[str, bytes], path: str) -> bytes:
    target = io.BytesIO(pack(files))
    with tarfile.open(fileobj=target, mode="a", format=tarfile.GNU_FORMAT) as tar:
        kind = rng.choice(
            (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.REGTYPE, tarfile.DIRTYPE)
        )
        name = rng.choice(("seg/new", f"seg/{path}", "../new", "seg/" + "x" * 300, "seg/" + "y/" * 200))
        add(tar, name, b"z" if kind == tarfile.REGTYPE else b"", kind=kind, link="/etc/passwd")
    return target.getvalue()


MUTATIONS: tuple[Mutation, ...] = (
    _gzip_bytes,
    _tar_bytes,
    _file_bytes,
    _gzip,
    _header,
    _structure,
)
