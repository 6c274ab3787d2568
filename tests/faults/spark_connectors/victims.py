"""Drivers that are killed in their writes; each is started before it is wanted, since a JVM takes seconds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.faults.file_ingestion.runs import Halt

_HANGS_AFTER_S = 600.0


class Victim:
    """One process of :mod:`.commit_program`."""

    def __init__(self, log: Path) -> None:
        self._log = log
        with log.open("w") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.spark_connectors.commit_program"],
                env=dict(os.environ),
                cwd=Path(__file__).parents[3],
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
            )

    def write(self, ids: range, options: Mapping[str, str], *, overwrite: bool, halt: Halt | None) -> None:
        """Begin to write, up to the halt, where it kills itself."""
        order: dict[str, Any] = {"options": dict(options), "overwrite": overwrite, "halt": None}
        order["ids"] = [ids.start, ids.stop]
        if halt is not None:
            order["halt"] = {
                "how": "kill",
                "when": halt.when,
                "step": halt.step,
                "nth": halt.nth,
                "since": halt.since,
            }
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def assert_killed(self) -> None:
        """Wait until it was killed at its halt."""
        self._process.communicate(timeout=_HANGS_AFTER_S)
        assert self._process.returncode == -signal.SIGKILL, f"it was not killed: {self._log.read_text()}"

    def steps(self) -> list[str]:
        """Wait until it has come to its end; returns what it did."""
        out, _ = self._process.communicate(timeout=_HANGS_AFTER_S)
        assert self._process.returncode == 0, self._log.read_text()
        done: list[str] = json.loads(out.splitlines()[-1])
        return done

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


class Victims:
    """All of a test session."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started = 0
        self._spare: Victim | None = None

    def prepare(self) -> None:
        """Begin to start the next one."""
        if self._spare is None:
            self._started += 1
            self._spare = Victim(self._folder / f"write-{self._started}.log")

    def take(self) -> Victim:
        self.prepare()
        taken, self._spare = self._spare, None
        assert taken is not None
        return taken

    def close(self) -> None:
        if self._spare is not None:
            self._spare.kill()
