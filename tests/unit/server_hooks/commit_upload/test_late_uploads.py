"""The path of a tar from the backlog to the store and the segment's record, across outages and restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller_client.common.names import TableName
from controller_client.errors import UnreachableError
from controller_client.zookeeper import ZNRecord, segment_path
from server_hooks.commit_upload.backlog import Backlog, BacklogLimits
from server_hooks.commit_upload.kept_tars import KeptTars
from server_hooks.commit_upload.late_uploads import LateUploads
from server_hooks.commit_upload.metrics import OutcomeCounts, UploadOutcome
from server_hooks.commit_upload.upload_state import UploadState
from tests.unit.controller_client.deepstore.samples import crc_of, write_tar
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import MemoryPropertyStore, memory_store
from tests.unit.server_hooks.commit_upload.fake_store import FakeStore, InlineExecutor

NAME = "t__0__0__x"
HOME = f"s3://b/data/t/{NAME}"
TEMPORARY = f"s3://b/commits/t/{NAME}.tmp.1"


class Server:
    """A server with its disk, and the segment that it committed; a restart creates one on the same folder."""

    def __init__(self, folder: Path, before: Server | None = None) -> None:
        self.folder = folder
        self.source = folder / "built.tar.gz"
        if before is None:
            write_tar(self.source, name=NAME)
        self.store: FakeStore = before.store if before else FakeStore()
        self.records: MemoryPropertyStore = before.records if before else memory_store()[0]
        self.clock: FakeClock = before.clock if before else FakeClock(now=self.source.stat().st_mtime)
        self.kept = KeptTars(folder / "kept", "s3://b/commits")
        limits = BacklogLimits(max_bytes=1 << 30, max_age_s=3600.0, min_free_bytes=0)
        self.backlog = Backlog(self.clock, limits, lambda: 1 << 40)
        self.counts = OutcomeCounts()
        self.late = LateUploads(
            self.backlog,
            self.kept,
            self.store,
            self.records,
            self.counts,
            final_base_uri="s3://b/data/",
            pool=InlineExecutor(),
        )

    def commit(self, segment: str = NAME, **fields: str) -> None:
        """Act as the controller that ends a commit without a download URL."""
        record = {"segment.realtime.status": "DONE", "segment.crc": str(crc_of(7, segment)), **fields}
        path = segment_path(TableName("t_REALTIME"), segment)
        if self.records.get(path) is not None:
            self.records.delete(path)
        self.records.create(path, ZNRecord(segment, record))

    def leave(self, state: UploadState, segment: str = NAME, uri: str = TEMPORARY) -> None:
        """Act as a commit that continued without the store."""
        source = self.source if segment == NAME else self.folder / segment
        assert self.backlog.add(self.kept.keep(source, "t", segment, uri), state)

    def steps(self, seconds: int) -> None:
        for _ in range(seconds):
            self.late.step()
            self.clock.advance(1.0)

    def url(self, segment: str = NAME) -> str | None:
        found = self.records.get(segment_path(TableName("t_REALTIME"), segment))
        return found.record.simple_fields.get("segment.download.url") if found else None

    def files(self) -> list[Path]:
        return [path for path in self.kept._folder.rglob("*") if path.is_file()]

    def discarded(self) -> int:
        return self.counts.get(UploadOutcome.DISCARDED)


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path)


def test_after_an_outage_of_half_an_hour_the_tar_is_at_pinots_uri_and_registered(server: Server) -> None:
    server.commit()
    server.leave(UploadState.WAITING)
    server.store.error = OSError("away")
    server.steps(1800)
    assert server.url() is None
    assert 25 <= server.store.calls.count("put") <= 40  # one minute apart at the end
    assert server.backlog.oldest_built_s == pytest.approx(server.source.stat().st_mtime)
    server.store.error = None
    server.steps(62)
    assert server.url() == HOME
    assert server.store.taken == {HOME: server.source.read_bytes()}
    assert (server.files(), server.backlog.segments) == ([], 0)
    assert server.counts.get(UploadOutcome.LATE) == 1


def test_a_restart_continues_with_the_backlog(server: Server) -> None:
    server.commit()
    server.store.error = OSError("away")
    server.leave(UploadState.WAITING)
    server.steps(10)
    (server.folder / "kept" / "t" / "half.part").write_bytes(b"x")
    server.store.error = None
    after = Server(server.folder, server)
    after.late.resume()
    built = server.source.stat()
    assert (after.backlog.segments, after.backlog.bytes) == (1, built.st_size)
    assert after.backlog.oldest_built_s == pytest.approx(built.st_mtime)
    after.steps(10)
    assert after.url() == HOME
    assert (after.files(), list(after.store.taken)) == ([], [HOME])


def test_an_upload_waits_for_its_commit(server: Server) -> None:
    server.commit(**{"segment.realtime.status": "IN_PROGRESS"})
    server.store.taken[TEMPORARY] = server.source.read_bytes()
    server.leave(UploadState.UPLOADED)
    server.steps(100)
    assert (server.url(), list(server.store.taken)) == (None, [TEMPORARY])
    server.commit()
    server.steps(62)
    assert (server.url(), list(server.store.taken)) == (HOME, [HOME])


@pytest.mark.parametrize(
    "fields", [{"segment.download.url": "s3://elsewhere"}, {"segment.crc": "1"}, {"gone": "yes"}]
)
def test_tars_that_no_segment_needs_are_not_uploaded_and_leave_nothing(
    server: Server, fields: dict[str, str]
) -> None:
    if "gone" not in fields:
        server.commit(**fields)
    server.leave(UploadState.WAITING)
    server.steps(10)
    assert (server.store.calls, server.files(), server.backlog.segments) == ([], [], 0)
    server.store.taken[TEMPORARY] = server.source.read_bytes()
    server.leave(UploadState.UPLOADED)
    server.steps(2)
    assert (server.store.taken, server.files(), server.backlog.segments) == ({}, [], 0)


@pytest.mark.parametrize("there", [b"of a repair", b""])
def test_another_object_at_the_final_uri_is_left_to_the_repair(there: bytes, server: Server) -> None:
    server.commit()
    server.leave(UploadState.WAITING)
    server.store.taken[HOME] = there
    server.steps(10)
    assert server.store.taken == {HOME: there}
    assert (server.url(), server.discarded(), server.files()) == (None, 1, [])


def test_a_server_killed_after_the_move_registers_the_object_after_its_restart(server: Server) -> None:
    server.commit()
    server.leave(UploadState.WAITING)
    content = server.source.read_bytes()
    server.store.taken[HOME] = content
    server.steps(62)
    assert server.store.taken == {HOME: content}
    assert (server.url(), server.discarded(), server.files()) == (HOME, 0, [])


def test_an_upload_that_the_controller_deleted_is_repeated(server: Server) -> None:
    server.commit()
    server.leave(UploadState.UPLOADED)  # but there is nothing under its temporary name
    server.steps(20)
    assert server.store.calls == ["move", "put", "move"]
    assert server.url() == HOME


def test_a_failed_write_of_the_url_is_retried(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.commit()
    server.leave(UploadState.WAITING)
    change = server.records.change
    failures = iter([OSError, RuntimeError])

    def failing(*args: object, **kwargs: object) -> object:
        if (error := next(failures, None)) is not None:
            raise error("away")
        return change(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(server.records, "change", failing)
    server.steps(60)
    assert (server.url(), list(server.store.taken), server.files()) == (HOME, [HOME], [])


def test_a_limit_discards_the_tar_and_its_temporary_object(server: Server) -> None:
    server.commit(**{"segment.realtime.status": "IN_PROGRESS"})
    server.store.taken[TEMPORARY] = server.source.read_bytes()
    server.leave(UploadState.UPLOADED)
    server.steps(3605)
    assert (server.store.taken, server.files(), server.backlog.segments) == ({}, [], 0)
    assert server.discarded() == 1


def test_a_damaged_tar_is_left_to_the_repair(server: Server) -> None:
    server.commit()
    server.source.write_bytes(b"no tar")
    server.leave(UploadState.WAITING)
    server.steps(10)
    assert (server.store.calls, server.files(), server.discarded()) == ([], [], 1)


def test_a_tar_that_is_rebuilt_during_its_upload_is_not_registered(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.commit()
    server.leave(UploadState.WAITING)
    put = server.store.put

    def put_half(file: Path, uri: str) -> None:
        whole = server.source.read_bytes()
        server.source.write_bytes(whole[: len(whole) // 2])  # the same file as the one that is kept
        put(file, uri)
        server.source.write_bytes(whole)

    monkeypatch.setattr(server.store, "put", put_half)
    server.steps(20)
    assert (server.url(), server.store.taken, server.files()) == (None, {}, [])
    assert server.discarded() == 1


def test_during_an_outage_one_tar_at_a_time_is_tried_and_all_are_uploaded_after_it(server: Server) -> None:
    names = [f"t__0__{number}__y" for number in range(20)]
    for name in names:
        server.commit(name)
        write_tar(server.folder / name, name=name)
        server.leave(UploadState.WAITING, name, f"s3://b/commits/t/{name}.tmp.1")
    server.store.error = OSError("away")
    server.steps(300)
    server.store.error = None
    server.steps(62)
    assert [server.url(name) for name in names] == [f"s3://b/data/t/{name}" for name in names]
    assert sorted(server.store.taken) == sorted(f"s3://b/data/t/{name}" for name in names)


@pytest.mark.parametrize("state", [UploadState.WAITING, UploadState.UPLOADED])
def test_a_deleted_tar_is_left_to_the_repair(server: Server, state: UploadState) -> None:
    server.commit()
    server.store.taken[TEMPORARY] = server.source.read_bytes()
    server.leave(state)
    (file,) = server.files()
    file.unlink()
    server.steps(10)
    assert (server.backlog.segments, server.discarded()) == (0, 1)
    assert list(server.store.taken) == ([] if state is UploadState.UPLOADED else [TEMPORARY])


def test_without_zookeeper_nothing_is_uploaded_or_discarded(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.commit()
    server.leave(UploadState.WAITING)
    with monkeypatch.context() as away:

        def unreachable(_path: str) -> None:
            raise UnreachableError("ZooKeeper is away")

        away.setattr(server.records, "get", unreachable)
        server.steps(300)
        assert (server.store.calls, server.backlog.segments, server.counts.get(UploadOutcome.FAILED)) == (
            [],
            1,
            0,
        )
    server.steps(62)
    assert server.url() == HOME
