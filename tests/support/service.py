"""One service of the test cluster, and what a backend (containers or processes) can do with it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from tests.support.wait import WaitError, wait_for

HOME = "{home}"
"""Placeholder in arguments and files for the service's folder, which the backend chooses."""


_SEARCHED_LINES = 300
_LOG_LINES = 40


class Program(StrEnum):
    """The program of a service: an image for containers, a start script or program for processes.

    ``pinotctl`` is this project itself, and ``python`` a module of its tests: they have no image, and run as
    processes even next to containers.
    """

    PINOT = "pinot"
    KAFKA = "kafka"
    S3 = "s3"
    PINOTCTL = "pinotctl"
    PYTHON = "python"


@dataclass(frozen=True)
class Service:
    """What to start, and how to check that it is ready.

    Attributes:
        name: Unique in the session, e.g. ``server_1``.
        program: The program to run.
        arguments: Arguments of the program.
        is_ready: Checks from outside; a network error means "not yet".
        environment: Additional environment variables.
        files: Contents of files by name in the service's folder.
        shared_folders: Folders of the host that the service sees under the same path.
    """

    name: str
    program: Program
    arguments: tuple[str, ...]
    is_ready: Callable[[], bool]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    files: Mapping[str, str] = field(default_factory=dict, repr=False)
    shared_folders: tuple[Path, ...] = ()


class RunningService(Protocol):
    """A started service. Its disk survives ``kill`` and ``start``, like that of a machine."""

    @property
    def service(self) -> Service:
        """The service that was started."""

    def state(self) -> str:
        """Return ``running`` or ``ended``."""

    def kill(self) -> None:
        """Kill it with SIGKILL."""

    def start(self) -> None:
        """Start it again after ``kill``; does not wait until it is ready."""

    def suspend(self) -> None:
        """Stop its processes, as on a machine that hangs."""

    def resume(self) -> None:
        """Let it go on after ``suspend``."""

    def logs(self, lines: int) -> str:
        """Return the last lines of its output."""

    def put_file(self, path: str, content: bytes) -> None:
        """Replace a file on its disk; the path is relative to its home, in an existing folder."""


class Backend(Protocol):
    """Starts services."""

    @property
    def name(self) -> str:
        """``containers`` or ``processes``."""

    def launch(self, service: Service) -> RunningService:
        """Start a service, unless it runs; does not wait until it is ready."""

    def close(self) -> None:
        """End all services of the session, also those that another process has launched."""


def listens(host: str, port: int) -> bool:
    """Return whether something accepts connections at an address."""
    try:
        with socket.create_connection((host, port), timeout=1):
            return True
    except OSError:
        return False


_DROPPED_TABLE = 'because "idealState" is null'
"""In the log of a server of Pinot 0.11 that has ended because a table was dropped while it started."""
_MAX_STARTS = 3


def may_start_again(log: str, starts: int) -> bool:
    """Whether a server that has ended is to be started again, as its supervisor would.

    Args:
        log: What it has logged.
        starts: How often it was started.
    """
    return _DROPPED_TABLE in log and starts < _MAX_STARTS


def wait_ready(running: RunningService, timeout_s: float) -> None:
    """Wait until a service reports that it is ready.

    Do what a server's supervisor does: start it again if Pinot has ended it for a table that was dropped.

    Raises:
        WaitError: It ended, or was not ready in time; contains the end of its log.
    """
    name = running.service.name
    starts = 1

    def is_ready() -> bool:
        nonlocal starts
        if running.state() == "ended":
            if not may_start_again(running.logs(_SEARCHED_LINES), starts):
                raise WaitError(f"{name} has ended")
            starts += 1
            running.start()
        return running.service.is_ready()

    try:
        wait_for(is_ready, f"{name} to be ready", timeout_s)
    except WaitError as error:
        error.add_note(f"--- {name}, last lines of its log:\n{running.logs(_LOG_LINES)}")
        raise
