from __future__ import annotations

import errno
from pathlib import Path

import pytest

from controller_client.errors import ConfigError, DataError, SetupError
from controller_client.segment_tar import TarLimits, judge_copy, on_this_disk, repack, unpack_tar, write_tar
from tests.unit.controller_client.segment_tar.corpus import LIMITS, expected_of, files_of, pack, write_gzip

AS_BUILT = Path(__file__).parent / "pinot_0_11" / "as_built.tar.gz"


def everything(folder: Path) -> set[str]:
    return {str(each.relative_to(folder)) for each in folder.rglob("*")}


def test_the_folder_is_named_after_the_segment_not_the_tar(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    tar = write_gzip(tmp_path / "s.tar.gz", pack({"authorized_keys": b"mine"}, top=".ssh"))
    assert unpack_tar(tar, home, "s") == home / "s"
    assert everything(home) == {".ssh", "s", "s/authorized_keys"}


def test_existing_files_and_folders_are_never_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for name in ("empty", "full"):
        (out / name).mkdir(parents=True)
    (out / "full" / "x").write_bytes(b"x")
    (out / "file").write_bytes(b"x")
    before = everything(out)
    for name in ("empty", "full", "file"):
        with pytest.raises(ConfigError, match="already"):
            unpack_tar(AS_BUILT, out, name)
    with pytest.raises(DataError, match="file name"):
        unpack_tar(AS_BUILT, out, "../out2")
    assert everything(out) == before


def test_a_refused_tar_leaves_nothing_behind(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(AS_BUILT.read_bytes()[:-9])
    with pytest.raises(DataError):
        unpack_tar(cut, out, "s")
    with pytest.raises(DataError, match="unpacks to more"):
        unpack_tar(AS_BUILT, out, "s", TarLimits(max_unpacked_bytes=1000))
    assert everything(out) == set()


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES])
def test_errors_of_the_disk_are_reported_as_this_machines(tmp_path: Path, code: int) -> None:
    with pytest.raises(SetupError) as error, on_this_disk(tmp_path / "x"):
        raise OSError(code, "No space left on device" if code == errno.ENOSPC else "Permission denied")
    assert str(tmp_path / "x") in error.value.message
    assert ("No space left" in error.value.message) == (code == errno.ENOSPC)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(SetupError):
        unpack_tar(AS_BUILT, tmp_path / "none", "s")


def test_repacking_renames_the_top_folder_to_the_segment(tmp_path: Path) -> None:
    tar = write_gzip(tmp_path / "s.tar.gz", pack(files_of(AS_BUILT), top="other"))
    verdict = judge_copy(tar, expected_of(AS_BUILT), LIMITS)
    assert (verdict.content.plain_name, verdict.committed.is_all_of(verdict.content)) == ("other", True)
    repack(tar, verdict.content, verdict.committed, "seg", LIMITS)
    assert judge_copy(tar, expected_of(AS_BUILT), LIMITS).content.plain_name == "seg"
    assert files_of(tar) == files_of(AS_BUILT)


def test_written_tars_can_be_read_and_are_reproducible(tmp_path: Path) -> None:
    folder = unpack_tar(AS_BUILT, tmp_path, "seg")
    assert write_tar(tmp_path / "a.tar.gz", "seg", folder) == (tmp_path / "a.tar.gz").stat().st_size
    write_tar(tmp_path / "b.tar.gz", "seg", folder)
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()
    assert files_of(tmp_path / "a.tar.gz") == files_of(AS_BUILT)
    assert judge_copy(tmp_path / "a.tar.gz", expected_of(AS_BUILT), LIMITS).content.plain_name == "seg"
    assert not list(tmp_path.glob("*.part"))
