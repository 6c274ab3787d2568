"""Minions hosted in Python that a test starts and kills as needed."""

from __future__ import annotations

import random
import socket
import subprocess
from pathlib import Path
from typing import Self

from tests.support.cluster import PinotCluster
from tests.support.pinotctl import pinotctl
from tests.support.releases import THIS, Release

__all__ = ["Crew"]

_SESSION_TIMEOUT_MS = 4000


class Crew:
    """Minions with a dedicated tag; each start adds a new instance to the cluster.

    Args:
        pinot: The cluster.
        folder: For logs and work files.
        tag: Their tag, used by no other minion.
        seed: Determines which minion is killed.
        release: The release that they run.
    """

    def __init__(
        self, pinot: PinotCluster, folder: Path, tag: str, seed: int = 0, release: Release = THIS
    ) -> None:
        self._pinot = pinot
        self._folder = folder
        self._tag = tag
        self._random = random.Random(seed)
        self._environment = release.environment()
        self._processes: list[subprocess.Popen[bytes]] = []
        self.started = 0
        self.killed = 0

    @property
    def size(self) -> int:
        """The number of running processes."""
        return sum(process.poll() is None for process in self._processes)

    def grow(self, size: int) -> None:
        """Start minions up to this number; they join when they are ready."""
        while self.size < size:
            self._start()

    def shrink(self, size: int) -> None:
        """Kill random minions with -9 until this many are left."""
        while self.size > size:
            self.kill_one()

    def kill_one(self) -> None:
        """Kill a random minion with -9."""
        process = self._random.choice([each for each in self._processes if each.poll() is None])
        process.kill()
        process.wait()
        self.killed += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.kill()
            process.wait()

    def _start(self) -> None:
        self.started += 1
        folder = self._folder / f"minion-{self.started}"
        folder.mkdir(parents=True)
        words = {
            "--zookeeper": self._pinot.zookeeper_address,
            "--cluster-name": self._pinot.cluster_name,
            "--dir": str(folder),
            "--tag": self._tag,
            "--port": str(_free_port()),
            "--concurrency": "1",
            "--max-heap-mb": "256",
            "--wait": "600",
            "--zookeeper-session-timeout-ms": str(_SESSION_TIMEOUT_MS),
        }
        command = pinotctl(
            "-v",
            "serve",
            "minion",
            *(word for pair in words.items() for word in pair),
            controller=self._pinot.controller_url,
        )
        with (folder / "output.log").open("wb") as log:
            self._processes.append(subprocess.Popen(command, stdout=log, stderr=log, env=self._environment))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
