"""The scheduler as a child process whose clock the test controls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.integration.file_ingestion.scenes.scheduler_program import MADE, STEP_S
from tests.support.cluster import PinotCluster
from tests.support.program import Program

EVERY_4_HOURS = "0 0 */4 * * ?"
_HOURS = 4

__all__ = ["EVERY_4_HOURS", "MADE", "SteeredScheduler", "Triggered"]


@dataclass(frozen=True)
class Triggered:
    """One run of a trigger: when it was due, and its report or its error."""

    at: str
    report: Mapping[str, Any] | None
    error: str | None
    error_type: str | None
    seconds: float

    def assert_well(self) -> None:
        assert self.report is not None, f"{self.at}: {self.error_type}: {self.error}"

    def assert_failed(self) -> None:
        assert self.error is not None, f"{self.at}: the run succeeded: {self.report}"

    @property
    def well(self) -> Mapping[str, Any]:
        """The report of a run that must have succeeded."""
        self.assert_well()
        return self.report or {}

    @property
    def failed(self) -> str:
        """The error of a run that must have failed."""
        self.assert_failed()
        return self.error or ""


class SteeredScheduler(Program):
    """One such process. Its time begins at 07:50 of a day, and never goes backwards.

    Args:
        pinot: The cluster.
        log: File for the stderr of the process.
    """

    def __init__(self, pinot: PinotCluster, log: Path) -> None:
        self._now = datetime(2024, 6, 1, tzinfo=UTC)
        self._pending = 1  # answers; the first means that it is ready
        super().__init__(
            "tests.integration.file_ingestion.scenes.scheduler_program",
            *(pinot.controller_url, pinot.zookeeper_address, pinot.cluster_name),
            log=log,
            TZ="UTC",
        )

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self.process.pid

    def begin(self, table: str, *, alongside: SteeredScheduler | None = None) -> None:
        """Schedule a table: on a new day at 07:50, or at the time of another scheduler."""
        # A test that failed in the middle has not fetched its runs.
        while self._pending:
            self._answer()
        midnight = self._now.replace(hour=0, minute=0) + timedelta(days=1)
        self._now = midnight + timedelta(hours=7, minutes=50) if alongside is None else alongside._now
        self._send(table=table, now=self._now.timestamp())
        self._answer()

    def run_until(self, time: str, *, lock_wait_s: float = 60.0) -> list[Triggered]:
        """Advance the clock, and run everything that becomes due to its end.

        Args:
            time: ``HH:MM`` of the same day.
            lock_wait_s: How long a run waits for another one of the table.
        """
        hour, _, minute = time.partition(":")
        self._let_go(self._now.replace(hour=int(hour), minute=int(minute)), lock_wait_s)
        return self.what_ran()

    def trigger(self, *, lock_wait_s: float = 60.0) -> Triggered:
        """Advance the clock to the next time of a four-hour schedule, which triggers one run."""
        self.start_trigger(lock_wait_s=lock_wait_s)
        (run,) = self.what_ran()
        return run

    def start_trigger(self, *, lock_wait_s: float = 60.0) -> None:
        """The same without waiting; `what_ran` waits."""
        hours = _HOURS - self._now.hour % _HOURS
        self._let_go(self._now.replace(minute=0) + timedelta(hours=hours), lock_wait_s)

    def start_step(self, *, lock_wait_s: float = 60.0) -> None:
        """Advance the clock by one step of the scheduler's loop, without waiting."""
        self._let_go(self._now + timedelta(seconds=STEP_S), lock_wait_s)

    def what_ran(self) -> list[Triggered]:
        """Wait until the granted time has passed, and return the runs since."""
        return [self._triggered(run) for run in self._answer()["runs"]]

    def build(self, table: str, segment: str, csv: Path) -> Path:
        """Build a segment from a file without any task; return its tar file."""
        self._send(build=str(csv), table=table, segment=segment, folder=str(csv.parent))
        return Path(self._answer()["tar"])

    def _let_go(self, until: datetime, lock_wait_s: float) -> None:
        self._now = until
        self._send(until=until.timestamp(), lock_wait_s=lock_wait_s)

    def _triggered(self, run: Mapping[str, Any]) -> Triggered:
        assert "report" in run or "error" in run, f"a run failed unexpectedly:\n{self.said()}"
        error = run.get("error") or {}
        return Triggered(
            at=f"{datetime.fromtimestamp(run['at'], UTC):%H:%M}",
            report=run.get("report"),
            error=error.get("text"),
            error_type=error.get("type"),
            seconds=run["seconds"],
        )

    def _send(self, **command: Any) -> None:
        self.send(command)
        self._pending += 1

    def _answer(self) -> dict[str, Any]:
        answer = self.answer()
        assert answer is not None, f"the scheduler does not answer:\n{self.said()}"
        self._pending -= 1
        return answer
