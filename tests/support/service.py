"""One service of the test cluster, and what a backend (containers or processes) can do with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from tests.support.wait import WaitError, wait_for

HOME = "{home}"
"""Stands in arguments and files for the service's own folder, which the backend chooses."""


_LOG_LINES = 40


class Program(StrEnum):
    """What a service runs: an image for containers, a start script or program for processes.

    ``pinotctl`` is this project itself: it has no image and runs as a process beside containers, too.
    """

    PINOT = "pinot"
    KAFKA = "kafka"
    S3 = "s3"
    PINOTCTL = "pinotctl"


@dataclass(frozen=True)
class Service:
    """What to start and how to see that it is ready.

    Attributes:
        name: Unique in the session, e.g. ``server_1``.
        program: What runs.
        arguments: Of the program.
        is_ready: Asks from outside; an exception of the network means "not yet".
        environment: Added to the program's own.
        files: Name in the service's folder to content.
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
    """A started service. Its disk survives ``kill`` and ``start``, as a machine's does."""

    @property
    def service(self) -> Service:
        """What was started."""

    def state(self) -> str:
        """Return ``running``, ``paused``, or what it ended with."""

    def kill(self) -> None:
        """End it with SIGKILL, paused or not."""

    def start(self) -> None:
        """Start it again after ``kill``, let it go on after ``pause``; does not wait until it is ready."""

    def pause(self) -> None:
        """Freeze it: connections stay, answers stop."""

    def logs(self, lines: int) -> str:
        """Return the last lines of its output."""

    def put_file(self, path: str, content: bytes) -> None:
        """Replace a file on its disk; the path is one below its home, in a folder that is there."""

    def remove(self) -> None:
        """End it and forget its disk."""


class Backend(Protocol):
    """Starts services."""

    @property
    def name(self) -> str:
        """``containers`` or ``processes``."""

    def launch(self, service: Service) -> RunningService:
        """Start a service; does not wait until it is ready."""

    def close(self) -> None:
        """Remove all that was launched and is still there."""


def wait_ready(running: RunningService, timeout_s: float) -> None:
    """Wait until a service says that it is ready.

    Raises:
        WaitError: It ended, or did not become ready in time; with the end of its log.
    """
    name = running.service.name

    def is_ready() -> bool:
        if running.state().startswith("ended"):
            raise WaitError(f"{name} {running.state()}")
        return running.service.is_ready()

    try:
        wait_for(is_ready, f"{name} to be ready", timeout_s)
    except WaitError as error:
        error.add_note(f"--- {name}, last lines of its log:\n{running.logs(_LOG_LINES)}")
        raise
