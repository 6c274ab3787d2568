"""Tars on the server's disk: linked or copied completely, or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from pathlib import Path

import pytest

from controller_client.errors import DataError
from server_hooks.commit_upload.kept_tars import KeptTars


@pytest.fixture
def kept(tmp_path: Path) -> KeptTars:
    return KeptTars(tmp_path / "kept", "s3://b/c")


@pytest.fixture
def built(tmp_path: Path) -> Path:
    (tmp_path / "built.tar.gz").write_bytes(b"a tar")
    return tmp_path / "built.tar.gz"


@pytest.fixture
def other_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_source: Path, _target: Path) -> None:
        raise OSError(errno.EXDEV, "another file system")

    monkeypatch.setattr(os, "link", refuse)


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.usefixtures("kept")
def test_other_users_of_the_machine_do_not_read_them(tmp_path: Path) -> None:
    assert stat.S_IMODE((tmp_path / "kept").stat().st_mode) == 0o700


@pytest.mark.usefixtures("other_disk")
def test_a_tar_that_cannot_be_linked_is_copied_with_its_time(kept: KeptTars, built: Path) -> None:
    os.utime(built, ns=(1, 7))
    tar = kept.keep(built, "t", "t__0__0__x", "s3://b/c/t/1")
    assert (tar.file.read_bytes(), tar.modified_ns) == (b"a tar", 7)


@pytest.mark.usefixtures("other_disk")
def test_a_copy_that_fails_on_a_full_disk_leaves_nothing(
    kept: KeptTars, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill(_source: Path, target: Path) -> None:
        target.write_bytes(b"a t")
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(shutil, "copy2", fill)
    with pytest.raises(OSError, match="no space"):
        kept.keep(built, "t", "t__0__0__x", "s3://b/c/t/1")
    assert _files(tmp_path / "kept") == []


@pytest.mark.usefixtures("other_disk")
def test_a_copy_interrupted_by_a_kill_is_not_a_tar(
    kept: KeptTars, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def kill(_source: Path, target: Path) -> None:
        target.write_bytes(b"a t")
        monkeypatch.setattr(Path, "unlink", lambda *_args, **_more: None)
        raise Killed

    monkeypatch.setattr(shutil, "copy2", kill)
    with monkeypatch.context(), pytest.raises(Killed):
        kept.keep(built, "t", "t__0__0__x", "s3://b/c/t/1")
    monkeypatch.undo()
    assert len(_files(tmp_path / "kept")) == 1
    assert KeptTars(tmp_path / "kept", "s3://b/c").leftovers() == []
    assert _files(tmp_path / "kept") == []


def test_a_deleted_or_modified_tar_is_not_returned(kept: KeptTars, built: Path) -> None:
    tar = kept.keep(built, "t", "t__0__0__x", "s3://b/c/t/1")
    kept.check(tar)
    # A server that was killed rebuilds the segment into the existing file.
    built.write_bytes(b"b tar")
    os.utime(built, ns=(1, tar.modified_ns + 1))
    with pytest.raises(DataError, match="was modified"):
        kept.check(tar)
    tar.file.unlink()
    with pytest.raises(DataError, match="does not exist any more"):
        kept.check(tar)
