"""The path of a tar from the backlog to the store and the segment's record, across outages and restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller_client.common.names import TableName
from controller_client.errors import UnreachableError
from controller_client.zookeeper import PropertyStore, ZNRecord, segment_path
from server_hooks.commit_upload.backlog import Backlog, BacklogLimits
from server_hooks.commit_upload.kept_tars import KeptTars
from server_hooks.commit_upload.late_uploads import LateUploads
from server_hooks.commit_upload.outcomes import Outcome, OutcomeCounts
from server_hooks.commit_upload.upload_state import UploadState
from tests.unit.controller_client.deepstore.samples import crc_of, write_tar
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import memory_store
from tests.unit.server_hooks.commit_upload.fake_store import FakeStore, InlineExecutor

NAME = "t__0__0__x"
HOME = f"s3://b/data/t/{NAME}"
TEMPORARY = f"s3://b/commits/t/{NAME}.tmp.1"


class Server:
    """A server with its disk; a restart creates a new one on the same folder."""

    def __init__(self, folder: Path, store: FakeStore, records: PropertyStore, clock: FakeClock) -> None:
        self.store = store
        self.clock = clock
        self.records = records
        self.kept = KeptTars(folder / "kept", "s3://b/commits")
        limits = BacklogLimits(max_bytes=1 << 30, max_age_s=3600.0, min_free_bytes=0)
        self.backlog = Backlog(clock, limits, lambda: 1 << 40)
        self.counts = OutcomeCounts()
        self.late = LateUploads(
            self.backlog,
            self.kept,
            store,
            records,
            self.counts,
            final_base_uri="s3://b/data/",
            pool=InlineExecutor(),
        )

    def leave(self, source: Path, state: UploadState, segment: str = NAME, uri: str = TEMPORARY) -> None:
        """Act as a commit that continued without the store."""
        tar = self.kept.keep(source, "t", segment, uri)
        assert self.backlog.add(tar, state)

    def steps(self, seconds: int) -> None:
        for _ in range(seconds):
            self.late.step()
            self.clock.advance(1.0)

    def files(self) -> list[Path]:
        return [path for path in self.kept._folder.rglob("*") if path.is_file()]


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


@pytest.fixture
def records() -> PropertyStore:
    return memory_store()[0]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    write_tar(tmp_path / "built.tar.gz", name=NAME)
    return tmp_path / "built.tar.gz"


@pytest.fixture
def server(tmp_path: Path, store: FakeStore, records: PropertyStore, source: Path) -> Server:
    return Server(tmp_path, store, records, FakeClock(now=source.stat().st_mtime))


def commit(records: PropertyStore, segment: str = NAME, **fields: str) -> None:
    """Act as the controller that ends a commit without a download URL."""
    record = {"segment.realtime.status": "DONE", "segment.crc": str(crc_of(7, segment)), **fields}
    path = segment_path(TableName("t_REALTIME"), segment)
    if records.get(path) is not None:
        records.delete(path)
    records.create(path, ZNRecord(segment, record))


def url(records: PropertyStore, segment: str = NAME) -> str | None:
    found = records.get(segment_path(TableName("t_REALTIME"), segment))
    return found.record.simple_fields.get("segment.download.url") if found else None


def test_after_an_outage_of_half_an_hour_the_tar_is_at_pinots_uri_and_registered(
    server: Server, records: PropertyStore, source: Path
) -> None:
    commit(records)
    server.leave(source, UploadState.WAITING)
    server.store.error = OSError("away")
    server.steps(1800)
    assert url(records) is None
    assert 25 <= server.store.calls.count("put") <= 40  # one minute apart at the end
    assert server.backlog.oldest_built_s == pytest.approx(source.stat().st_mtime)
    server.store.error = None
    server.steps(62)
    assert url(records) == HOME
    assert server.store.taken == {HOME: source.read_bytes()}
    assert (server.files(), server.backlog.segments) == ([], 0)
    assert server.counts.get(Outcome.LATE) == 1


def test_a_restart_continues_with_the_backlog(
    server: Server, tmp_path: Path, records: PropertyStore, source: Path
) -> None:
    commit(records)
    server.store.error = OSError("away")
    server.leave(source, UploadState.WAITING)
    server.steps(10)
    (tmp_path / "kept" / "t" / "half.part").write_bytes(b"x")
    server.store.error = None
    after = Server(tmp_path, server.store, records, server.clock)
    after.late.resume()
    assert (after.backlog.segments, after.backlog.bytes) == (1, source.stat().st_size)
    assert after.backlog.oldest_built_s == pytest.approx(source.stat().st_mtime)
    after.steps(10)
    assert url(records) == HOME
    assert (after.files(), list(after.store.taken)) == ([], [HOME])


def test_an_upload_waits_for_its_commit(server: Server, records: PropertyStore, source: Path) -> None:
    commit(records, **{"segment.realtime.status": "IN_PROGRESS"})
    server.store.taken[TEMPORARY] = source.read_bytes()
    server.leave(source, UploadState.UPLOADED)
    server.steps(100)
    assert (url(records), list(server.store.taken)) == (None, [TEMPORARY])
    commit(records)
    server.steps(62)
    assert (url(records), list(server.store.taken)) == (HOME, [HOME])


@pytest.mark.parametrize(
    "fields", [{"segment.download.url": "s3://elsewhere"}, {"segment.crc": "1"}, {"gone": "yes"}]
)
def test_tars_that_no_segment_needs_are_not_uploaded_and_leave_nothing(
    server: Server, records: PropertyStore, source: Path, fields: dict[str, str]
) -> None:
    if "gone" not in fields:
        commit(records, **fields)
    server.leave(source, UploadState.WAITING)
    server.steps(10)
    assert (server.store.calls, server.files(), server.backlog.segments) == ([], [], 0)
    server.store.taken[TEMPORARY] = source.read_bytes()
    server.leave(source, UploadState.UPLOADED)
    server.steps(2)
    assert (server.store.taken, server.files(), server.backlog.segments) == ({}, [], 0)


def test_an_object_at_the_final_uri_stays_for_the_repair(
    server: Server, records: PropertyStore, source: Path
) -> None:
    commit(records)
    server.store.taken[HOME] = b"of a repair"
    server.leave(source, UploadState.WAITING)
    server.steps(10)
    assert server.store.taken == {HOME: b"of a repair"}
    assert (url(records), server.counts.get(Outcome.DISCARDED), server.files()) == (None, 1, [])


def test_an_upload_that_the_controller_deleted_is_repeated(
    server: Server, records: PropertyStore, source: Path
) -> None:
    commit(records)
    server.leave(source, UploadState.UPLOADED)  # but there is nothing under its temporary name
    server.steps(20)
    assert server.store.calls == ["move", "put", "move"]
    assert url(records) == HOME


def test_a_failed_write_of_the_url_is_retried(
    server: Server, records: PropertyStore, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(records)
    server.leave(source, UploadState.WAITING)
    change = records.change
    failures = iter([OSError, RuntimeError])

    def failing(*args: object, **kwargs: object) -> object:
        if (error := next(failures, None)) is not None:
            raise error("away")
        return change(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(records, "change", failing)
    server.steps(60)
    assert url(records) == HOME
    assert list(server.store.taken) == [HOME]
    assert server.files() == []


def test_a_limit_discards_the_tar_and_its_temporary_object(
    server: Server, records: PropertyStore, source: Path
) -> None:
    commit(records, **{"segment.realtime.status": "IN_PROGRESS"})
    server.store.taken[TEMPORARY] = source.read_bytes()
    server.leave(source, UploadState.UPLOADED)
    server.steps(3605)
    assert (server.store.taken, server.files(), server.backlog.segments) == ({}, [], 0)
    assert server.counts.get(Outcome.DISCARDED) == 1


def test_a_damaged_tar_is_left_to_the_repair(server: Server, records: PropertyStore, source: Path) -> None:
    commit(records)
    source.write_bytes(b"no tar")
    server.leave(source, UploadState.WAITING)
    server.steps(10)
    assert (server.store.calls, server.files(), server.counts.get(Outcome.DISCARDED)) == ([], [], 1)


def test_a_tar_that_is_rebuilt_during_its_upload_is_not_registered(
    server: Server, records: PropertyStore, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(records)
    server.leave(source, UploadState.WAITING)
    put = server.store.put

    def put_half(file: Path, uri: str) -> None:
        whole = source.read_bytes()
        source.write_bytes(whole[: len(whole) // 2])  # the same file as the one that is kept
        put(file, uri)
        source.write_bytes(whole)

    monkeypatch.setattr(server.store, "put", put_half)
    server.steps(20)
    assert (url(records), server.store.taken, server.files()) == (None, {}, [])
    assert server.counts.get(Outcome.DISCARDED) == 1


def test_during_an_outage_one_tar_at_a_time_is_tried_and_all_are_uploaded_after_it(
    server: Server, records: PropertyStore, tmp_path: Path
) -> None:
    names = [f"t__0__{number}__x" for number in range(20)]
    for name in names:
        commit(records, name)
        write_tar(tmp_path / name, name=name)
        server.leave(tmp_path / name, UploadState.WAITING, name, f"s3://b/commits/t/{name}.tmp.1")
    server.store.error = OSError("away")
    server.steps(300)
    server.store.error = None
    server.steps(62)
    assert [url(records, name) for name in names] == [f"s3://b/data/t/{name}" for name in names]
    assert sorted(server.store.taken) == sorted(f"s3://b/data/t/{name}" for name in names)


@pytest.mark.parametrize("state", [UploadState.WAITING, UploadState.UPLOADED])
def test_a_deleted_tar_is_left_to_the_repair(
    server: Server, records: PropertyStore, source: Path, state: UploadState
) -> None:
    commit(records)
    server.store.taken[TEMPORARY] = source.read_bytes()
    server.leave(source, state)
    (file,) = server.files()
    file.unlink()
    server.steps(10)
    assert (server.backlog.segments, server.counts.get(Outcome.DISCARDED)) == (0, 1)
    assert list(server.store.taken) == ([] if state is UploadState.UPLOADED else [TEMPORARY])


def test_without_zookeeper_nothing_is_uploaded_or_discarded(
    server: Server, records: PropertyStore, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(records)
    server.leave(source, UploadState.WAITING)
    with monkeypatch.context() as away:

        def unreachable(_path: str) -> None:
            raise UnreachableError("ZooKeeper is away")

        away.setattr(records, "get", unreachable)
        server.steps(300)
        assert (server.store.calls, server.backlog.segments, server.counts.get(Outcome.FAILED)) == ([], 1, 0)
    server.steps(62)
    assert url(records) == HOME


def test_a_server_killed_after_the_move_registers_the_object_after_its_restart(
    server: Server, records: PropertyStore, source: Path
) -> None:
    commit(records)
    server.leave(source, UploadState.WAITING)
    server.store.taken[HOME] = source.read_bytes()
    server.steps(62)
    assert url(records) == HOME
    assert server.store.taken == {HOME: source.read_bytes()}
    assert server.files() == []
    assert server.counts.get(Outcome.DISCARDED) == 0


@pytest.mark.parametrize("there", [b"no tar at all", b""])
def test_an_object_that_is_not_the_segments_tar_is_left_to_the_repair(
    there: bytes, server: Server, records: PropertyStore, source: Path
) -> None:
    commit(records)
    server.leave(source, UploadState.WAITING)
    server.store.taken[HOME] = there
    server.steps(62)
    assert url(records) is None
    assert server.store.taken == {HOME: there}
    assert server.files() == []
    assert server.counts.get(Outcome.DISCARDED) == 1
