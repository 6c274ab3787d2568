"""The thread of a table: failures of the disk or of Kafka are retried, and nothing is lost."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from controller_client.clock import SystemClock
from controller_client.errors import ConflictError, SourceError
from controller_client.upsert.generation import Generation
from controller_client.upsert.update_message import VersionEnd, decode, encode_end
from server_hooks.upsert.follower import Follower
from server_hooks.upsert.lost_messages import Hole
from server_hooks.upsert.table_state import UpsertTableState
from server_hooks.upsert.updates_log import Message
from server_hooks.upsert.updates_topic import UpdatesReader
from tests.support.wait import wait_for

_LONG_S = 60.0
_GENERATION = Generation(1, 0, "local", 0, 0, "a", resent_from=0)


class ListTopic:
    """A topic with one partition that exists from the second request on."""

    def __init__(self, messages: list[Message]) -> None:
        self.messages = messages
        self.requests = 0
        self.next = 0
        self.holes: dict[int, Hole] = {}

    def partitions(self) -> set[int]:
        self.requests += 1
        if self.requests == 1:
            raise SourceError("Kafka is away")
        return {0}

    def assign(self, offsets: Mapping[int, int]) -> None:
        """Do nothing: the topic is read from the beginning."""

    def resume(self, number: int) -> None:
        """Continue after the hole."""
        self.next = self.holes.pop(number).first

    def poll(self, _timeout_s: float) -> dict[int, list[Message]]:
        if self.holes:
            return {}
        found = self.messages[self.next : self.next + 1]
        self.next += len(found)
        return {0: found} if found else {}

    def close(self) -> None:
        """Do nothing: nothing is open."""


class CountedState(UpsertTableState):
    """Counts the attempts to add messages."""

    tries = 0

    def take(self, number: int, messages: Sequence[Message]) -> None:
        self.tries += 1
        super().take(number, messages)


@contextmanager
def _no_guard(_what: str) -> Iterator[None]:
    yield


def _end(version: int) -> Message:
    value = encode_end(VersionEnd(version, 0, 0, 1000 + version))
    return version, value, decode(value, where="here")


class Following:
    """A follower of a topic with four versions, and the marks that it has reported."""

    def __init__(self, state: UpsertTableState, generation: Callable[[], Generation | None]) -> None:
        self.topic = ListTopic([_end(version) for version in range(4)])
        self.reported: list[int] = []
        self.floors: dict[int, int] = {}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("server_hooks.upsert.follower._RETRY_S", 0.01)
            self.follower = Follower(
                "t_REALTIME",
                state,
                lambda: cast("UpdatesReader", self.topic),
                generation,
                lambda: self.reported.append(state.mark().version),
                lambda: self.floors,
                guard=_no_guard,
                clock=SystemClock(),
            )

    def wait_and_stop(self) -> None:
        """Wait for all versions."""
        wait_for(lambda: self.reported[-1:] == [3], "all versions", _LONG_S, interval_s=0.005)
        self.follower.stop()


def test_a_failed_write_is_retried_and_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    state = CountedState(tmp_path, SystemClock())
    full = tmp_path / "0" / f"{0:020d}.open"
    full.parent.mkdir()
    following = Following(state, lambda: None)
    # The log opens existing files, so the disk becomes full only after the start.
    state.follow([0])
    full.symlink_to("/dev/full")
    with caplog.at_level(logging.ERROR):
        following.follower.start()
        wait_for(lambda: state.tries > 2, "two tries more", _LONG_S, interval_s=0.005)
        assert state.mark().version == -1
        assert following.topic.next == 1  # the messages read are not written yet, so nothing more is read
        full.unlink()
        following.wait_and_stop()
    complaints = [record.getMessage() for record in caplog.records]
    assert len(complaints) == 2, complaints
    assert "Kafka is away" in complaints[0]
    assert "No space left" in complaints[1] or "Invalid argument" in complaints[1]
    assert UpsertTableState(tmp_path, SystemClock()).next_offsets() == {0: 4}


def test_versions_of_a_dropped_table_with_the_same_name_are_ignored(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    answers: list[Generation | Exception] = [
        ConflictError("the coordinator has not begun with this table"),
        replace(_GENERATION, since=2),
    ]

    def generation() -> Generation:
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    following = Following(UpsertTableState(tmp_path, SystemClock()), generation)
    with caplog.at_level(logging.ERROR):
        following.follower.start()
        following.wait_and_stop()
    assert "has not begun with this table" in caplog.records[0].getMessage()
    assert set(following.reported) <= {-1, 2, 3}
    assert UpsertTableState(tmp_path, SystemClock()).next_offsets() == {0: 4}


@pytest.fixture
def frequent_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server_hooks.upsert.follower._PARTITIONS_S", 0.0)


@pytest.mark.usefixtures("frequent_looks")
def test_no_version_is_complete_while_rows_lack_events_that_were_deleted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state = UpsertTableState(tmp_path, SystemClock())
    looks = 0

    def generation() -> Generation:
        nonlocal looks
        looks += 1
        return _GENERATION

    following = Following(state, generation)
    following.topic.requests = 1
    following.topic.holes = {0: Hole(0, 2, version=2, row=20)}
    following.floors = {0: 19}
    with caplog.at_level(logging.ERROR):
        following.follower.start()
        wait_for(lambda: looks > 3, "the follower to look again", _LONG_S, interval_s=0.005)
        assert state.lost_partitions == {0}
        assert set(following.reported) == {-1}
        following.floors = {0: 20}  # Pinot has deleted the segment
        following.wait_and_stop()
    assert state.lost_partitions == frozenset()
    (complaint,) = [record.getMessage() for record in caplog.records]
    assert "messages 0 to 1 were deleted before this server read them" in complaint
    assert set(following.reported) <= {-1, 2, 3}


@pytest.mark.usefixtures("frequent_looks")
def test_after_a_rebuild_earlier_versions_are_not_complete_even_after_a_restart(tmp_path: Path) -> None:
    answers = [_GENERATION]
    state = UpsertTableState(tmp_path, SystemClock())
    following = Following(state, lambda: answers[-1])
    following.topic.requests = 1
    following.topic.holes = {0: Hole(0, 1, version=0, row=20)}
    following.follower.start()
    wait_for(lambda: state.lost_partitions == {0}, "the hole", _LONG_S, interval_s=0.005)
    answers.append(replace(_GENERATION, number=2, base=3, resent_from=1, begins={0: 0}))
    following.wait_and_stop()
    assert set(following.reported) == {-1, 3}

    # One that was killed after it has decided to continue.
    other = UpsertTableState(tmp_path / "other", SystemClock())
    other.count_ends_from(0, 3)
    restarted = UpsertTableState(tmp_path / "other", SystemClock())
    restarted.follow([0])
    restarted.take(0, [_end(version) for version in (1, 2)])
    assert restarted.mark().version == -1
    restarted.take(0, [_end(3)])
    assert restarted.mark().version == 3
