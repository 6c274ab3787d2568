from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from controller_client.errors import DataError
from jvm_bridge.tar import create_metadata_tar, create_tar, unpack_tar


def segment(folder: Path) -> Path:
    made = folder / "seg_1"
    (made / "v3").mkdir(parents=True)
    (made / "v3" / "creation.meta").write_bytes(bytes(16))
    (made / "v3" / "metadata.properties").write_text("a = 1\n")
    (made / "v3" / "columns.psf").write_bytes(bytes(range(256)) * 100)
    return made


def entries(path: Path) -> list[tuple[str, bool]]:
    with tarfile.open(path, "r:gz") as tar:
        return [(member.name, member.isdir()) for member in tar]


def hostile(folder: Path, *members: tarfile.TarInfo) -> Path:
    path = folder / "hostile.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for member in members:
            tar.addfile(member, io.BytesIO(b"x" * member.size))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, *, size: int = 1, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    info.size = size if kind == tarfile.REGTYPE else 0
    return info


def test_round_trip(tmp_path: Path) -> None:
    made = segment(tmp_path)
    size = create_tar(made, tmp_path / "seg_1.tar.gz")
    assert size == (tmp_path / "seg_1.tar.gz").stat().st_size
    assert entries(tmp_path / "seg_1.tar.gz")[:2] == [("seg_1", True), ("seg_1/v3", True)]
    (tmp_path / "out").mkdir()
    unpacked = unpack_tar(tmp_path / "seg_1.tar.gz", tmp_path / "out")
    assert unpacked == tmp_path / "out" / "seg_1"
    assert (unpacked / "v3" / "columns.psf").read_bytes() == (made / "v3" / "columns.psf").read_bytes()
    assert not list(tmp_path.glob("*.part"))


def test_the_same_segment_gives_the_same_tar(tmp_path: Path) -> None:
    made = segment(tmp_path)
    for name in ("a.tar.gz", "b.tar.gz"):
        create_tar(made, tmp_path / name)
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()


def test_metadata_tar(tmp_path: Path) -> None:
    create_metadata_tar(segment(tmp_path), tmp_path / "m.tar.gz")
    assert entries(tmp_path / "m.tar.gz") == [
        ("seg_1", True),
        ("seg_1/creation.meta", False),
        ("seg_1/metadata.properties", False),
    ]
    (tmp_path / "seg_1" / "v3" / "creation.meta").unlink()
    with pytest.raises(DataError, match=r"lacks creation\.meta"):
        create_metadata_tar(tmp_path / "seg_1", tmp_path / "n.tar.gz")


def test_a_name_that_pinot_would_not_unpack(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\.tar\.gz"):
        create_tar(segment(tmp_path), tmp_path / "seg_1.tgz")


@pytest.mark.parametrize(
    "bad",
    [
        member("/etc/x"),
        member("../x"),
        member("seg/../../x"),
        member("seg\\..\\x"),
        member("seg/l", tarfile.SYMTYPE, link="/etc/passwd"),
        member("seg/l", tarfile.LNKTYPE, link="seg/x"),
        member("seg/d", tarfile.CHRTYPE),
        member("seg/f", tarfile.FIFOTYPE),
        member("other/x"),
        member("seg/a"),
    ],
)
def test_hostile_entries(tmp_path: Path, bad: tarfile.TarInfo) -> None:
    out = tmp_path / "in" / "out"
    out.mkdir(parents=True)
    path = hostile(tmp_path, member("seg", tarfile.DIRTYPE), member("seg/a"), bad)
    with pytest.raises(DataError, match="is refused"):
        unpack_tar(path, out)
    assert {str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*") if each.is_file()} <= {
        "hostile.tar.gz",
        "in/out/seg/a",
    }


def test_too_large(tmp_path: Path) -> None:
    path = hostile(tmp_path, member("seg/a", size=10_000))
    with pytest.raises(DataError, match="more than it may"):
        unpack_tar(path, tmp_path, max_size_bytes=9_999)


def test_broken_tars(tmp_path: Path) -> None:
    made = segment(tmp_path)
    create_tar(made, tmp_path / "whole.tar.gz")
    whole = (tmp_path / "whole.tar.gz").read_bytes()
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 0xFF
    contents = [
        b"",
        b"no gzip at all",
        whole[: len(whole) // 2],
        bytes(damaged),
        gzip.compress(b"no tar" * 200),
    ]
    for number, content in enumerate(contents):
        path, out = tmp_path / f"broken{number}.tar.gz", tmp_path / f"out{number}"
        path.write_bytes(content)
        out.mkdir()
        with pytest.raises(DataError):
            unpack_tar(path, out)
