"""Several ``pinotctl`` processes with the same role, and the order of events according to ZooKeeper.

There is no limit in seconds: the owner of a session with the usual timeout is killed just before the holder,
and that session must still exist when ZooKeeper takes the lease from the killed holder.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Self

from controller_client.zookeeper import PropertyStore, Standing, read_standing
from tests.support.pinotctl import pinotctl
from tests.support.releases import THIS, Release
from tests.support.wait import wait_for

__all__ = ["SESSION_S", "OrdinarySession", "Several", "standing"]

SESSION_S = 4.0
"""Requested here; with a tick of 2 s ZooKeeper ends such a session within 6 s, and a usual one after 10."""

_REPOSITORY = Path(__file__).parents[3]


def standing(store: PropertyStore, name: str) -> list[Standing]:
    """Return the queue for a lease or a lock, the holder first."""
    return [each for each in read_standing(store) if each.name == name]


class OrdinarySession:
    """A process with a session of the usual timeout, killed together with a holder."""

    def __init__(self, store: PropertyStore) -> None:
        self._store = store
        self._folder = f"/{store.cluster_name}/PINOT_PLUGINS/tests/{uuid.uuid4().hex}"
        command = [sys.executable, "-m", "tests.faults.takeover.ordinary_session"]
        self._process = subprocess.Popen(
            [*command, store.zookeeper_address, f"{self._folder}/x"],
            stdout=subprocess.PIPE,
            text=True,
            cwd=_REPOSITORY,
            env={**os.environ, "PYTHONPATH": str(_REPOSITORY)},
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "held\n"

    def kill(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
            self._process.communicate()

    def ended_in(self) -> int:
        """Wait for the end of the session; returns ZooKeeper's number of the transaction that ended it."""
        children = self._store.connection.read_children
        wait_for(lambda: not children(self._folder).names, "the end of a session of the usual timeout")
        return children(self._folder).zxid

    def close(self) -> None:
        self.kill()
        self._store.connection.delete(self._folder, recursive=True)


class Several:
    """Processes with the same role, each with a log of its output."""

    def __init__(self, folder: Path, controller_url: str, *words: str) -> None:
        self._folder = folder
        self._command = pinotctl("-v", *words, f"--session-timeout={SESSION_S}", controller=controller_url)
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, release: Release = THIS) -> subprocess.Popen[bytes]:
        with (self._folder / f"{len(self._processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                self._command,
                stdout=log,
                stderr=log,
                env=release.environment(),
                start_new_session=True,  # with its children it is a process group of its own
            )
        self._processes.append(process)
        return process

    def log(self, process: subprocess.Popen[bytes]) -> str:
        """Return the output of a process."""
        return (self._folder / f"{self._processes.index(process)}.log").read_text(errors="replace")

    def wait_logged(self, process: subprocess.Popen[bytes], text: str) -> None:
        def logged() -> bool:
            assert process.poll() is None, self.log(process)
            return text in self.log(process)

        wait_for(logged, f"{process.args!r} to log {text!r}")

    def wait_in_line(self, store: PropertyStore, name: str, *processes: subprocess.Popen[bytes]) -> None:
        """Wait until these are queued in this order."""

        def there() -> bool:
            found = [each.holder.pid for each in standing(store, name) if each.holder]
            return found == [each.pid for each in processes]

        wait_for(there, f"{[each.pid for each in processes]} to be queued for {name}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()
