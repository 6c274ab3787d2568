"""When the wait for a Spark job ends: the job is scripted, and the clock is a fake."""

from __future__ import annotations

from collections.abc import Callable

from spark_connectors.file_ingestion.job import watch
from tests.unit.fake_clock import FakeClock

TIMEOUT_S = 100.0


class PlayedJob:
    """A job whose tasks end at given times; optionally, one more task never ends."""

    def __init__(self, clock: FakeClock, ends_s: list[float], *, begins_s: float, hangs: bool) -> None:
        self._clock = clock
        self._ends_s = ends_s
        self._begins_s = begins_s
        self._hangs = hangs
        self.cancelled_at_s: float | None = None

    @property
    def is_over(self) -> bool:
        if self._hangs:
            return self.cancelled_at_s is not None
        return self._clock.monotonic() >= max(self._ends_s)

    def running_and_ended(self) -> tuple[int, int]:
        now_s = self._clock.monotonic()
        ended = sum(end_s <= now_s for end_s in self._ends_s)
        running = len(self._ends_s) - ended + self._hangs
        return (running if now_s >= self._begins_s else 0), ended

    def cancel(self) -> None:
        self.cancelled_at_s = self._clock.monotonic()


def played(
    ends_s: list[float],
    *,
    begins_s: float = 0.0,
    hangs: bool = False,
    is_settled: Callable[[float], bool] = lambda _now_s: False,
) -> tuple[PlayedJob, float]:
    """Wait for such a job; return it, and when the wait ended."""
    clock = FakeClock()
    job = PlayedJob(clock, ends_s, begins_s=begins_s, hangs=hangs)
    watch(job, clock, lambda: is_settled(clock.monotonic()), task_timeout_s=TIMEOUT_S, poll_interval_s=1.0)
    return job, clock.monotonic()


def test_the_wait_ends_with_the_job() -> None:
    job, ended_s = played([10.0, 50.0])
    assert (job.cancelled_at_s, ended_s) == (None, 50.0)


def test_the_wait_ends_with_the_last_result_before_the_job_ends() -> None:
    job, ended_s = played([10.0], hangs=True, is_settled=lambda now_s: now_s >= 20.0)
    assert (job.cancelled_at_s, ended_s) == (None, 20.0)


def test_a_job_whose_tasks_end_one_after_the_other_may_take_long() -> None:
    job, ended_s = played([n * 150.0 for n in range(1, 20)])
    assert (job.cancelled_at_s, ended_s) == (None, 19 * 150.0)


def test_the_wait_continues_while_the_job_waits_for_executors() -> None:
    job, ended_s = played([5_050.0], begins_s=5_000.0)
    assert (job.cancelled_at_s, ended_s) == (None, 5_050.0)


def test_a_hanging_task_is_cancelled_after_its_time_out() -> None:
    job, _ = played([10.0, 90.0], hangs=True)
    assert job.cancelled_at_s is not None
    assert 90.0 + TIMEOUT_S < job.cancelled_at_s < 90.0 + 2 * TIMEOUT_S
