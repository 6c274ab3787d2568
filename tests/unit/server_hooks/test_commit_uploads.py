"""Uploads of commits: what is waited for, what goes on, what is done once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from queue import Queue

import pytest

from controller_client.common.names import TableName
from controller_client.zookeeper import PropertyStore, ZNRecord, segment_path
from server_hooks.commit_upload.hook import _DEFAULT_WAIT_MS, _wait_s
from server_hooks.commit_upload.registering import Registered, bring_home, register
from server_hooks.commit_upload.uploads import CommitUploads, LateUpload, Outcome
from tests.unit.controller_client.deepstore.samples import crc_of, write_tar
from tests.unit.memory_zookeeper import memory_store

CRC = crc_of(7, "t__0__0__x")
_LONG_S = 60.0


class FakeStore:
    """Takes files, or does what it is told."""

    def __init__(self) -> None:
        self.taken: dict[str, bytes] = {}
        self.open = threading.Event()
        self.open.set()
        self.error: OSError | None = None
        self.calls: list[str] = []

    def put(self, file: Path, uri: str) -> None:
        self._begin("put")
        self.taken[uri] = file.read_bytes()

    def copy(self, source: str, target: str) -> None:
        self._begin("copy")
        if source not in self.taken:
            raise OSError("no such object")
        self.taken[target] = self.taken[source]

    def move(self, source: str, target: str) -> bool:
        self._begin("move")
        if target in self.taken:
            return False
        self.taken[target] = self.taken.pop(source)
        return True

    def delete(self, uri: str) -> None:
        self._begin("delete")
        del self.taken[uri]

    def _begin(self, call: str) -> None:
        self.calls.append(call)
        assert self.open.wait(_LONG_S)
        if self.error:
            raise self.error


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


@pytest.fixture
def late() -> Queue[LateUpload]:
    return Queue()


@pytest.fixture
def make_uploads(store: FakeStore, late: Queue[LateUpload], tmp_path: Path) -> Callable[..., CommitUploads]:
    def make(wait_s: float = _LONG_S) -> CommitUploads:
        return CommitUploads(store, late.put, store_uri="s3://b/c/", folder=tmp_path / "kept", wait_s=wait_s)

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
    return list((tmp_path / "kept").iterdir())


def test_in_time(
    make_uploads: Callable[..., CommitUploads], store: FakeStore, tar: Path, tmp_path: Path
) -> None:
    uploads = make_uploads()
    assert uploads.upload(tar, "t", NAME, FIRST)
    assert store.taken == {FIRST: tar.read_bytes()}
    assert uploads.count(Outcome.OK) == 1
    assert _kept(tmp_path) == []


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


def test_a_refusal_lets_the_commit_go_on_and_a_retry_tries_again(
    make_uploads: Callable[..., CommitUploads], store: FakeStore, tar: Path, tmp_path: Path
) -> None:
    uploads = make_uploads()
    store.error = OSError("access denied")
    assert not uploads.upload(tar, "t", NAME, FIRST)
    assert (uploads.count(Outcome.FAILED), _kept(tmp_path)) == (1, [])
    store.error = None
    assert uploads.upload(tar, "t", NAME, SECOND)
    assert list(store.taken) == [SECOND]


def test_a_late_upload_outlives_the_file_and_is_told(
    make_uploads: Callable[..., CommitUploads],
    store: FakeStore,
    late: Queue[LateUpload],
    tar: Path,
    tmp_path: Path,
) -> None:
    uploads = make_uploads(wait_s=0.01)
    store.open.clear()
    size = tar.stat().st_size
    assert not uploads.upload(tar, "t", NAME, FIRST)
    tar.unlink()
    store.open.set()
    told = late.get(timeout=_LONG_S)
    assert list(store.taken) == [FIRST]
    assert told == LateUpload("t", NAME, FIRST, HOME, size, CRC)
    assert (uploads.count(Outcome.TIMED_OUT), uploads.count(Outcome.LATE)) == (1, 1)
    assert _kept(tmp_path) == []


def test_a_commit_that_is_retried_while_its_upload_hangs_is_told_once(
    make_uploads: Callable[..., CommitUploads], store: FakeStore, late: Queue[LateUpload], tar: Path
) -> None:
    uploads = make_uploads(wait_s=0.01)
    store.open.clear()
    assert not uploads.upload(tar, "t", NAME, FIRST)
    assert not uploads.upload(tar, "t", NAME, SECOND)
    store.open.set()
    assert late.get(timeout=_LONG_S).uri == FIRST
    uploads.close()
    assert late.empty()
    assert (uploads.count(Outcome.LATE), uploads.count(Outcome.FAILED)) == (1, 0)


def test_a_retry_whose_copy_hangs_waits_no_longer_and_what_was_uploaded_is_told(
    make_uploads: Callable[..., CommitUploads], store: FakeStore, late: Queue[LateUpload], tar: Path
) -> None:
    uploads = make_uploads(wait_s=1.0)
    assert uploads.upload(tar, "t", NAME, FIRST)
    store.open.clear()
    assert not uploads.upload(tar, "t", NAME, SECOND)
    assert late.get(timeout=_LONG_S) == LateUpload("t", NAME, FIRST, HOME, tar.stat().st_size, CRC)
    store.open.set()


def test_by_default_a_commit_waits_five_seconds_for_the_store_and_not_much_longer(
    make_uploads: Callable[..., CommitUploads], store: FakeStore, tar: Path
) -> None:
    uploads = make_uploads(wait_s=_wait_s(_DEFAULT_WAIT_MS))
    store.open.clear()
    started = time.monotonic()
    assert not uploads.upload(tar, "t", NAME, FIRST)
    waited_s = time.monotonic() - started
    store.open.set()
    assert 5.0 <= waited_s < 30.0


LATE = LateUpload("t", NAME, HOME, HOME, 10, CRC)


@pytest.mark.parametrize(
    ("fields", "outcome", "url"),
    [
        ({"segment.realtime.status": "IN_PROGRESS"}, Registered.NOT_YET, None),
        ({"segment.realtime.status": "COMMITTING"}, Registered.NOT_YET, None),
        ({"segment.crc": str(CRC), "segment.download.url": ""}, Registered.DONE, LATE.uri),
        ({"segment.crc": str(CRC), "segment.download.url": LATE.uri}, Registered.DONE, LATE.uri),
        ({"segment.crc": str(CRC), "segment.download.url": "s3://o"}, Registered.OTHER, "s3://o"),
        ({"segment.crc": "1", "segment.download.url": ""}, Registered.OTHER, ""),
        (None, Registered.GONE, None),
    ],
)
def test_the_url_is_put_into_the_record_of_this_content_only(
    fields: dict[str, str] | None, outcome: str, url: str | None
) -> None:
    store, _ = memory_store()
    path = segment_path(TableName("t_REALTIME"), LATE.segment)
    if fields is not None:
        store.create(path, ZNRecord(LATE.segment, {"segment.realtime.status": "DONE", **fields}))
    assert register(store, LATE) == outcome
    assert _url(store, path) == url


def test_a_change_meanwhile_is_kept() -> None:
    store, zookeeper = memory_store()
    path = segment_path(TableName("t_REALTIME"), LATE.segment)
    record = ZNRecord(LATE.segment, {"segment.realtime.status": "DONE", "segment.crc": str(CRC)})
    store.create(path, record)
    once = iter([True])

    def other_writer(_path: str) -> None:
        if next(once, False):
            found = store.get(path)
            assert found is not None
            store.set(path, replace(record, simple_fields={**record.simple_fields, "x": "1"}), found.version)

    zookeeper.before_set = other_writer
    assert register(store, LATE) == Registered.DONE
    found = store.get(path)
    assert found is not None
    assert found.record.simple_fields["x"] == "1"
    assert _url(store, path) == LATE.uri


def _url(store: PropertyStore, path: str) -> str | None:
    found = store.get(path)
    return found.record.simple_fields.get("segment.download.url") if found else None


@pytest.mark.parametrize(("size", "expected"), [({}, "10"), ({"segment.size.in.bytes": "700"}, "700")])
def test_a_size_that_stands_there_stays_and_a_missing_one_is_that_of_the_tar(
    size: dict[str, str], expected: str
) -> None:
    store, _ = memory_store()
    path = segment_path(TableName("t_REALTIME"), NAME)
    fields = {"segment.realtime.status": "DONE", "segment.crc": str(CRC), **size}
    store.create(path, ZNRecord(NAME, fields))
    assert register(store, LATE) == Registered.DONE
    found = store.get(path)
    assert found is not None
    assert found.record.simple_fields["segment.size.in.bytes"] == expected


@pytest.mark.parametrize(
    ("fields", "moved"),
    [
        ({"segment.crc": str(CRC)}, True),
        ({"segment.crc": str(CRC), "segment.realtime.status": "COMMITTING"}, False),
        ({"segment.crc": str(CRC), "segment.download.url": "s3://o"}, False),
        ({"segment.crc": "1"}, False),
        (None, False),
    ],
)
def test_a_late_upload_is_moved_to_where_it_belongs_if_the_segment_is_to_have_it(
    store: FakeStore, fields: dict[str, str] | None, moved: bool
) -> None:
    records, _ = memory_store()
    path = segment_path(TableName("t_REALTIME"), NAME)
    if fields is not None:
        records.create(path, ZNRecord(NAME, {"segment.realtime.status": "DONE", **fields}))
    store.taken[FIRST] = b"late"
    late = replace(LATE, uri=FIRST)
    found = bring_home(records, store, late)
    assert found == (LATE if moved else late)
    assert store.taken == {found.uri: b"late"}
    assert bring_home(records, store, found) == found


def test_an_object_that_lies_there_already_stays_and_nothing_is_registered(store: FakeStore) -> None:
    records, _ = memory_store()
    path = segment_path(TableName("t_REALTIME"), NAME)
    records.create(path, ZNRecord(NAME, {"segment.realtime.status": "DONE", "segment.crc": str(CRC)}))
    store.taken.update({HOME: b"of a repair", FIRST: b"late"})
    late = bring_home(records, store, replace(LATE, uri=FIRST))
    assert store.taken == {HOME: b"of a repair", FIRST: b"late"}
    assert register(records, late) == Registered.NOT_YET
    assert _url(records, path) is None
