"""Uploads of commits: waits, uploads left to the backlog, and retries."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controller_client.clock import SystemClock
from server_hooks.commit_upload.backlog import Backlog, BacklogEntry, BacklogLimits
from server_hooks.commit_upload.kept_tars import KeptTars
from server_hooks.commit_upload.metrics import OutcomeCounts, UploadOutcome
from server_hooks.commit_upload.upload_state import UploadState
from server_hooks.commit_upload.uploads import CommitUploads
from tests.support.wait import wait_for
from tests.unit.controller_client.deepstore.samples import write_tar
from tests.unit.server_hooks.commit_upload.fake_store import LONG_S, FakeStore

NAME = "t__0__0__x"
HOME = f"s3://b/c/t/{NAME}"
FIRST = f"{HOME}.tmp.1"
SECOND = f"{HOME}.tmp.2"


class Server:
    """A server that uploads the tar of one segment; a hasty commit waits for the store only a moment."""

    def __init__(self, folder: Path) -> None:
        self.store = FakeStore()
        self.counts = OutcomeCounts()
        self.backlog = Backlog(SystemClock(), BacklogLimits(), lambda: 1 << 50)
        self.kept = KeptTars(folder / "kept", "s3://b/c/")
        self.tar = self.write_tar(folder, NAME)
        self.uploads = self.uploads_of(LONG_S)
        self.hasty = self.uploads_of(0.01)
        self.hasty._uploads = self.uploads._uploads  # both are commits of the same server

    def uploads_of(self, wait_s: float, **options: Any) -> CommitUploads:
        return CommitUploads(self.store, self.kept, self.backlog, self.counts, wait_s=wait_s, **options)

    @staticmethod
    def write_tar(folder: Path, name: str) -> Path:
        write_tar(folder / f"{name}.tar.gz", name=name)
        return folder / f"{name}.tar.gz"

    def commit(self, uri: str = FIRST) -> bool:
        """Return whether the tar is in the store when the commit continues."""
        return self.uploads.upload(self.tar, "t", NAME, uri)

    def hasty_commit(self, uri: str = FIRST) -> bool:
        return self.hasty.upload(self.tar, "t", NAME, uri)

    def kept_files(self) -> list[Path]:
        return [path for path in self.kept._folder.rglob("*") if path.is_file()]

    def entry(self, state: UploadState) -> BacklogEntry:
        """Wait until the segment's only entry, which a thread changes, is in a state; return it."""

        def found() -> BacklogEntry | None:
            (entry,) = (each for each in self.backlog._entries.values() if each.tar.segment == NAME)
            return entry if entry.state is state else None

        entry = wait_for(found, f"the entry to be {state}", LONG_S, interval_s=0.001)
        assert entry is not None
        return entry


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    server.store.open.set()


def test_an_upload_within_the_wait(server: Server) -> None:
    assert server.commit()
    assert server.store.taken == {FIRST: server.tar.read_bytes()}
    assert server.counts.get(UploadOutcome.OK) == 1
    assert (server.kept_files(), server.backlog.segments) == ([], 0)


def test_a_retried_commit_of_the_same_file_uploads_once_and_another_file_again(server: Server) -> None:
    store, tar = server.store, server.tar
    assert server.commit()
    assert server.commit(SECOND)
    assert store.calls == ["put", "copy"]
    assert store.taken[SECOND] == tar.read_bytes()
    assert server.kept_files() == []
    tar.write_bytes(tar.read_bytes() + b"\0")
    assert server.commit()
    assert store.calls == ["put", "copy", "put"]
    assert store.taken[FIRST] == tar.read_bytes()
    # The controller has moved the object of the first attempt.
    assert store.move(FIRST, HOME)
    assert server.commit(SECOND)
    assert store.calls[3:] == ["move", "copy", "put"]
    assert store.taken[SECOND] == tar.read_bytes()
    assert server.kept_files() == []


