"""A shell and a Python process that stay open and run the blocks of a page one after the other."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

__all__ = ["Python", "SessionError", "Shell"]

_PROGRAM = Path(__file__).with_name("python_program.py")
_HANGS_AFTER_S = 600.0
"""Far longer than any block takes: a block that hangs would hang the test run."""
_END_TIMEOUT_S = 60.0


class SessionError(AssertionError):
    """A block failed; contains its output."""


class _Session:
    def __init__(self, command: list[str], folder: Path, environment: Mapping[str, str], log: Path) -> None:
        self._log = log.open("ab")
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            cwd=folder,
            env=dict(environment),
            start_new_session=True,
        )

    def _write(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(text)
        self._process.stdin.flush()

    def _lines(self) -> Iterator[str]:
        assert self._process.stdout is not None
        return iter(self._process.stdout.readline, "")

    @contextmanager
    def _watched(self) -> Iterator[None]:
        timer = threading.Timer(_HANGS_AFTER_S, self._kill)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End it and its background processes."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(_END_TIMEOUT_S)
        finally:
            self._kill()
            self._process.wait()
            self._process.stdout.close()
            self._log.close()


class Shell(_Session):
    """A bash.

    Args:
        folder: Its working folder.
        environment: Its environment.
        log: File for the output of background commands.
    """

    _END = "--- end of command"

    def __init__(self, folder: Path, environment: Mapping[str, str], log: Path) -> None:
        super().__init__(["bash", "--noprofile", "--norc"], folder, environment, log)
        self._background = log

    def run(self, command: str) -> tuple[list[str], int]:
        """Run a command; returns the lines that it printed, on both streams, and its exit code."""
        # Background jobs must not write to the output of later commands, and nothing may read this script.
        text = command.rstrip()
        if text.endswith("&") and not text.endswith("&&"):
            text = f"{text.removesuffix('&')} >>'{self._background}' 2>&1 &"
        self._write(f"{{ {text}\n}} </dev/null 2>&1; status=$?; printf '\\n%s %s\\n' '{self._END}' $status\n")
        printed: list[str] = []
        with self._watched():
            for line in self._lines():
                if line.startswith(self._END):
                    if printed and not printed[-1]:
                        printed.pop()  # the end of our own printf's first line
                    return printed, int(line.split()[-1])
                printed.append(line.rstrip("\n"))
        raise SessionError(f"the shell ended, or was killed after {_HANGS_AFTER_S:.0f} s, in: {command}")


class Python(_Session):
    """A Python process that keeps the names of a page from block to block.

    Args:
        executable: Its interpreter.
        folder: Its working folder.
        environment: Its environment.
        log: File for output that bypasses Python's own streams.
    """

    def __init__(self, executable: Path, folder: Path, environment: Mapping[str, str], log: Path) -> None:
        super().__init__([str(executable), "-u", str(_PROGRAM)], folder, environment, log)

    def run(self, code: str, name: str, folder: Path) -> list[str]:
        """Run code; returns the lines that it printed.

        Args:
            code: The code.
            name: Its name in a traceback.
            folder: The page's folder; a different folder than before starts without names.

        Raises:
            SessionError: The code raised an exception.
        """
        self._write(json.dumps({"code": code, "name": name, "folder": str(folder)}) + "\n")
        with self._watched():
            answer = next(self._lines(), None)
        if answer is None:
            raise SessionError(f"Python ended in {name}")
        found = json.loads(answer)
        if found["failure"]:
            raise SessionError(f"{found['printed']}{found['failure']}")
        return str(found["printed"]).splitlines()
