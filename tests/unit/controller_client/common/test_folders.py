"""Folders that a process locks, and that are swept after it was killed."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from controller_client.common.folders import FolderLock, scratch_folder
from tests.unit.fake_clock import FakeClock

HOLDS = """
import sys
from pathlib import Path
from controller_client.common.folders import scratch_folder

with scratch_folder("x-", Path(sys.argv[1])) as folder:
    (folder / "large").write_text("1")
    print(folder, flush=True)
    sys.stdin.read()
"""


def test_a_folder_is_locked_once_and_names_its_holder(tmp_path: Path) -> None:
    first, second = FolderLock(tmp_path / "new"), FolderLock(tmp_path / "new")
    assert first.holder() is None
    assert first.try_acquire()
    assert not second.try_acquire()
    assert second.holder() == os.getpid()
    first.release()
    first.release()
    assert second.try_acquire()
    second.release()


def test_a_lock_that_the_file_system_refuses_leaves_no_file_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_file: object, _operation: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    handles = len(list(Path("/proc/self/fd").iterdir()))
    locks = [FolderLock(tmp_path) for _ in range(3)]
    errors = []
    for lock in locks:
        with pytest.raises(OSError, match="no locks") as caught:
            lock.try_acquire()
        errors.append(caught)  # what its traceback refers to would otherwise be closed by its collection
    assert len(list(Path("/proc/self/fd").iterdir())) == handles


def fail_in_a_folder(parent: Path) -> None:
    with scratch_folder("x-", parent) as folder:
        assert folder.parent == parent
        (folder / "file").touch()
        raise ZeroDivisionError


def test_a_scratch_folder_is_deleted_with_its_block(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        fail_in_a_folder(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_leftovers_of_a_killed_process_are_swept_by_the_next_with_the_prefix(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDS, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        left = Path(holder.stdout.readline().strip())
        with scratch_folder("x-", tmp_path) as own:
            assert (left / "large").exists(), "its process lives"
            holder.send_signal(signal.SIGKILL)
            holder.wait()
            with scratch_folder("y-", tmp_path):
                assert left.exists(), "another prefix"
            with scratch_folder("x-", tmp_path) as other:
                assert sorted(tmp_path.iterdir()) == sorted([own, other])
    assert list(tmp_path.iterdir()) == []


def test_only_leftovers_are_swept(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / ".lock").touch()
    (tmp_path / "x-link").symlink_to(elsewhere)
    (tmp_path / "x-file").touch()
    (tmp_path / "x-new").mkdir()
    old = tmp_path / "x-old"
    old.mkdir()
    full = tmp_path / "x-full"
    full.mkdir()
    (full / "somebody's").touch()
    for folder in (old, full):
        os.utime(folder, (0, 0))
    with scratch_folder("x-", tmp_path) as own:
        left = {path.name for path in tmp_path.iterdir()} - {own.name}
    assert left == {"elsewhere", "x-link", "x-file", "x-new", "x-full"}
    assert (elsewhere / ".lock").exists()


def test_a_folder_without_a_lock_counts_as_a_leftover_after_a_minute(tmp_path: Path) -> None:
    folder = tmp_path / "x-new"
    folder.mkdir()
    clock = FakeClock(folder.stat().st_mtime + 59)
    with scratch_folder("x-", tmp_path, clock):
        assert folder.exists()
    clock.advance(2)
    with scratch_folder("x-", tmp_path, clock):
        assert not folder.exists()
