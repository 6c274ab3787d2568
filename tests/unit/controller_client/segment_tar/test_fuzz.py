"""Randomly changed tars are refused or right, never wrong, and take little memory and CPU time."""

from __future__ import annotations

import io
import random
import resource
import tarfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from controller_client.errors import DataError
from controller_client.segment_tar import ExpectedSegment, Proof, TarLimits, judge_copy, repack
from controller_client.segment_tar.layout import parse_index_map
from tests.unit.controller_client.segment_tar.corpus import (
    LIMITS,
    SEGMENTS,
    expected_of,
    files_of,
    gzipped,
    pack,
    with_checksum,
)

Files = Mapping[str, bytes]
_BLOCK = 512
_TIGHT = TarLimits(max_tar_bytes=4 << 20, max_unpacked_bytes=16 << 20)


def spliced(rng: random.Random, data: bytes) -> bytes:
    """Flip bits, or overwrite, insert, remove, repeat or cut off bytes."""
    at = rng.randrange(len(data) + 1)
    end = min(at + rng.choice((0, 1, 2, 8, 100, 1000, len(data))), len(data))
    if rng.randrange(2) and data:
        damaged = bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 5))):
            damaged[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        return bytes(damaged)
    return (
        data[:at]
        + rng.choice((b"", rng.randbytes(end - at), rng.randbytes(7), data[at:end] * 2))
        + data[end:]
    )


def change_gzip(rng: random.Random, files: Files) -> bytes:
    return spliced(rng, gzipped(pack(files)))


def change_tar(rng: random.Random, files: Files) -> bytes:
    return gzipped(spliced(rng, pack(files)))


def change_file(rng: random.Random, files: Files) -> bytes:
    path = rng.choice(sorted(files))
    return gzipped(pack({**files, path: spliced(rng, files[path])}))


def change_header(rng: random.Random, files: Files) -> bytes:
    """Change a field of a header, and usually correct its checksum."""
    raw = bytearray(pack(files))
    with tarfile.open(fileobj=io.BytesIO(raw)) as tar:
        start = rng.choice([member.offset for member in tar])
    block = raw[start : start + _BLOCK]
    match rng.randrange(5):
        case 0:
            size = rng.choice((0, 1, 511, 512, 2**20, 2**33, 2**36, 2**50, 2**62, rng.randrange(10_000)))
            block[124:136] = b"%011o\0" % size if size < 8**11 else b"\x80" + size.to_bytes(11, "big")
        case 1:
            block[156:157] = rng.choice(
                (b"0", b"\0", b"1", b"2", b"3", b"5", b"6", b"7", b"L", b"K", b"S", b"x", b"g")
            )
        case 2:
            names = (
                b"seg/../x",
                b"/x",
                b"seg/v3/x",
                b"other/x",
                b"seg/v3/index_map",
                b"seg",
                rng.randbytes(9),
            )
            block[:100] = rng.choice(names).ljust(100, b"\0")
        case 3:
            block[345:500] = rng.choice((b"seg", b"..", b"/", b"x" * 155)).ljust(155, b"\0")
        case _:
            block[rng.randrange(_BLOCK)] = rng.randrange(256)
    raw[start : start + _BLOCK] = with_checksum(block) if rng.randrange(4) else block
    return gzipped(bytes(raw))


def change_structure(rng: random.Random, files: Files) -> bytes:
    """Remove, rename, add, exchange or reorder files, or move bytes from one to the next."""
    changed = dict(files)
    first, second = rng.sample(sorted(files), 2)
    # The crc does not cover names, and only version 3 records the sizes of its files.
    match rng.randrange(6 if "v3/columns.psf" in files else 4):
        case 0:
            del changed[first]
        case 1:
            changed[rng.choice((f"{first}x", f"x{first}", f"v3/{first}", first.upper()))] = changed.pop(first)
        case 2:
            changed[rng.choice(("new", "v3/zz", "a/b/c", "v3/x.crc", "x.mapping"))] = b"x" * 9
        case 3:
            shuffled = dict(rng.sample(list(files.items()), len(files)))
            kind = rng.choice((tarfile.GNU_FORMAT, tarfile.PAX_FORMAT))
            return gzipped(pack(shuffled, tar_format=kind, top=rng.choice(("other", "seg", ".ssh", "a b"))))
        case 4:
            changed[first], changed[second] = files[second], files[first]
        case _:
            kept = rng.randrange(len(files[first]) + 1)
            changed[first], changed[second] = files[first][:kept], files[first][kept:] + files[second]
    return gzipped(pack(changed))


CHANGES: tuple[Callable[[random.Random, Files], bytes], ...] = (
    *(change_gzip, change_tar, change_file, change_header, change_structure),
)


def accepted(
    tar: Path, packed: bytes, expected: ExpectedSegment, limits: TarLimits
) -> tuple[Proof, dict[str, bytes]] | None:
    """Return what proves a copy, and its files without what a server has added; None if it is refused."""
    tar.write_bytes(packed)
    try:
        verdict = judge_copy(tar, expected, limits)
        if verdict.proof is None:
            return None
        repack(tar, verdict.content, verdict.committed, "seg", limits)
    except DataError:
        return None
    return verdict.proof, files_of(tar)


def rows_of(files: Files) -> Files:
    """Return what the data crc covers."""
    found = {
        entry.name: files["v3/columns.psf"][entry.start + 8 : entry.start + entry.size_bytes]
        for entry in parse_index_map(files["v3/index_map"])
    }
    return {name: data for name, data in found.items() if name.endswith((".forward_index", ".dictionary"))}


def proven_of(files: Files) -> Files:
    """Return a segment's files, but of creation.meta only the crc."""
    return {path: data[:8] if path.endswith("creation.meta") else data for path, data in files.items()}


def used() -> tuple[float, int]:
    """Return the CPU time of this process in seconds, and its peak memory in KiB."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def test_changed_tars_are_refused_or_right(tmp_path: Path, full: bool) -> None:
    count, tar = 5000 if full else 150, tmp_path / "s.tar.gz"
    originals = {
        path: accepted(tar, path.read_bytes(), expected_of(path), LIMITS)
        for path, proof in SEGMENTS.items()
        if proof is not None
    }
    outcomes: Counter[str] = Counter()
    began = used()
    for number in range(count):
        rng = random.Random(20261122 + number)
        (path, original), change = rng.choice([*originals.items()]), rng.choice(CHANGES)
        assert original is not None
        found = accepted(tar, change(rng, files_of(path)), expected_of(path), _TIGHT)
        if found is None:
            outcomes["refused"] += 1
            continue
        proof, files = found
        outcomes[proof.name] += 1
        of = rows_of if proof is Proof.DATA else proven_of
        wanted = of(original[1])
        assert {name: of(files).get(name) for name in wanted} == wanted, (number, path, change)
        assert proof is Proof.DATA or files.keys() == original[1].keys(), (number, path, change)
    cpu_s, peak_kib = (after - before for after, before in zip(used(), began, strict=True))
    assert cpu_s < 60 + count / 2
    assert peak_kib < 256 << 10
    # Every outcome occurs: some changes are harmless, and some do not affect the rows.
    assert outcomes["refused"] > count / 2
    assert outcomes["CONTENT"] > count / 10
    assert outcomes["DATA"] > 0
