"""Processes of ``pinotctl`` that are one of several, and what ZooKeeper says of the order of events.

No limit in seconds: a session of the usual time falls silent just before the holder is killed, and ZooKeeper
must still have that when it takes the lease from the killed one.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

from controller_client.zookeeper import PropertyStore, Standing, read_standing
from tests.support.pinotctl import pinotctl
from tests.support.releases import THIS, Release
from tests.support.wait import wait_for

__all__ = ["SESSION_S", "OrdinarySession", "Several", "standing"]

SESSION_S = 4.0
"""Asked for here; with a tick of 2 s ZooKeeper ends such a session within 6 s, and a usual one after 10."""

_REPOSITORY = Path(__file__).parents[3]


def standing(store: PropertyStore, name: str) -> list[Standing]:
    """Who stands in line for a lease or a lock, the holder first."""
    return [each for each in read_standing(store) if each.name == name]


class OrdinarySession:
    """A process with a session of the usual time, killed together with a holder."""

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
        """ZooKeeper's number of the transaction that ended it; waits for that."""
        children = self._store.connection.read_children
        wait_for(lambda: not children(self._folder).names, "the end of a session of the usual time")
        return children(self._folder).zxid

    def close(self) -> None:
        self.kill()
        self._store.connection.delete(self._folder, recursive=True)


class Several:
    """Processes that do the same; each with a log of what it says."""

    def __init__(self, folder: Path, controller_url: str, *words: str) -> None:
        self._folder = folder
        self._command = pinotctl("-v", *words, f"--session-timeout={SESSION_S}", controller=controller_url)
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, release: Release = THIS) -> subprocess.Popen[bytes]:
        with (self._folder / f"{len(self._processes)}.log").open("wb") as log:
            process = subprocess.Popen(self._command, stdout=log, stderr=log, env=release.environment())
        self._processes.append(process)
        return process

    def log(self, process: subprocess.Popen[bytes]) -> str:
        """What a process has said."""
        return (self._folder / f"{self._processes.index(process)}.log").read_text(errors="replace")

    def wait_said(self, process: subprocess.Popen[bytes], text: str) -> None:
        def said() -> bool:
            assert process.poll() is None, self.log(process)
            return text in self.log(process)

        wait_for(said, f"{text!r} of {process.args!r}")

    def wait_in_line(self, store: PropertyStore, name: str, *processes: subprocess.Popen[bytes]) -> None:
        """Wait until these stand in line, in this order."""

        def there() -> bool:
            found = [each.holder.pid for each in standing(store, name) if each.holder]
            return found == [each.pid for each in processes]

        wait_for(there, f"{[each.pid for each in processes]} in line for {name}")

    def close(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()