def test_after_a_failed_upload_the_commit_continues_and_the_tar_is_in_the_backlog(server: Server) -> None:
    content = server.tar.read_bytes()
    server.store.error = OSError("access denied")
    assert not server.commit()
    assert server.counts.get(UploadOutcome.FAILED) == 1
    entry = server.entry(UploadState.WAITING)
    assert (entry.tar.raw_table, entry.tar.segment, entry.uri) == ("t", NAME, FIRST)
    # The commit is retried with the same file: it waits only once.
    assert not server.commit(SECOND)
    assert server.kept_files() == [entry.tar.file]
    server.store.error = None
    assert server.commit(SECOND)
    assert list(server.store.taken) == [SECOND]
    server.tar.unlink()
    assert entry.tar.file.read_bytes() == content


def test_a_late_upload_outlives_the_file(server: Server) -> None:
    server.store.open.clear()
    content = server.tar.read_bytes()
    assert not server.hasty_commit()
    assert server.entry(UploadState.UPLOADING).uri == FIRST
    # Retried while its upload hangs, it waits only once.
    assert not server.hasty_commit(SECOND)
    assert len(server.kept_files()) == 1
    server.tar.unlink()
    server.store.open.set()
    entry = server.entry(UploadState.UPLOADED)
    assert (entry.uri, entry.tar.file.read_bytes()) == (FIRST, content)
    assert server.store.taken == {FIRST: content}
    outcomes = (UploadOutcome.TIMED_OUT, UploadOutcome.LATE, UploadOutcome.FAILED)
    assert [server.counts.get(each) for each in outcomes] == [2, 1, 0]
    assert len(server.kept_files()) == 1


def test_an_upload_that_fails_after_the_commit_waits_for_the_next(server: Server) -> None:
    server.store.open.clear()
    assert not server.hasty_commit()
    server.store.error = OSError("broken off")
    server.store.open.set()
    assert server.entry(UploadState.WAITING).attempts == 1
    assert server.counts.get(UploadOutcome.FAILED) == 1


def test_queued_uploads_are_in_the_backlog_where_they_can_be_discarded(
    server: Server, tmp_path: Path
) -> None:
    uploads = server.uploads_of(0.01, threads=2)
    server.store.open.clear()
    for number in range(5):
        name = f"t__1__{number}__x"
        tar = server.write_tar(tmp_path, name)
        assert not uploads.upload(tar, "t", name, f"s3://b/c/t/{name}.tmp")
    states = sorted(entry.state for entry in server.backlog._entries.values())
    assert states == ["uploading"] * 2 + ["waiting"] * 3
    uploads.close()


def test_a_retry_of_a_tar_in_the_backlog_is_not_uploaded_twice(server: Server, tmp_path: Path) -> None:
    uploads = server.uploads_of(0.01, threads=1)
    server.store.open.clear()
    other = server.write_tar(tmp_path, "t__1__0__x")
    assert not uploads.upload(other, "t", "t__1__0__x", "s3://b/c/t/other")
    # No thread is free: it waits, and so do its retries.
    for uri in (FIRST, SECOND):
        assert not uploads.upload(server.tar, "t", NAME, uri)
    server.store.open.set()
    uploads._pool.shutdown(wait=True)
    assert (server.store.calls, list(server.store.taken)) == (["put"], ["s3://b/c/t/other"])
    assert server.entry(UploadState.WAITING).uri == FIRST


def test_a_retry_whose_copy_hangs_waits_no_longer_and_leaves_the_upload_to_the_backlog(
    server: Server,
) -> None:
    assert server.commit()
    server.store.open.clear()
    assert not server.hasty_commit(SECOND)
    entry = server.entry(UploadState.UPLOADED)
    assert entry.uri == FIRST
    assert entry.tar.file.read_bytes() == server.tar.read_bytes()


def test_a_retry_at_the_end_of_its_upload_keeps_the_backlogs_tar(server: Server) -> None:
    server.store.open.clear()
    assert not server.hasty_commit()
    threading.Timer(0.2, server.store.open.set).start()
    assert server.commit(SECOND)
    assert sorted(server.store.taken) == [FIRST, SECOND]
    assert server.entry(UploadState.UPLOADED).tar.file.exists()


def test_a_commit_during_a_stop_leaves_its_tar_for_the_next_start(server: Server, tmp_path: Path) -> None:
    server.uploads.close()
    assert not server.commit()
    assert server.entry(UploadState.WAITING).uri == FIRST
    assert server.counts.get(UploadOutcome.FAILED) == 0
    (left,) = KeptTars(tmp_path / "kept", "s3://b/c").leftovers()
    assert left.segment == NAME
