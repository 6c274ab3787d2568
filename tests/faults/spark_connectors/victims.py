"""Drivers that are killed during writes, started in advance, since a JVM takes seconds."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from pathlib import Path

from tests.faults.file_ingestion.runs import Halt
from tests.support.program import HANGS_AFTER_S, Program


class Victim(Program):
    """One process of :mod:`.commit_program`."""

    def __init__(self, log: Path) -> None:
        super().__init__("tests.faults.spark_connectors.commit_program", log=log)

    def write(self, ids: range, options: Mapping[str, str], *, overwrite: bool, halt: Halt | None) -> None:
        """Start to write; the process kills itself at the halt."""
        order = {"options": dict(options), "overwrite": overwrite, "ids": [ids.start, ids.stop]}
        self.send({**order, "halt": halt.order("kill") if halt else None})

    def assert_killed(self) -> None:
        """Wait until the process was killed at its halt."""
        self.process.communicate(timeout=HANGS_AFTER_S)
        assert self.process.returncode == -signal.SIGKILL, f"it was not killed: {self.said()}"

    def steps(self) -> list[str]:
        """Wait for the end of the process; return what it did."""
        out, _ = self.process.communicate(timeout=HANGS_AFTER_S)
        assert self.process.returncode == 0, self.said()
        done: list[str] = json.loads(out.splitlines()[-1])
        return done


class Victims:
    """All drivers of a test session.

    Args:
        folder: An empty folder.
        in_advance: Whether to start the next one while one is used.
    """

    def __init__(self, folder: Path, *, in_advance: bool) -> None:
        self._folder = folder
        self._in_advance = in_advance
        self._started = 0
        self._spare: Victim | None = None

    def take(self) -> Victim:
        """Return a living one."""
        taken = self._spare or self._new()
        self._spare = self._new() if self._in_advance else None
        return taken

    def close(self) -> None:
        if self._spare is not None:
            self._spare.kill()

    def _new(self) -> Victim:
        self._started += 1
        return Victim(self._folder / f"write-{self._started}.log")
