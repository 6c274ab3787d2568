"""Keeps what is known of a call while its effect is read back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from controller_client.errors import AppliedError, NotAppliedError, OutcomeUnknownError

__all__ = ["keeping_outcome"]


@contextmanager
def keeping_outcome(error: OutcomeUnknownError | AppliedError) -> Iterator[None]:
    """Run what follows a call: reads of its effect, or further steps.

    Something that fails here as *not applied* says that about itself, not about the call.

    Args:
        error: What is known of the call; raised in place of such a failure.

    Raises:
        OutcomeUnknownError: The given error.
        AppliedError: The given error.
    """
    try:
        yield
    except NotAppliedError as failure:
        raise error from failure
