"""Injects faults into a write."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import psutil
import pytest

from tests.faults.file_ingestion.runs import Halt
from tests.faults.spark_connectors.place import Place
from tests.faults.spark_connectors.victims import Victims
from tests.support.faulty_http import FaultyHttp, Rule
from tests.support.processes import children_running


class Injection(Protocol):
    """A way to write with a fault."""

    def run(self, place: Place, victims: Victims, ids: range, mode: str, write_id: str) -> None:
        """Write the ids once, with the fault."""
        ...


@dataclass(frozen=True)
class Http:
    """A fault of a call in a commit by Spark.

    Attributes:
        put: Installs the fault; the last argument is the raw table name.
        message: Expected in the error; None: no error is expected.
    """

    put: Callable[[FaultyHttp, str], Rule]
    message: str | None = None

    def run(self, place: Place, victims: Victims, ids: range, mode: str, write_id: str) -> None:
        """Write with Spark."""
        rule = self.put(place.proxy, place.table.name)
        options = {"writeId": write_id, "controller": place.proxy.url}
        try:
            if self.message is None:
                place.write_by_spark(ids, mode, **options)
            else:
                with pytest.raises(Exception, match=self.message):
                    place.write_by_spark(ids, mode, **options)
        finally:
            place.proxy.lift_all()
        assert rule.was_hit


@dataclass(frozen=True)
class InTurn:
    """Consecutive writes with faults."""

    injections: tuple[Injection, ...]

    def run(self, place: Place, victims: Victims, ids: range, mode: str, write_id: str) -> None:
        """Write once per fault."""
        for injection in self.injections:
            injection.run(place, victims, ids, mode, write_id)


@dataclass(frozen=True)
class Killed:
    """kill -9 of the driver at a step."""

    halt: Halt

    def run(self, place: Place, victims: Victims, ids: range, mode: str, write_id: str) -> None:
        """Write with a process that is killed."""
        victim = victims.take()
        victim.write(ids, place.options(write_id), overwrite=mode == "overwrite", halt=self.halt)
        victim.assert_killed()
        place.free_lock()


@dataclass(frozen=True)
class KilledInCall:
    """kill -9 of the driver after the controller applied a call, before the reply arrives."""

    key: str

    def run(self, place: Place, victims: Victims, ids: range, mode: str, write_id: str) -> None:
        """Write with a process that is killed."""
        rule = place.proxy.hold_reply("POST", self.key.format(raw=place.table.name))
        victim = victims.take()
        try:
            victim.write(ids, place.options(write_id), overwrite=mode == "overwrite", halt=None)
            rule.wait_hit()
        finally:
            victim.kill()
            place.proxy.lift_all()
        place.free_lock()


@dataclass(frozen=True)
class CommitProcessKilled:
    """kill -9 of the Python process in which Spark commits, after a call was applied: Spark then aborts."""

    key: str

    def run(self, place: Place, victims: Victims, ids: range, mode: str, write_id: str) -> None:
        """Write with Spark."""
        rule = place.proxy.hold_reply("POST", self.key.format(raw=place.table.name))

        def kill() -> None:
            rule.wait_hit()
            place.free_lock()
            for process in _commit_processes():
                process.kill()
            place.proxy.lift_all()

        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        with pytest.raises(Exception, match="Python worker exited unexpectedly"):
            place.write_by_spark(ids, mode, writeId=write_id, controller=place.proxy.url)
        killer.join()


def _commit_processes() -> list[psutil.Process]:
    """Return the commit processes of this test session's Spark, which are forked from a permanent one."""
    found = children_running("commit_data_source_write")
    pids = {process.pid for process in found}
    workers = [process for process in found if process.ppid() in pids]
    assert workers, found
    return workers


@dataclass(frozen=True)
class LateStart:
    """kill -9 of the driver while its first call is in transit, which arrives after the next write."""

    def run(self, place: Place, victims: Victims, ids: range, mode: str, write_id: str) -> None:
        """Write with a process that is killed, then with another."""
        rule = place.proxy.hold("POST", f"segments/{place.table.name}/startReplaceSegments")
        victim = victims.take()
        try:
            victim.write(ids, place.options(write_id), overwrite=mode == "overwrite", halt=None)
            rule.wait_hit()
        finally:
            victim.kill()
        place.free_lock()
        place.write(ids, mode, writeId=write_id)
        place.proxy.lift_all()
