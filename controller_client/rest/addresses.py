"""The addresses of a cluster's controllers; when one fails, the next is tried."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from controller_client.common.retry import TransientFailureError
from controller_client.errors import OutcomeUnknownError, PinotPluginError, UnreachableError

__all__ = ["Addresses"]

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Addresses:
    """Base addresses; the one that answered last is tried first.

    Args:
        urls: One or more addresses, without a trailing slash.
    """

    def __init__(self, urls: Sequence[str]) -> None:
        self._urls = tuple(urls)
        self._at = 0

    @property
    def current(self) -> str:
        """The address currently in use."""
        return self._urls[self._at]

    def in_turn(self, attempt: Callable[[], T]) -> T:
        """Make a call at each address, starting with the current one, until one answers.

        Args:
            attempt: Makes the call at `current`; raises `TransientFailureError` or `UnreachableError` if the
                next address may be tried.

        Raises:
            TransientFailureError: No address answered; the error is the last one's and also names the others.
            UnreachableError: No connection to any address; the error names them all.
            OutcomeUnknownError: The call may or may not have been applied. The next call goes to the next
                address, because this one may hang.
        """
        failed: dict[str, str] = {}
        for left in reversed(range(len(self._urls))):
            at = self._at
            try:
                return attempt()
            except (TransientFailureError, UnreachableError) as failure:
                error = failure.error if isinstance(failure, TransientFailureError) else failure
                self._at = (at + 1) % len(self._urls)
                if not left:
                    _name_others(error, failed)
                    raise
                failed[self._urls[at]] = error.message
                logger.info("%s; trying %s instead", error, self.current)
            except OutcomeUnknownError:
                self._at = (at + 1) % len(self._urls)
                raise
        raise AssertionError("there is no address")


def _name_others(error: PinotPluginError, failed: Mapping[str, str]) -> None:
    if failed:
        others = "; ".join(f"{url}: {message}" for url, message in failed.items())
        error.message = f"{error.message} (previously: {others})"
        error.args = (error.message,)
