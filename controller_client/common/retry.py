"""The one place for retries.

Retries are only for calls that are safe to repeat: reads, calls of which not a byte was sent, and a
compare-and-set that lost a race. What may be repeated is decided in :mod:`controller_client.rest.transport`,
:mod:`controller_client.stream.leaders` and :mod:`controller_client.zookeeper.compare_and_set`; how often and
for how long is decided here.
"""

from __future__ import annotations

import email.utils
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type

from controller_client.clock import Clock
from controller_client.common.parsing import whole_number
from controller_client.errors import ConfigError, PinotPluginError

__all__ = ["RetryPolicy", "TransientFailureError", "call_with_retry", "retry_after_s"]

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True)
class RetryPolicy:
    """How often and for how long a repeatable call is retried.

    Attributes:
        attempts: Total number of calls, including the first; 1 disables retries.
        deadline_s: No new attempt starts later than this after the first one, in seconds.
        first_wait_s: Longest wait before the second attempt; it doubles with each attempt.
        max_wait_s: Longest wait before any attempt, unless the server's Retry-After asks for more.
    """

    attempts: int = 4
    deadline_s: float = 30.0
    first_wait_s: float = 0.2
    max_wait_s: float = 5.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ConfigError(f"attempts is {self.attempts}", expected="at least 1")
        if min(self.deadline_s, self.first_wait_s, self.max_wait_s) < 0:
            raise ConfigError("a time of the retry policy is negative", expected="seconds, 0 or more")


class TransientFailureError(Exception):
    """A failure of a call that may be repeated; raised only to :func:`call_with_retry`.

    Args:
        error: The error to raise when no attempt is left.
        reason: Short text for the log.
        retry_after_s: The server's Retry-After, in seconds.
    """

    def __init__(self, error: PinotPluginError, reason: str, retry_after_s: float | None = None) -> None:
        super().__init__(reason)
        self.error = error
        self.reason = reason
        self.retry_after_s = retry_after_s


def call_with_retry(
    call: Callable[[], T],
    *,
    policy: RetryPolicy,
    clock: Clock,
    rng: random.Random,
    what: str,
    log_level: int = logging.WARNING,
) -> T:
    """Make a call, and retry it after a :class:`TransientFailureError`, as the policy allows.

    Args:
        call: Runs in the caller's thread, once per attempt.
        policy: Attempts, waits and total time.
        clock: Time and sleep.
        rng: Random source for the jitter: a wait is between half and all of its length, so that clients that
            failed together do not return together.
        what: Name of the call in the log, without credentials.
        log_level: Level of the log line for each failure followed by another attempt.

    Returns:
        What the call returned.

    Raises:
        PinotPluginError: The error of the last attempt, when no attempt or no time is left.
    """
    started = clock.monotonic()

    def wait(state: RetryCallState) -> float:
        asked_s = _failure(state).retry_after_s
        if asked_s is not None:
            return asked_s
        longest_s = min(policy.max_wait_s, policy.first_wait_s * 2.0 ** (state.attempt_number - 1))
        return longest_s * rng.uniform(0.5, 1.0)

    def stop(state: RetryCallState) -> bool:
        if state.attempt_number >= policy.attempts:
            return True
        # A wait that would end after the deadline does not start: the caller gets its error now.
        return clock.monotonic() - started + state.upcoming_sleep > policy.deadline_s

    def log(state: RetryCallState) -> None:
        logger.log(
            log_level,
            "%s failed (%s), attempt %d of %d; retrying in %.2f s",
            what,
            _failure(state).reason,
            state.attempt_number,
            policy.attempts,
            state.upcoming_sleep,
        )

    retrying = Retrying(
        retry=retry_if_exception_type(TransientFailureError),
        wait=wait,
        stop=stop,
        sleep=clock.sleep,
        before_sleep=log,
        reraise=True,
    )
    try:
        return retrying(call)
    except TransientFailureError as failure:
        raise failure.error from failure.__cause__


def retry_after_s(header: str | None, now_s: float) -> float | None:
    """Parse a ``Retry-After`` header: seconds from now; None if it is neither a number nor a date.

    Args:
        header: Its value; None if the response has none.
        now_s: The current time, in seconds since 1970.
    """
    if header is None:
        return None
    seconds = whole_number(header.strip())
    if seconds is not None:
        return float(seconds)
    if email.utils.parsedate_tz(header) is None:
        return None
    return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - now_s)


def _failure(state: RetryCallState) -> TransientFailureError:
    error = state.outcome.exception() if state.outcome else None
    if not isinstance(error, TransientFailureError):
        raise TypeError(f"wait requested after {error!r}")
    return error
