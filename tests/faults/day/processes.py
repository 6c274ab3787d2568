"""The long-running processes of this project, each started from one installation, and later from another."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import requests

from tests.faults.day.installation import Installation
from tests.support.pinotctl import pinotctl
from tests.support.service import HOME
from tests.support.wait import WaitError, wait_for

__all__ = ["DayProcess", "Role"]

_STOP_TIMEOUT_S = 300.0
_READY_TIMEOUT_S = 300.0
_PROBE_TIMEOUT_S = 10.0
_LOG_CHARS = 5000


@dataclass(frozen=True)
class Role:
    """The definition of a process.

    Attributes:
        name: The instance that is scraped.
        words: Arguments of ``pinotctl``; `HOME` is replaced by the process's own folder.
        exit_code: Its exit code on SIGTERM.
        environment: Added to the environment of the tests.
        files: Content by name in its folder.
    """

    name: str
    words: tuple[str, ...]
    exit_code: int = 0
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    files: Mapping[str, str] = field(default_factory=dict, repr=False)


class DayProcess:
    """A process that runs all day, apart from the upgrade.

    Args:
        role: Its definition.
        folder: Parent of all processes' folders.
        metrics_port: Port of its metrics.
    """

    def __init__(self, role: Role, folder: Path, metrics_port: int) -> None:
        self.role = role
        self.url = f"http://127.0.0.1:{metrics_port}"
        self._home = folder / role.name
        self._home.mkdir()
        for name, text in role.files.items():
            (self._home / name).write_text(text.replace(HOME, str(self._home)), encoding="utf-8")
        self._log = self._home / "output.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Its process id; None if it has not been started."""
        return self._process.pid if self._process else None

    @property
    def log(self) -> str:
        """The end of its output."""
        return self._log.read_text(encoding="utf-8", errors="replace")[-_LOG_CHARS:]

    def start(self, installation: Installation) -> None:
        """Start it; does not wait until it is ready."""
        environment = {
            **os.environ,
            **{name: value.replace(HOME, str(self._home)) for name, value in self.role.environment.items()},
            **installation.environment,
            "PINOTCTL_CONFIG": "/no/such/file",
        }
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                pinotctl(*(word.replace(HOME, str(self._home)) for word in self.role.words)),
                # Python searches this folder first for imports.
                cwd=self._home,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for pytest, which then ends them in order
            )

    def wait_ready(self) -> None:
        """Wait until it reports that it is ready.

        Raises:
            WaitError: It has exited, or did not become ready in time.
        """

        def is_ready() -> bool:
            if trouble := self.trouble():
                raise WaitError(trouble)
            return requests.get(f"{self.url}/ready", timeout=_PROBE_TIMEOUT_S).ok

        try:
            wait_for(is_ready, f"{self.role.name} to be ready", _READY_TIMEOUT_S)
        except WaitError as error:
            error.add_note(f"--- {self.role.name}, end of its log:\n{self.log}")
            raise

    def trouble(self) -> str:
        """Why the day cannot continue: the process exited by itself; empty while it runs."""
        code = self._process.poll() if self._process else None
        if code is None:
            return ""
        return f"{self.role.name} exited by itself with code {code}:\n{self.log}"

    def stop(self) -> None:
        """Stop it with SIGTERM and wait for its exit."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(_STOP_TIMEOUT_S) == self.role.exit_code, self.log
        self._process = None

    def close(self) -> None:
        """Kill it, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
