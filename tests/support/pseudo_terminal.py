"""A program on a pseudo-terminal: tests read its display and type keys."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from types import TracebackType

__all__ = ["PseudoTerminal"]

_STEERING = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|[=>]|\][^\x07]*\x07)|\r")
_LONGEST_S = 60.0


class PseudoTerminal:
    """Runs a program with a terminal as its stdin, stdout and stderr; a context manager that ends it.

    Args:
        command: The program and its arguments.
        environment: Its environment.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._fd, theirs = pty.openpty()
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            # Reporting the position of the cursor would need a complete terminal.
            env={**environment, "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "COLUMNS": "120"},
            start_new_session=True,
            preexec_fn=lambda: _take_terminal(theirs),
        )
        os.close(theirs)
        self._raw = ""
        self._seen = 0

    @property
    def shown(self) -> str:
        """All of its output, without control sequences."""
        return _STEERING.sub("", self._raw)

    def press(self, keys: str) -> None:
        """Type keys; ``\\r`` is Enter, ``\\x03`` Ctrl-C, ``\\x04`` Ctrl-D."""
        os.write(self._fd, keys.encode())

    def wait_for(self, pattern: str) -> str:
        """Wait for output that matches, after the previous match; return the match."""
        end = time.monotonic() + _LONGEST_S
        while True:
            found = re.compile(pattern).search(self.shown, self._seen)
            if found:
                self._seen = found.end()
                return found[0]
            if not self._read(end - time.monotonic()):
                raise AssertionError(f"{pattern!r} was not shown after {self.shown[self._seen :]!r}")

    def ended(self) -> int:
        """Wait until it exits; return its exit code."""
        end = time.monotonic() + _LONGEST_S
        while self._read(end - time.monotonic()):
            pass
        return self.process.wait(_LONGEST_S)

    def _read(self, timeout_s: float) -> bool:
        ready, _, _ = select.select([self._fd], [], [], max(timeout_s, 0))
        if not ready:
            return False
        try:
            data = os.read(self._fd, 65_536)
        except OSError:  # the other side is closed
            return False
        self._raw += data.decode(errors="replace")
        return bool(data)

    def __enter__(self) -> PseudoTerminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._fd)


def _take_terminal(fd: int) -> None:
    import fcntl
    import termios

    fcntl.ioctl(fd, termios.TIOCSCTTY, 0)
