"""Test modules that run as child processes, so that a JVM or a kill does not affect the tests."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["HANGS_AFTER_S", "Program", "result_of"]

# Far longer than any command takes.
HANGS_AFTER_S = 600.0

_REPOSITORY = Path(__file__).parents[2]
_END_S = 60.0


class Program:
    """A process that executes commands: one JSON document per line on stdin, one answer per line on stdout.

    Args:
        module: Its name.
        words: Command-line arguments.
        log: File that gets its stderr.
        environment: Variables in addition to this process' own.
    """

    def __init__(self, module: str, *words: str, log: Path, **environment: str) -> None:
        self._log = log
        with log.open("w") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", module, *words],
                env={**os.environ, **environment},
                cwd=_REPOSITORY,
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
            )

    def send(self, order: Mapping[str, Any]) -> None:
        """Send it a command."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any] | None:
        """Wait for its next answer; None if it has ended without one."""
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], HANGS_AFTER_S)
        assert ready, f"it does not answer:\n{self.said()}"
        line = self.process.stdout.readline()
        answer: dict[str, Any] | None = json.loads(line) if line else None
        return answer

    def ask(self, order: Mapping[str, Any]) -> dict[str, Any]:
        """Send it a command with one answer, and return the answer."""
        self.send(order)
        answer = self.answer()
        assert answer is not None, f"it has ended:\n{self.said()}"
        return answer

    def said(self) -> str:
        """Return the end of what it wrote to stderr."""
        return self._log.read_text()[-5000:]

    def close(self) -> None:
        """End it once its current command is done."""
        try:
            self.process.communicate(timeout=_END_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Kill it with SIGKILL."""
        self.process.kill()
        self.process.communicate()


def result_of(module: str, request: Any) -> Any:
    """Run a module that reads one JSON document from stdin; return the document in its last line."""
    done = subprocess.run(
        [sys.executable, "-m", module],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        timeout=HANGS_AFTER_S,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
