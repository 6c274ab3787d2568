"""A full disk is reported as such, whatever error it caused."""

from __future__ import annotations

import errno
import os
import resource
from pathlib import Path

import pytest

from controller_client.common.disk import disk_full, naming_full_disks
from controller_client.errors import DataError, DiskFullError, SourceError
from controller_client.filestore.local import LocalStore


class JavaError(Exception):
    """Simulates a Java exception: its text is the result of ``toString``."""


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    "error",
    [
        FULL,
        OSError(errno.EDQUOT, "quota"),
        OSError(errno.EFBIG, "limit"),
        JavaError("java.io.IOException: No space left on device"),
        caused(
            DataError("row 7"), JavaError("java.lang.RuntimeException: java.io.IOException: File too large")
        ),
        caused(SourceError("x cannot be written"), FULL),
    ],
)
def test_a_full_disk_is_recognized_by_its_errors(error: Exception, tmp_path: Path) -> None:
    found = disk_full(error, tmp_path / "not" / "there")
    assert found is not None
    text = str(found)
    assert f"no space is left on the disk of {tmp_path}/not/there; the disk has " in text
    assert "of them free now" in text
    assert "free space there" in text


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EACCES, "denied"),
        DataError("row 7 is wrong: 'No space left on device'"),
        JavaError("java.io.EOFException"),
    ],
)
def test_other_errors_are_left_as_they_are(error: Exception, tmp_path: Path) -> None:
    assert disk_full(error, tmp_path) is None
    with pytest.raises(type(error)) as caught, naming_full_disks(tmp_path):
        raise error
    assert caught.value is error


def test_a_mapped_file_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    fault = "java.lang.InternalError: a fault occurred in a recent unsafe memory access operation"
    error = caused(DataError("No segment could be built from big.csv"), JavaError(fault))
    assert "the disk is full or has failed" in str(disk_full(error, tmp_path))


def test_the_first_reported_folder_stays() -> None:
    inner = DiskFullError("no space is left on the disk of /staging")
    with pytest.raises(DiskFullError) as caught, naming_full_disks(Path("/work")):
        raise inner
    assert caught.value is inner


def test_a_limit_on_file_sizes_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _what: (4096, 4096))
    assert "at most 4,096 bytes (ulimit -f)" in str(disk_full(OSError(errno.EFBIG, "limit"), tmp_path))


def test_a_full_staging_folder_is_reported(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "staging" / "segment.tar.gz"
    source.write_bytes(b"x" * 100)
    target.parent.mkdir()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(DiskFullError, match=f"no space is left on the disk of {target.parent}"):
            LocalStore().upload(source, f"file://{target}")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(target.parent.iterdir()) == []


def test_a_full_folder_of_a_download_is_reported(tmp_path: Path) -> None:
    """Writes to /dev/full find no space."""
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"x" * 100)
    target.symlink_to("/dev/full")
    with pytest.raises(DiskFullError, match=f"no space is left on the disk of {tmp_path}"):
        LocalStore().download(f"file://{source}", target)
