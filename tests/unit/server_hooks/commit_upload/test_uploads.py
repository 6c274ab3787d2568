"""Uploads of commits: waits, uploads left to the backlog, and retries."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controller_client.clock import SystemClock
from server_hooks.commit_upload.backlog import Backlog, BacklogEntry, BacklogLimits
from server_hooks.commit_upload.kept_tars import KeptTars
from server_hooks.commit_upload.outcomes import Outcome, OutcomeCounts
from server_hooks.commit_upload.settings import CommitUploadSettings
from server_hooks.commit_upload.upload_state import UploadState
from server_hooks.commit_upload.uploads import CommitUploads
from tests.unit.controller_client.deepstore.samples import write_tar
from tests.unit.server_hooks.commit_upload.fake_store import LONG_S, FakeStore


@pytest.fixture
def store() -> Iterator[FakeStore]:
    store = FakeStore()
    yield store
    store.open.set()


@pytest.fixture
def counts() -> OutcomeCounts:
    return OutcomeCounts()


@pytest.fixture
def backlog() -> Backlog:
    return Backlog(SystemClock(), BacklogLimits(), lambda: 1 << 50)


@pytest.fixture
def make_uploads(
    store: FakeStore, backlog: Backlog, counts: OutcomeCounts, tmp_path: Path
) -> Callable[..., CommitUploads]:
    def make(wait_s: float = LONG_S) -> CommitUploads:
        kept = KeptTars(tmp_path / "kept", "s3://b/c/")
        return CommitUploads(store, kept, backlog, counts, wait_s=wait_s)

    return make


@pytest.fixture
def tar(tmp_path: Path) -> Path:
    path = tmp_path / "t__0__0__x.tar.gz"
    write_tar(path, name="t__0__0__x")
    return path


NAME = "t__0__0__x"
HOME = f"s3://b/c/t/{NAME}"
FIRST = f"{HOME}.tmp.1"
SECOND = f"{HOME}.tmp.2"


def _kept(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "kept").rglob("*") if path.is_file()]


def _entry(backlog: Backlog, state: UploadState, segment: str = NAME) -> BacklogEntry:
    """Wait until the segment's only entry, which a thread changes, is in a state; return it."""
    end_s = time.monotonic() + LONG_S
    while time.monotonic() < end_s:
        (entry,) = (each for each in backlog._entries.values() if each.tar.segment == segment)
        if entry.state is state:
            return entry
        time.sleep(0.001)
    raise AssertionError(f"it is not {state}")


def test_an_upload_within_the_wait(
    make_uploads: Callable[..., CommitUploads],
    store: FakeStore,
    backlog: Backlog,
    counts: OutcomeCounts,
    tar: Path,
    tmp_path: Path,
) -> None:
    assert make_uploads().upload(tar, "t", NAME, FIRST)
    assert store.taken == {FIRST: tar.read_bytes()}
    assert counts.get(Outcome.OK) == 1
    assert (_kept(tmp_path), backlog.segments) == ([], 0)


def test_a_retried_commit_of_the_same_file_uploads_once_and_another_file_again(
    make_uploads: Callable[..., CommitUploads], store: FakeStore, tar: Path, tmp_path: Path
) -> None:
    uploads = make_uploads()
    assert uploads.upload(tar, "t", NAME, FIRST)
    assert uploads.upload(tar, "t", NAME, SECOND)
    assert store.calls == ["put", "copy"]
    assert store.taken[SECOND] == tar.read_bytes()
    assert _kept(tmp_path) == []
    tar.write_bytes(tar.read_bytes() + b"\0")
    assert uploads.upload(tar, "t", NAME, FIRST)
    assert store.calls == ["put", "copy", "put"]
    assert store.taken[FIRST] == tar.read_bytes()


