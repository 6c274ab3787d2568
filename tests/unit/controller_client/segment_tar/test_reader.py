"""Tars that are damaged, malicious, or just written by another program."""

from __future__ import annotations

import gzip
import io
import random
import tarfile
import tracemalloc
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from controller_client.errors import DataError
from controller_client.segment_tar import TarLimits, judge_copy
from controller_client.segment_tar.reader import read_tar
from tests.unit.controller_client.segment_tar.corpus import (
    LIMITS,
    add,
    expected_of,
    files_of,
    header,
    pack,
    write_gzip,
)

AS_BUILT = Path(__file__).parent / "pinot_0_11" / "as_built.tar.gz"
_BLOCK = 512


def read(path: Path, limits: TarLimits = LIMITS) -> dict[str, bytes]:
    return {entry.path: b"".join(entry.pieces) for entry in read_tar(path, limits) if not entry.is_folder}


def refused(path: Path, limits: TarLimits = LIMITS) -> str:
    with pytest.raises(DataError) as error:
        read(path, limits)
    assert str(path) == error.value.where
    return error.value.message


@pytest.mark.parametrize("tar_format", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
@pytest.mark.parametrize("long", [False, True])
def test_tars_of_all_common_kinds_are_read(tmp_path: Path, tar_format: int, long: bool) -> None:
    folder = "x" * 90 if long else "v3"
    name = "y" * (60 if tar_format == tarfile.USTAR_FORMAT else 180) if long else "é" if tar_format else "e"
    files = {f"{folder}/{name}": bytes(range(256)) * 5000, f"{folder}/empty": b"", "a": b"x" * _BLOCK}
    tar = write_gzip(tmp_path / "s.tar.gz", pack(files, tar_format=tar_format))
    assert read(tar) == files


def test_unread_content_of_an_entry_is_skipped(tmp_path: Path) -> None:
    tar = write_gzip(tmp_path / "s.tar.gz", pack({"a": b"x" * 2_000_000, "b": b"y" * 700}))
    found = []
    for entry in read_tar(tar, LIMITS):
        found.append(entry.path)
        if entry.path == "a":
            next(iter(entry.pieces))
    assert found == ["", "a", "b"]


def _with(*entries: tuple[str, bytes, str]) -> bytes:
    """Return a segment's tar with additional entries: name, kind, target of a link."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.GNU_FORMAT) as tar:
        add(tar, "seg", kind=tarfile.DIRTYPE)
        add(tar, "seg/a", b"x")
        for name, kind, link in entries:
            add(tar, name, b"y" if kind == tarfile.REGTYPE else b"", kind=kind, link=link)
    return target.getvalue()


FILE = tarfile.REGTYPE


@pytest.mark.parametrize(
    "entry",
    [
        ("/etc/x", FILE, ""),
        ("../x", FILE, ""),
        ("seg/../../x", FILE, ""),
        ("seg\\..\\x", FILE, ""),
        ("seg/l", tarfile.SYMTYPE, "/etc/passwd"),
        ("seg/l", tarfile.LNKTYPE, "seg/a"),
        ("seg/d", tarfile.CHRTYPE, ""),
        ("seg/d", tarfile.BLKTYPE, ""),
        ("seg/f", tarfile.FIFOTYPE, ""),
        ("seg/s", tarfile.GNUTYPE_SPARSE, ""),
        ("seg/c", tarfile.CONTTYPE, ""),
        ("other/x", FILE, ""),
        ("other", tarfile.DIRTYPE, ""),
        ("seg/a", FILE, ""),
        ("./seg//a", FILE, ""),
        ("seg/a", tarfile.DIRTYPE, ""),
        ("seg/a/b", FILE, ""),
        ("seg", FILE, ""),
        ("seg/\x01", FILE, ""),
        ("seg/b\n", FILE, ""),
        ("seg/" + "x" * 256, FILE, ""),
        ("seg/" + "x/" * 10 + "x", FILE, ""),
        (".", tarfile.DIRTYPE, ""),
    ],
    ids=lambda entry: f"{entry[0][:20]!r} {entry[1].decode()}",
)
def test_entries_that_do_not_belong_in_a_segment(tmp_path: Path, entry: tuple[str, bytes, str]) -> None:
    refused(write_gzip(tmp_path / "s.tar.gz", _with(entry)))


END = bytes(2 * _BLOCK)


def _base_256(number: int) -> bytes:
    return b"\x80" + number.to_bytes(11, "big")


def _pax(**records: str) -> bytes:
    lines = b""
    for key, value in records.items():
        line = f" {key}={value}\n".encode()
        length = len(line) + 1
        while len(str(length)) + len(line) != length:
            length += 1
        lines += str(length).encode() + line
    return header("x", b"%011o\0" % len(lines), b"x") + lines.ljust(-(-len(lines) // _BLOCK) * _BLOCK, b"\0")


SIZES = [
    header("seg/a", _base_256(2**36)),
    header("seg/a", _base_256(2**50)),
    header("seg/a", b"\x80" + b"\xff" * 11),
    header("seg/a", b"\xff" * 12),
    header("seg/a", b"77777777777\0"),
    header("seg/a", b"-0000000001\0"),
    header("seg/a", b"00000000008\0"),
    header("seg", _base_256(2**40), tarfile.DIRTYPE),
    header("seg/a", _base_256(2**40), tarfile.GNUTYPE_LONGNAME),
    header("seg/a", b"00000100000\0", tarfile.GNUTYPE_LONGNAME),
    header("seg/a", _base_256(2**40), tarfile.XHDTYPE),
    header("seg/a", b"00001000000\0", tarfile.XHDTYPE),
    header("seg/a", b"00000000010\0", tarfile.XGLTYPE),
    _pax(size=str(2**50)) + header("seg/a", b"00000000001\0"),
    _pax(size="1" * 30) + header("seg/a", b"00000000001\0"),
    _pax(size="-1") + header("seg/a", b"00000000001\0"),
    _pax(path="../x") + header("seg/a", b"00000000001\0"),
    _pax(**{"GNU.sparse.realsize": "9"}) + header("seg/a", b"00000000001\0"),
    header("x", b"00000000004\0", b"x") + b"abcd".ljust(_BLOCK, b"\0") + header("seg/a", b"00000000001\0"),
    header("x", b"00000000004\0", b"x") + b"0 =\n".ljust(_BLOCK, b"\0") + header("seg/a", b"00000000001\0"),
    _pax(path="seg/b") * 4 + header("seg/a", b"00000000001\0"),
]


@pytest.mark.parametrize("raw", SIZES, ids=range(len(SIZES)))
def test_sizes_and_headers_that_would_take_time_or_memory(tmp_path: Path, raw: bytes) -> None:
    tar = write_gzip(
        tmp_path / "s.tar.gz", header("seg", bytes(12), tarfile.DIRTYPE) + raw + b"x" * _BLOCK + END
    )
    tracemalloc.start()
    try:
        refused(tar)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_a_tar_that_unpacks_to_many_times_its_size(tmp_path: Path) -> None:
    path = tmp_path / "s.tar.gz"
    with path.open("wb") as file, gzip.GzipFile(fileobj=file, mode="wb", compresslevel=9) as stream:
        stream.write(header("seg", bytes(12), tarfile.DIRTYPE) + header("seg/a", _base_256(300 << 20)))
        for _ in range(300):
            stream.write(bytes(1 << 20))
    assert path.stat().st_size < 1 << 19
    tracemalloc.start()
    try:
        assert "unpacks to more" in refused(path)
        assert "unpacks to more" in refused(path, TarLimits(max_unpacked_bytes=299 << 20))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20


def test_more_entries_than_any_segment_has(tmp_path: Path) -> None:
    one = header("seg", bytes(12), tarfile.DIRTYPE)
    assert "entries" in refused(write_gzip(tmp_path / "s.tar.gz", one * 20_001 + END))
    long = header("x", b"00000001775\0", tarfile.GNUTYPE_LONGNAME)
    names = b"".join(
        long
        + f"seg/{number:04}{'x' * 240}{'/' + 'y' * 200}".encode().ljust(2 * _BLOCK, b"\0")
        + header("", bytes(12))
        for number in range(10_000)
    )
    assert "too long" in refused(write_gzip(tmp_path / "t.tar.gz", names + END))


def test_a_tar_over_the_size_limit_is_not_read(tmp_path: Path) -> None:
    size = AS_BUILT.stat().st_size
    limits = TarLimits(max_tar_bytes=size - 1)
    assert "more than" in refused(AS_BUILT, limits)
    assert read(AS_BUILT, replace(limits, max_tar_bytes=size))
    assert TarLimits().for_size(None) == TarLimits()
    assert TarLimits(max_tar_bytes=1 << 40).for_size(10).max_tar_bytes == 80 + (256 << 20)


def _flip(raw: bytes) -> bytes:
    damaged = bytearray(raw)
    damaged[len(raw) // 2] ^= 1
    return bytes(damaged)


_DAMAGED: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda _raw: b"",
    "no gzip": lambda _raw: b"no gzip at all",
    "no tar": lambda _raw: gzip.compress(b"no tar" * 200),
    "zeros": lambda _raw: gzip.compress(END),
    "half": lambda raw: raw[: len(raw) // 2],
    "one byte missing": lambda raw: raw[:-1],
    "no checksum": lambda raw: raw[:-8],
    "a bit flipped": _flip,
    "wrong checksum": lambda raw: raw[:-8] + bytes([raw[-8] ^ 1]) + raw[-7:],
    "wrong length": lambda raw: raw[:-4] + bytes([raw[-4] ^ 1]) + raw[-3:],
    "trailing garbage": lambda raw: raw + b"x",
    "trailing zero": lambda raw: raw + b"\0",
    "a second member": lambda raw: raw + gzip.compress(b""),
    "two members": lambda raw: (
        gzip.compress(gzip.decompress(raw)[:600]) + gzip.compress(gzip.decompress(raw)[600:])
    ),
    "something after the end": lambda raw: gzip.compress(gzip.decompress(raw) + b"x"),
    "no end": lambda raw: gzip.compress(gzip.decompress(raw).rstrip(b"\0")),
    "endless end": lambda raw: gzip.compress(gzip.decompress(raw) + bytes(2 << 20)),
    "wrong checksum of a header": lambda raw: gzip.compress(b"S" + gzip.decompress(raw)[1:]),
}


@pytest.mark.parametrize("how", _DAMAGED)
def test_damaged_tars(tmp_path: Path, how: str) -> None:
    path = tmp_path / "s.tar.gz"
    path.write_bytes(_DAMAGED[how](AS_BUILT.read_bytes()))
    refused(path)
    with pytest.raises(DataError):
        judge_copy(path, expected_of(AS_BUILT), LIMITS)


def test_a_gzip_of_many_empty_blocks_is_read_to_its_end(tmp_path: Path) -> None:
    """Most pieces of input produce no output."""
    raw = pack(files_of(AS_BUILT))
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    parts = []
    for at in range(0, len(raw), 1000):
        parts.append(packer.compress(raw[at : at + 1000]))
        parts += [packer.flush(zlib.Z_FULL_FLUSH) for _ in range(300)]
    path = tmp_path / "s.tar.gz"
    path.write_bytes(b"".join(parts) + packer.flush())
    assert read(path) == files_of(AS_BUILT)


def test_sizes_around_the_piece_size_of_the_reader(tmp_path: Path) -> None:
    random_bytes = random.Random(1).randbytes(3 << 20)
    for size in (1 << 20, (1 << 20) - _BLOCK, (1 << 20) - 2 * _BLOCK, (2 << 20) - 3 * _BLOCK, 1 << 18):
        files = {"a": bytes(size), "b": random_bytes[:size]}
        assert read(write_gzip(tmp_path / "s.tar.gz", pack(files))) == files


def test_errors_of_the_disk_are_not_reported_as_errors_of_the_tar(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none.tar.gz")


def test_a_pax_header_with_digits_of_another_script_is_refused(tmp_path: Path) -> None:
    for size in ("²", "٣", "9" * 5000):
        raw = _pax(size=size) + header("seg/a", b"00000000001\0") + b"x".ljust(_BLOCK, b"\0")
        tar = write_gzip(tmp_path / "s.tar.gz", header("seg", bytes(12), tarfile.DIRTYPE) + raw + END)
        with pytest.raises(DataError, match="its size is"):
            list(read_tar(tar, TarLimits()))
