"""Metadata is pushed in batches if that is wanted, of which each segment is a part exactly once."""

from __future__ import annotations

import email.policy
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from email import message_from_bytes
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.client import ControllerClient
from controller_client.config import ControllerConfig
from controller_client.errors import ConflictError, DataError
from controller_client.filestore.local import LocalStore
from controller_client.publishing import pushing as module
from controller_client.publishing.pushing import Pushing, PushMode
from controller_client.publishing.staged_segment import StagedSegment
from controller_client.segment_tar.writer import write_files
from tests.unit.controller_client.publishing.lineage_server import TABLE
from tests.unit.controller_client.scripted_server import ScriptedServer, Seen, Step, answer
from tests.unit.fake_clock import FakeClock

MIB = 1 << 20


def staged(name: str, stem_uri: str = "file:///s", tar_mib: int = 1) -> StagedSegment:
    return StagedSegment(name, stem_uri, 1, 10, tar_mib * MIB, 2 * tar_mib * MIB, 0.1, "arrow")


@given(st.lists(st.tuples(st.integers(1, 900), st.booleans()), max_size=80))
def test_batches(sizes: list[tuple[int, bool]]) -> None:
    segments = [
        staged(f"{number}{'ü' * 115 if is_long else ''}", tar_mib=mib)
        for number, (mib, is_long) in enumerate(sizes)
    ]
    batches = list(module._batches(segments))
    assert Counter(segment.name for batch in batches for segment in batch) == Counter(
        segment.name for segment in segments
    )
    for batch in batches:
        assert 1 <= len(batch) <= min(50, len(segments) // 4 + 1), "other threads have some, too"
        if len(batch) > 1:
            assert sum(segment.tar_size_bytes for segment in batch) <= 512 * MIB
            assert all(len(f"{segment.name}.metadata.properties".encode()) <= 255 for segment in batch)


class Controller:
    """Answers what a push asks, and keeps the pushes.

    Args:
        server: The server.
        version: That of Pinot.
        refused: What a push with these bytes among its files is refused for.
        there: CRCs of the segments that the table has.
    """

    def __init__(
        self,
        server: ScriptedServer,
        version: str,
        refused: tuple[str, Step] | None = None,
        there: Mapping[str, str] | None = None,
    ) -> None:
        self.pushes: list[Seen] = []
        self._version = version
        self._refused = refused
        self._there = there or {}
        server.answers = self.step

    def step(self, seen: Seen) -> Step:
        match seen.path:
            case "/version":
                return answer(200, {"pinot-controller": self._version})
            case "/appconfigs":
                return answer(200, {"pinotConfig": {"controller.data.dir": "/pinot"}})
            case "/v2/segments" | "/segments/batchUpload":
                self.pushes.append(seen)
                if self._refused and any(self._refused[0].encode() in it for it in files_of(seen).values()):
                    return self._refused[1]
                return answer(200, {"status": "done"})
        match seen.path.split("/"):
            case ["", "segments", "t_OFFLINE", name, "metadata"] if name in self._there:
                return answer(200, {"segment.crc": self._there[name]})
            case ["", "segments", "t_OFFLINE", name, "metadata"]:
                return answer(
                    404, {"code": 404, "error": f"Failed to find segment: {name} in table: t_OFFLINE"}
                )
        raise AssertionError(f"unexpected call {seen.method} {seen.target}")


_EXISTS = answer(409, {"code": 409, "error": "Segment: s1 already exists in table: t"})
_OVERTAKEN = answer(
    500,
    {
        "code": 500,
        "error": "Failed to create ZK metadata for segment: s1 of table: t",
    },
)


def files_of(seen: Seen) -> dict[str, bytes]:
    """Return the files of the one tar that was sent."""
    head = f"Content-Type: {seen.headers['Content-Type']}\r\n\r\n".encode()
    (part,) = message_from_bytes(head + seen.body, policy=email.policy.HTTP).iter_parts()
    content = part.get_payload(decode=True)
    assert isinstance(content, bytes)
    with tarfile.open(fileobj=BytesIO(content), mode="r:gz") as tar:
        members = {member.name: tar.extractfile(member) for member in tar if member.isfile()}
        return {name: file.read() for name, file in members.items() if file is not None}


def stage(folder: Path, names: Sequence[str]) -> Iterator[StagedSegment]:
    for name in names:
        files = []
        for file in ("creation.meta", "metadata.properties"):
            path = folder / f"{name}.{file}"
            path.write_text(f"{file} of {name}")
            files.append((file, path))
        segment = staged(name, f"file://{folder}/{name} $ü")
        write_files(folder / f"{name} $ü.metadata.tar.gz", name, files)
        yield segment


def push(server: ScriptedServer, segments: Sequence[StagedSegment], mode: PushMode = PushMode.BATCH) -> None:
    with ControllerClient(ControllerConfig(server.url), clock=FakeClock()) as client:
        Pushing(client, TABLE, segments, LocalStore(), mode).push([segment.name for segment in segments])


def test_metadata_is_sent_in_batches(tmp_path: Path) -> None:
    segments = list(stage(tmp_path, [f"s{number}" for number in range(9)]))
    with ScriptedServer() as server:
        controller = Controller(server, "1.5.1")
        push(server, segments)
    assert {seen.target for seen in controller.pushes} == {
        "/segments/batchUpload?tableName=t&tableType=OFFLINE&allowRefresh=true"
    }
    pushed: dict[str, str] = {}
    for seen in controller.pushes:
        assert seen.headers["UPLOAD_TYPE"] == "METADATA"
        assert seen.headers["COPY_SEGMENT_TO_DEEP_STORE"] == "true"
        files = files_of(seen)
        lines = files.pop("all_segments_metadata").decode().splitlines()
        pushed |= dict(zip(lines[::2], lines[1::2], strict=True))
        assert files == {
            f"{name}.{file}": f"{file} of {name}".encode()
            for name in lines[::2]
            for file in ("creation.meta", "metadata.properties")
        }
    # Three batches of three; Pinot's URIs are percent-encoded.
    assert (len(controller.pushes), len(pushed)) == (3, 9)
    assert pushed["s4"] == f"file://{tmp_path}/s4%20%24%C3%BC.tar.gz"


@pytest.mark.parametrize(("version", "mode"), [("1.2.0", PushMode.BATCH), ("1.5.1", PushMode.METADATA)])
def test_otherwise_it_is_one_segment_at_a_time(version: str, mode: PushMode, tmp_path: Path) -> None:
    segments = list(stage(tmp_path, [f"s{number}" for number in range(9)]))
    with ScriptedServer() as server:
        controller = Controller(server, version)
        push(server, segments, mode)
    assert [seen.path for seen in controller.pushes] == ["/v2/segments"] * 9


def test_a_batch_that_is_refused_is_an_error(tmp_path: Path) -> None:
    segments = list(stage(tmp_path, [f"s{number}" for number in range(9)]))
    with ScriptedServer() as server:
        Controller(server, "1.5.1", ("metadata.properties of s1", _EXISTS))
        with pytest.raises(ConflictError, match="already exists"):
            push(server, segments)


@pytest.mark.parametrize(("mode", "pushes"), [(PushMode.BATCH, 4), (PushMode.METADATA, 9)])
def test_the_push_of_a_killed_run_may_arrive_at_the_same_time(
    mode: PushMode, pushes: int, tmp_path: Path
) -> None:
    """It is the same segment, so that only the others of its batch are pushed again."""
    segments = list(stage(tmp_path, [f"s{number}" for number in range(9)]))
    overtaken = "metadata.properties of s1", _OVERTAKEN
    with ScriptedServer() as server:
        controller = Controller(server, "1.5.1", overtaken, {"s1": str(segments[1].crc)})
        push(server, segments, mode)
        assert len(controller.pushes) == pushes
        there = {"s1": str(segments[1].crc + 1), "s2": str(segments[2].crc + 1)}
        Controller(server, "1.5.1", overtaken, there)
        with pytest.raises(ConflictError, match="another push of segment s1 was under way"):
            push(server, segments, mode)


def test_damaged_metadata_is_not_sent(tmp_path: Path) -> None:
    segments = [*stage(tmp_path, [f"s{number}" for number in range(8)])]
    lacking = replace(segments[1], stem_uri=f"file://{tmp_path}/lacking")
    only_label = [("creation.meta", tmp_path / "s1.creation.meta")]
    write_files(tmp_path / "lacking.metadata.tar.gz", "s1", only_label)
    with ScriptedServer() as server:
        controller = Controller(server, "1.5.1")
        with pytest.raises(DataError, match=r"segment s1 lacks metadata\.properties"):
            push(server, [segments[0], lacking, *segments[2:]])
    assert all(b"s1" not in files_of(seen)["all_segments_metadata"].split() for seen in controller.pushes)
