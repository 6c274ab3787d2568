"""A realtime table and its key coordinators, each a process: ``pinotctl upsert coordinate``."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

from controller_client.upsert.record import LOCK, CoordinatorRecord, read_coordinator
from controller_client.zookeeper import TableLock
from tests.integration.upsert.realtime_table import Clients, RealtimeTable
from tests.support.coordinator import start_coordinator
from tests.support.pinotctl import pinotctl
from tests.support.spark import LOCAL_SPARK
from tests.support.wait import wait_for

__all__ = ["CoordinatedTable"]

_END_TIMEOUT_S = 300.0


class CoordinatedTable(RealtimeTable):
    """The table; each coordinator has its own folder below the table's, and all write to one log.

    Args:
        clients: The clients.
        prefix: Of its name.
        partitions: The number of partitions of its topic.
        folder: The table's folder.
        engine: The engine of its coordinators.
    """

    def __init__(
        self, clients: Clients, prefix: str, partitions: int, folder: Path, engine: str = "local"
    ) -> None:
        super().__init__(clients, prefix, partitions)
        self.folder = folder
        self.engine = engine
        self.runs: list[subprocess.Popen[bytes]] = []

    def command(self, *arguments: str) -> list[str]:
        """The command ``pinotctl`` of this checkout, for this cluster."""
        return pinotctl(*arguments, controller=self.pinot.controller_url)

    def start(self, *options: str, folder: str = "") -> subprocess.Popen[bytes]:
        """Start a coordinator with its own folder below the table's; all coordinators write to one log."""
        spark = LOCAL_SPARK if self.engine == "spark" else None
        process = start_coordinator(
            self.name,
            self.folder,
            self.pinot.controller_url,
            "--buckets=3",
            *options,
            spark=spark,
            checkpoint=folder or "checkpoint",
        )
        self.runs.append(process)
        return process

    def has_state(self, folder: str) -> bool:
        """Whether the folder contains the state of a coordinator with the engine local."""
        return any((self.folder / folder).glob("*/*/manifest.json"))

    def end(self, process: subprocess.Popen[bytes], number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal; return the exit code of the process."""
        process.send_signal(number)
        return process.wait(_END_TIMEOUT_S)

    def once(self, *options: str) -> None:
        """Run a coordinator until it has processed everything."""
        process = self.start("--once", *options)
        assert process.wait(_END_TIMEOUT_S * 2) == 0, self.log()

    def record(self) -> CoordinatorRecord:
        """The coordinator's own record."""
        return read_coordinator(self.store, self.full_name) or CoordinatorRecord(0, 0)

    def wait_lock(self, process: subprocess.Popen[bytes]) -> None:
        """Wait until a process has become the table's coordinator."""
        lock = TableLock(self.store, self.full_name, LOCK, owner="looks")

        def held() -> bool:
            assert process.poll() is None, self.log()
            holder = lock.holder()
            return holder is not None and holder.pid == process.pid

        wait_for(held, f"the lock of {self.name}", _END_TIMEOUT_S)

    def log(self) -> str:
        """The end of the coordinators' log."""
        return (self.folder / "coordinator.log").read_text(errors="replace")[-12000:] if self.runs else ""

    def delete(self) -> None:
        """Stop all coordinators, and delete the table and its topics."""
        for process in self.runs:
            if process.poll() is None:
                self.end(process, signal.SIGKILL)
        super().delete()