def test_a_retried_commit_whose_object_the_controller_has_moved_uploads_again(
    make_uploads: Callable[..., CommitUploads], store: FakeStore, tar: Path, tmp_path: Path
) -> None:
    uploads = make_uploads()
    assert uploads.upload(tar, "t", NAME, FIRST)
    assert store.move(FIRST, HOME)
    assert uploads.upload(tar, "t", NAME, SECOND)
    assert store.calls == ["put", "move", "copy", "put"]
    assert store.taken[SECOND] == tar.read_bytes()
    assert _kept(tmp_path) == []


def test_after_a_failed_upload_the_commit_continues_and_the_tar_is_in_the_backlog(
    make_uploads: Callable[..., CommitUploads],
    store: FakeStore,
    backlog: Backlog,
    counts: OutcomeCounts,
    tar: Path,
    tmp_path: Path,
) -> None:
    uploads = make_uploads()
    content = tar.read_bytes()
    store.error = OSError("access denied")
    assert not uploads.upload(tar, "t", NAME, FIRST)
    assert counts.get(Outcome.FAILED) == 1
    entry = _entry(backlog, UploadState.WAITING)
    assert (entry.tar.raw_table, entry.tar.segment, entry.uri) == ("t", NAME, FIRST)
    # The commit is retried with the same file: it waits only once.
    assert not uploads.upload(tar, "t", NAME, SECOND)
    assert _kept(tmp_path) == [entry.tar.file]
    store.error = None
    assert uploads.upload(tar, "t", NAME, SECOND)
    assert list(store.taken) == [SECOND]
    tar.unlink()
    assert entry.tar.file.read_bytes() == content


def test_a_late_upload_outlives_the_file(
    make_uploads: Callable[..., CommitUploads],
    store: FakeStore,
    backlog: Backlog,
    counts: OutcomeCounts,
    tar: Path,
) -> None:
    uploads = make_uploads(wait_s=0.01)
    store.open.clear()
    content = tar.read_bytes()
    assert not uploads.upload(tar, "t", NAME, FIRST)
    assert _entry(backlog, UploadState.UPLOADING).uri == FIRST
    tar.unlink()
    store.open.set()
    entry = _entry(backlog, UploadState.UPLOADED)
    assert store.taken == {FIRST: content}
    assert (counts.get(Outcome.TIMED_OUT), counts.get(Outcome.LATE)) == (1, 1)
    assert entry.tar.file.read_bytes() == content


def test_an_upload_that_fails_after_the_commit_waits_for_the_next(
    make_uploads: Callable[..., CommitUploads],
    store: FakeStore,
    backlog: Backlog,
    counts: OutcomeCounts,
    tar: Path,
) -> None:
    uploads = make_uploads(wait_s=0.01)
    store.open.clear()
    assert not uploads.upload(tar, "t", NAME, FIRST)
    store.error = OSError("broken off")
    store.open.set()
    assert _entry(backlog, UploadState.WAITING).attempts == 1
    assert counts.get(Outcome.FAILED) == 1


def test_a_commit_retried_while_its_upload_hangs_waits_only_once(
    make_uploads: Callable[..., CommitUploads],
    store: FakeStore,
    backlog: Backlog,
    counts: OutcomeCounts,
    tar: Path,
    tmp_path: Path,
) -> None:
    uploads = make_uploads(wait_s=0.01)
    store.open.clear()
    assert not uploads.upload(tar, "t", NAME, FIRST)
    assert not uploads.upload(tar, "t", NAME, SECOND)
    assert len(_kept(tmp_path)) == 1
    store.open.set()
    assert _entry(backlog, UploadState.UPLOADED).uri == FIRST
    assert (counts.get(Outcome.LATE), counts.get(Outcome.FAILED)) == (1, 0)
    assert len(_kept(tmp_path)) == 1


def test_queued_uploads_are_in_the_backlog_where_they_can_be_discarded(
    store: FakeStore, backlog: Backlog, counts: OutcomeCounts, tmp_path: Path
) -> None:
    kept = KeptTars(tmp_path / "kept", "s3://b/c")
    uploads = CommitUploads(store, kept, backlog, counts, wait_s=0.01, threads=2)
    store.open.clear()
    for number in range(5):
        name = f"t__0__{number}__x"
        write_tar(tmp_path / name, name=name)
        assert not uploads.upload(tmp_path / name, "t", name, f"s3://b/c/t/{name}.tmp")
    states = sorted(entry.state for entry in backlog._entries.values())
    assert states == ["uploading"] * 2 + ["waiting"] * 3
    uploads.close()
    store.open.set()


