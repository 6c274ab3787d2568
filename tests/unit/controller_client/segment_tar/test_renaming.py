"""A segment with another name has the same rows, and a checksum that proves it."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller_client.errors import DataError
from controller_client.segment_tar import ExpectedSegment, Proof, describe_tar, judge_copy
from controller_client.segment_tar.renaming import rename_segment
from tests.unit.controller_client.segment_tar.corpus import LIMITS, SEGMENTS, files_of, pack, write_gzip

AS_BUILT = Path(__file__).parent / "pinot_0_11" / "as_built.tar.gz"
NEW = "täble_20261129T080000000-abcdef_000001"


@pytest.mark.parametrize("tar", SEGMENTS, ids=lambda tar: f"{tar.parent.name}-{tar.name}")
def test_only_the_name_and_the_checksum_differ(tar: Path, tmp_path: Path) -> None:
    segment = rename_segment(tar, NEW, tmp_path, LIMITS)
    described, original = describe_tar(segment.tar_path), describe_tar(tar)
    assert (described.name, described.columns) == (NEW, original.columns)
    assert described.rows == original.rows == segment.rows
    proof = judge_copy(segment.tar_path, ExpectedSegment(NEW, segment.crc), LIMITS)
    assert (proof.proof, proof.content.plain_name) == (Proof.CONTENT, NEW)
    before, after = files_of(tar), files_of(segment.tar_path)
    assert before.keys() == after.keys()
    changed = {path.rpartition("/")[2] for path, data in before.items() if after[path] != data}
    assert changed == {"metadata.properties", "creation.meta"}
    (label,) = (path for path in before if path.endswith("creation.meta"))
    assert after[label][8:] == before[label][8:]
    assert segment.tar_path.stat().st_size == segment.tar_size_bytes
    metadata = files_of(segment.metadata_tar_path)
    assert metadata == {path.rpartition("/")[2]: after[path] for path in after if _is_metadata(path)}


def _is_metadata(path: str) -> bool:
    return path.endswith(("metadata.properties", "creation.meta"))


def test_two_renames_are_one(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b", "c")]
    for folder in folders:
        folder.mkdir()
    first = rename_segment(AS_BUILT, "other", folders[0], LIMITS)
    again = rename_segment(first.tar_path, NEW, folders[1], LIMITS)
    direct = rename_segment(AS_BUILT, NEW, folders[2], LIMITS)
    assert again.crc == direct.crc
    assert again.tar_path.read_bytes() == direct.tar_path.read_bytes()


@pytest.mark.parametrize("lines", [b"", b"segment.name = a\nsegment.name = b\n"])
def test_a_segment_without_one_name_is_refused(lines: bytes, tmp_path: Path) -> None:
    files = files_of(AS_BUILT)
    (path,) = (path for path in files if path.endswith("metadata.properties"))
    kept = [line for line in files[path].splitlines(True) if not line.startswith(b"segment.name")]
    tar = write_gzip(tmp_path / "s.tar.gz", pack({**files, path: lines + b"".join(kept)}, top="seg"))
    with pytest.raises(DataError, match="names the segment"):
        rename_segment(tar, NEW, tmp_path, LIMITS)


def test_a_name_that_cannot_be_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="file name"):
        rename_segment(AS_BUILT, "../x", tmp_path, LIMITS)
    assert list(tmp_path.iterdir()) == []
