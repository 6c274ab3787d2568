from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from controller_client.errors import DataError
from controller_client.segment_tar import unpack_tar
from jvm_bridge.tar import create_metadata_tar, create_tar


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


def test_round_trip(tmp_path: Path) -> None:
    made = segment(tmp_path)
    size = create_tar(made, tmp_path / "seg_1.tar.gz")
    assert size == (tmp_path / "seg_1.tar.gz").stat().st_size
    assert entries(tmp_path / "seg_1.tar.gz")[:2] == [("seg_1", True), ("seg_1/v3", True)]
    (tmp_path / "out").mkdir()
    unpacked = unpack_tar(tmp_path / "seg_1.tar.gz", tmp_path / "out", "seg_1")
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