def test_a_retry_of_a_tar_in_the_backlog_is_not_uploaded_twice(
    store: FakeStore, backlog: Backlog, counts: OutcomeCounts, tar: Path, tmp_path: Path
) -> None:
    kept = KeptTars(tmp_path / "kept", "s3://b/c")
    uploads = CommitUploads(store, kept, backlog, counts, wait_s=0.01, threads=1)
    store.open.clear()
    write_tar(tmp_path / "other", name="t__1__0__x")
    assert not uploads.upload(tmp_path / "other", "t", "t__1__0__x", "s3://b/c/t/other")
    # No thread is free: it waits, and so do its retries.
    assert not uploads.upload(tar, "t", NAME, FIRST)
    assert not uploads.upload(tar, "t", NAME, SECOND)
    store.open.set()
    uploads._pool.shutdown(wait=True)
    assert (store.calls, list(store.taken)) == (["put"], ["s3://b/c/t/other"])
    assert _entry(backlog, UploadState.WAITING, NAME).uri == FIRST


def test_a_retry_whose_copy_hangs_waits_no_longer_and_leaves_the_upload_to_the_backlog(
    make_uploads: Callable[..., CommitUploads], store: FakeStore, backlog: Backlog, tar: Path
) -> None:
    uploads = make_uploads(wait_s=1.0)
    assert uploads.upload(tar, "t", NAME, FIRST)
    store.open.clear()
    assert not uploads.upload(tar, "t", NAME, SECOND)
    entry = _entry(backlog, UploadState.UPLOADED)
    assert entry.uri == FIRST
    assert entry.tar.file.read_bytes() == tar.read_bytes()
    store.open.set()


def test_by_default_a_commit_waits_about_five_seconds_for_the_store(
    make_uploads: Callable[..., CommitUploads], store: FakeStore, tar: Path
) -> None:
    settings = CommitUploadSettings.of(
        {"pinot.server.instance.segment.store.uri": "s3://b/c", "pinot.server.instance.dataDir": "/d"}
    )
    assert settings is not None
    uploads = make_uploads(wait_s=settings.wait_s)
    store.open.clear()
    started = time.monotonic()
    assert not uploads.upload(tar, "t", NAME, FIRST)
    waited_s = time.monotonic() - started
    store.open.set()
    assert 5.0 <= waited_s < 30.0


def test_a_retry_at_the_end_of_its_upload_keeps_the_backlogs_tar(
    make_uploads: Callable[..., CommitUploads], store: FakeStore, backlog: Backlog, tar: Path
) -> None:
    hasty, patient = make_uploads(wait_s=0.01), make_uploads()
    store.open.clear()
    assert not hasty.upload(tar, "t", NAME, FIRST)
    patient._uploads = hasty._uploads  # the same server, whose second commit waits longer
    threading.Timer(0.2, store.open.set).start()
    assert patient.upload(tar, "t", NAME, SECOND)
    assert sorted(store.taken) == [FIRST, SECOND]
    assert _entry(backlog, UploadState.UPLOADED).tar.file.exists()


def test_a_commit_during_a_stop_leaves_its_tar_for_the_next_start(
    make_uploads: Callable[..., CommitUploads],
    backlog: Backlog,
    counts: OutcomeCounts,
    tar: Path,
    tmp_path: Path,
) -> None:
    uploads = make_uploads()
    uploads.close()
    assert not uploads.upload(tar, "t", NAME, FIRST)
    assert _entry(backlog, UploadState.WAITING).uri == FIRST
    assert counts.get(Outcome.FAILED) == 0
    (left,) = KeptTars(tmp_path / "kept", "s3://b/c").leftovers()
    assert left.segment == NAME
