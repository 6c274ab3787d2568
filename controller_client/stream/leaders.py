"""Requests that only the leader of a partition can answer."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TypeVar

from controller_client.clock import Clock, SystemClock
from controller_client.common.retry import RetryPolicy, TransientFailureError, call_with_retry
from controller_client.errors import SourceError

__all__ = ["ask_leader"]

T = TypeVar("T")

# An election takes well under a second, or a few seconds on busy brokers.
_POLICY = RetryPolicy(attempts=10, deadline_s=30.0, first_wait_s=0.1, max_wait_s=5.0)


def ask_leader(
    call: Callable[[], T], fault: Callable[[str], SourceError], *, what: str, clock: Clock | None = None
) -> T:
    """Make a read-only request, retrying while a partition's leader is being elected.

    This happens briefly after a topic has been created and after a broker has stopped.

    Args:
        call: Makes the request with a client of ``confluent_kafka``; runs in the caller's thread, once per
            attempt.
        fault: Returns the error for Kafka's reason.
        what: Name of the request, for the log.
        clock: Time and sleep.

    Returns:
        What the call returned.

    Raises:
        SourceError: Kafka refuses, does not answer, or has no leader after half a minute.
    """
    from confluent_kafka import KafkaError, KafkaException

    leaderless = (KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE)

    def once() -> T:
        try:
            return call()
        except KafkaException as error:
            reason = error.args[0].str()
            if error.args[0].code() in leaderless:
                raise TransientFailureError(fault(reason), reason) from error
            raise fault(reason) from error

    rng = random.Random()  # noqa: S311 - jitter is no secret
    return call_with_retry(once, policy=_POLICY, clock=clock or SystemClock(), rng=rng, what=what)
