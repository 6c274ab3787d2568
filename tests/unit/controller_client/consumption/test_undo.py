"""A change of the stream that is killed at each of its steps, and one that is undone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from controller_client.consumption import ConsumeFrom, ResumeResult
from controller_client.consumption.recipes import change_stream as module
from controller_client.consumption.recipes.change_stream import RECIPE, change_stream
from controller_client.consumption.recipes.plan import begin, read_plan, save
from controller_client.consumption.recipes.stream_change import StreamChange
from controller_client.consumption.table_control import TableControl
from controller_client.errors import ConfigError, ConflictError, RejectedError, WaitTimeoutError
from controller_client.models import TableConfig
from controller_client.stream.config import StreamConfig
from tests.unit.controller_client.consumption.worlds import TABLE, KeptTable, World, segment

TOPIC, JAAS = "stream.kafka.topic.name", "sasl.jaas.config"
OLD = {"streamType": "kafka", TOPIC: "old", JAAS: 'x required password="old-secret";', "flush": "5"}
CHANGES = {TOPIC: "new", JAAS: 'x required password="new-secret";'}
NEW = {**OLD, **CHANGES}
SECRETS = ("old-secret", "new-secret")


class KilledError(BaseException):
    """The process ends here."""


@dataclass
class Calls:
    """Records calls instead of changing a cluster."""

    done: list[object] = field(default_factory=list)
    resume_fails: BaseException | None = None

    def resume(self, _control: TableControl, *, consume_from: object, timeout_s: float) -> ResumeResult:
        self.done.append(("resume", consume_from))
        failure, self.resume_fails = self.resume_fails, None
        if failure is not None:
            raise failure
        return ResumeResult(changed=True)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    calls = Calls()
    monkeypatch.setattr(module, "pause", lambda *_args, **_more: calls.done.append("pause"))
    monkeypatch.setattr(module, "wait_paused", lambda *_args, **_more: calls.done.append("wait"))
    monkeypatch.setattr(module, "failed_segments", lambda _control: [])
    monkeypatch.setattr(module, "resume", calls.resume)
    return calls


def _config(stream: Mapping[str, str]) -> TableConfig:
    parts = {"tableIndexConfig": {"streamConfigs": {**stream}}, "metadata": {"customConfigs": {"mine": "1"}}}
    return TableConfig.from_json({"tableName": TABLE, "tableType": "REALTIME", **parts})


def _paused() -> tuple[World, KeptTable]:
    """A paused table with the old stream."""
    world = World()
    world.ideal({segment(0, 0): "ONLINE"}, paused=True)
    kept = KeptTable(_config(OLD))
    world.client.tables = kept  # type: ignore[assignment]  # instead of the controller
    return world, kept


def _to_undo() -> tuple[World, KeptTable]:
    """A table whose partition 1 has read rows of the new stream, which must be undone."""
    world, kept = _paused()
    world.ideal({segment(0, 0): "ONLINE", segment(1, 0): "ONLINE", segment(1, 1): "ONLINE"}, paused=True)
    world.committed(0, 0, 0, 10)
    world.committed(1, 0, 0, 20)
    world.committed(1, 1, 0, 7)
    change = StreamChange.between(StreamConfig(OLD), StreamConfig(NEW))
    kept.update(change.applied(kept.config, CHANGES))
    plan = begin(world.control, RECIPE, {**change.to_data(), "consume_from": "smallest"})
    save(world.control, plan, step="undo", ends={"0": "10", "1": "20"}, why="it is broken")
    return world, kept


def _run(world: World, changes: Mapping[str, str | None] = {}) -> None:
    start = ConsumeFrom.SMALLEST if changes else None
    change_stream(world.control, changes, consume_from=start, timeout_s=5, report=lambda _text: None)


def test_partitions_that_read_the_new_stream_return_to_their_old_offsets(calls: Calls) -> None:
    world, kept = _to_undo()
    with pytest.raises(RejectedError, match="could not be read, so the old one was restored: it is broken"):
        _run(world)
    assert calls.done == ["pause", "wait", ("resume", {1: 20})]
    assert kept.config == _config(OLD)
    assert world.clock.sleeps == [25.0], "the controller's own attempts with the new stream have ended"
    assert read_plan(world.store, TABLE) is None


@pytest.mark.parametrize(("cleared", "expected"), [(False, {1: 20}), (True, ConsumeFrom.LAST_CONSUMED)])
def test_old_offsets_are_used_once(calls: Calls, cleared: bool, expected: object) -> None:
    world, _ = _to_undo()
    calls.resume_fails = KilledError()
    with pytest.raises(KilledError):
        _run(world)
    calls.done.clear()
    world.ideal({segment(0, 0): "ONLINE", segment(1, 1): "ONLINE"}, paused=not cleared)
    # What is committed since then must not be read again.
    world.committed(1, 2, 20, 33)
    with pytest.raises(RejectedError):
        _run(world)
    assert calls.done == [("resume", expected)]


# The writes of a change, in order: to the plan (from its creation to its deletion) and to the table's config.
WRITES = ("create", "set", "set", "table", "set", "table", "delete")


@contextmanager
def _killed_at(world: World, kept: KeptTable, write: int, *, applied: bool) -> Iterator[list[str]]:
    """Kill the process at a write: before it, or after it was applied but before its reply was read."""
    done: list[str] = []

    def step(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def stepped(*arguments: Any, **more: Any) -> Any:
            done.append(name)
            if len(done) - 1 == write and not applied:
                raise KilledError
            result = call(*arguments, **more)
            if len(done) - 1 == write:
                raise KilledError
            return result

        return stepped

    owners: tuple[tuple[Any, str, str], ...] = (
        *((world.zookeeper, name, name) for name in ("create", "set", "delete")),
        (kept, "update", "table"),
    )
    with pytest.MonkeyPatch.context() as patch:
        for owner, method, name in owners:
            patch.setattr(owner, method, step(name, getattr(owner, method)))
        yield done


def _records(world: World) -> str:
    return "".join(data.decode() for data, _ in world.zookeeper.znodes.values())


@pytest.mark.parametrize("applied", [False, True])
@pytest.mark.parametrize("write", range(len(WRITES)))
def test_a_killed_change_of_secrets_is_finished_and_no_record_contains_them(
    calls: Calls, write: int, applied: bool
) -> None:
    world, kept = _paused()
    with _killed_at(world, kept, write, applied=applied) as done, pytest.raises(KilledError):
        _run(world, CHANGES)
    assert tuple(done) == WRITES[: write + 1]
    assert not [secret for secret in SECRETS if secret in _records(world)]
    in_config = StreamConfig.of(kept.config).values == NEW
    begun = read_plan(world.store, TABLE) is not None
    if begun and not in_config:
        # Only the caller has the new secret, and the table is not paused in vain.
        calls.done.clear()
        with pytest.raises(ConfigError, match=r"the new values of sasl\.jaas\.config must be given again"):
            _run(world)
        assert calls.done == []
    _run(world, {} if begun and in_config else CHANGES)
    assert kept.config == _config(NEW), "the old secrets are gone"
    assert read_plan(world.store, TABLE) is None
    assert not [secret for secret in SECRETS if secret in _records(world)]


@pytest.mark.parametrize("applied", [False, True])
@pytest.mark.parametrize("write", range(6))
def test_a_killed_undo_is_finished(calls: Calls, write: int, applied: bool) -> None:
    world, kept = _paused()
    calls.resume_fails = WaitTimeoutError("no consuming segment, by password=new-secret")
    first_of_undo = WRITES.index("table") + 2
    with _killed_at(world, kept, first_of_undo + write, applied=applied) as done:
        # The undo itself has four writes: its step, the table's config, its next step, the plan's deletion.
        expected = KilledError if write < 4 else RejectedError
        with pytest.raises(expected):
            _run(world, CHANGES)
    assert not [secret for secret in SECRETS if secret in _records(world)], done
    if write == 0 and not applied:
        _run(world)  # the change itself is still in progress
        assert kept.config == _config(NEW)
        return
    if read_plan(world.store, TABLE) is not None:
        with pytest.raises(RejectedError, match="could not be read"):
            _run(world)
    assert kept.config == _config(OLD)
    assert read_plan(world.store, TABLE) is None


def test_changes_by_others_are_kept_unless_they_concern_the_same_key(calls: Calls) -> None:
    world, kept = _paused()
    with _killed_at(world, kept, 1, applied=True), pytest.raises(KilledError):
        _run(world, CHANGES)
    kept.config = _config({**OLD, "flush": "6"})
    _run(world, CHANGES)
    assert StreamConfig.of(kept.config).values == {**NEW, "flush": "6"}

    kept.config = _config(OLD)
    with _killed_at(world, kept, 1, applied=True), pytest.raises(KilledError):
        _run(world, CHANGES)
    kept.config = _config({**OLD, TOPIC: "other"})
    with pytest.raises(ConflictError, match="somebody else changed the stream config"):
        _run(world, CHANGES)


@pytest.mark.parametrize(
    "changes",
    [{**CHANGES, TOPIC: "third"}, {**CHANGES, "flush": "7"}, {**CHANGES, JAAS: "third"}],
)
def test_another_change_is_refused_while_one_is_in_progress(calls: Calls, changes: dict[str, str]) -> None:
    world, kept = _paused()
    with _killed_at(world, kept, 3, applied=True), pytest.raises(KilledError):
        _run(world, CHANGES)
    with pytest.raises(ConflictError, match="another change of the stream"):
        _run(world, changes)
    _run(world, {TOPIC: "new", "flush": "5"})


def test_the_secrets_alone_are_enough_to_continue(calls: Calls) -> None:
    world, kept = _paused()
    with _killed_at(world, kept, 1, applied=True), pytest.raises(KilledError):
        _run(world, CHANGES)
    with pytest.raises(ConfigError, match="must be given again"):
        _run(world, {TOPIC: "new"})
    _run(world, {JAAS: CHANGES[JAAS]})
    assert kept.config == _config(NEW)


def test_old_secrets_that_somebody_removed_are_reported(calls: Calls) -> None:
    world, kept = _to_undo()
    kept.config = StreamChange.finished(kept.config)
    with pytest.raises(ConflictError, match="somebody else removed the old values"):
        _run(world)


def test_a_reference_that_pinot_would_misread_is_no_value_of_a_stream() -> None:
    world, kept = _paused()
    with pytest.raises(ConfigError, match=r"its own template, .*: sasl\.jaas\.config"):
        _run(world, {"sasl.jaas.config": "${env:PINOT_SECRET_JAAS}"})
    assert kept.config == _config(OLD)
    assert read_plan(world.store, TABLE) is None
