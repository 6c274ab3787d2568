"""Runs of the task in child processes: a lasting one, and one that may be killed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.cluster import PinotCluster
from tests.support.program import Program


@dataclass(frozen=True)
class Halt:
    """Where a run is paused or killed: a step of :mod:`.run_program`.

    Attributes:
        when: ``before`` or ``after`` the step.
        step: Name of the step.
        nth: The number of the occurrence, from 1.
        since: Occurrences count only after this step is done.
    """

    when: str
    step: str
    nth: int = 1
    since: str | None = None

    def order(self, how: str) -> dict[str, object]:
        """Return the halt in the programs' format; ``how`` is ``pause`` or ``kill``."""
        return {"how": how, "when": self.when, "step": self.step, "nth": self.nth, "since": self.since}

    def __str__(self) -> str:
        return f"{self.when} {self.step}" + (f" {self.nth}" if self.nth > 1 else "")


@dataclass(frozen=True)
class Ran:
    """The end of a run: with a report, with an error, or by a signal if it has neither."""

    report: Mapping[str, Any] | None = None
    error: Mapping[str, str] | None = None
    steps: tuple[str, ...] = ()

    @property
    def was_killed(self) -> bool:
        return self.report is None and self.error is None

    @property
    def well(self) -> Mapping[str, Any]:
        assert self.report is not None, f"the run failed: {self}"
        return self.report


class Runner(Program):
    """One child process, with one run at a time."""

    def __init__(self, pinot: PinotCluster, controller_url: str, log: Path) -> None:
        super().__init__(
            "tests.faults.file_ingestion.run_program",
            controller_url,
            pinot.zookeeper_address,
            pinot.cluster_name,
            log=log,
        )
        self._is_ready = False

    def run(
        self, table: str, halt: Halt | None = None, *, how: str = "kill", rollback: str | None = None
    ) -> Ran:
        self.start(table, halt, how=how, rollback=rollback)
        return self.ended()

    def start(
        self, table: str, halt: Halt | None = None, *, how: str = "pause", rollback: str | None = None
    ) -> None:
        """Start a run, or a rollback; ``how`` is the action at the halt: ``pause`` or ``kill``."""
        if not self._is_ready:
            assert self._answer()["event"] == "ready"
            self._is_ready = True
        self.send({"table": table, "rollback": rollback, "halt": halt.order(how) if halt else None})

    def wait_paused(self) -> None:
        answer = self._answer()
        assert answer["event"] == "paused", f"the run ended before its halt: {answer}\n{self.said()}"

    def resume(self) -> None:
        self.send({})

    def ended(self) -> Ran:
        """Wait for the end of the run."""
        answer = self._answer(may_be_dead=True)
        if not answer:
            self.process.communicate()
            return Ran()
        assert answer["event"] == "ended", answer
        return Ran(answer.get("report"), answer.get("error"), tuple(answer["steps"]))

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def _answer(self, *, may_be_dead: bool = False) -> dict[str, Any]:
        answer = self.answer()
        assert answer is not None or may_be_dead, f"the run's process has exited:\n{self.said()}"
        return answer or {}


class Runners:
    """The child processes of a test session, started before they are needed, since a JVM takes seconds."""

    def __init__(self, pinot: PinotCluster, controller_url: str, folder: Path) -> None:
        self._pinot = pinot
        self._controller_url = controller_url
        self._folder = folder
        self._started = 0
        self._lasting = self._new()
        self._victim = self._new()

    def lasting(self) -> Runner:
        """Return the run that is not killed."""
        self._lasting = self._living(self._lasting)
        return self._lasting

    def victim(self) -> Runner:
        """Return one that may be killed; the same one while it is alive."""
        self._victim = self._living(self._victim)
        return self._victim

    def prepare(self) -> None:
        """Begin to start the processes that the next test will need."""
        self.victim()

    def close(self) -> None:
        for runner in (self._lasting, self._victim):
            runner.close()

    def _living(self, runner: Runner) -> Runner:
        """Return the runner, or a new one if it has exited, such as for a role that was dead at its start."""
        if runner.is_alive:
            return runner
        runner.close()
        return self._new()

    def _new(self) -> Runner:
        self._started += 1
        return Runner(self._pinot, self._controller_url, self._folder / f"run-{self._started}.log")
