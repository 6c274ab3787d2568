"""The addresses of one cluster's controllers, of which the next one is asked when one fails."""

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
    """Base addresses; the one that answered last is asked first.

    Args:
        urls: One or more, without a slash at the end.
    """

    def __init__(self, urls: Sequence[str]) -> None:
        self._urls = tuple(urls)
        self._at = 0

    @property
    def current(self) -> str:
        """The address that calls go to now."""
        return self._urls[self._at]

    def in_turn(self, attempt: Callable[[], T]) -> T:
        """Make a call at each address, from the present one on, until it is answered at one.

        Args:
            attempt: Makes the call at `current`; raises `TransientFailureError` or `UnreachableError` where
                the next may be asked.

        Raises:
            TransientFailureError: The last one's, where none has answered; its error names the others, too.
            UnreachableError: Likewise.
            OutcomeUnknownError: Nobody knows whether it was applied. The next call goes to the next address,
                since this one may hang.
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
                logger.info("%s; %s is asked instead", error, self.current)
            except OutcomeUnknownError:
                self._at = (at + 1) % len(self._urls)
                raise
        raise AssertionError("there is no address")


def _name_others(error: PinotPluginError, failed: Mapping[str, str]) -> None:
    if failed:
        others = "; ".join(f"{url}: {message}" for url, message in failed.items())
        error.message = f"{error.message} (before: {others})"
        error.args = (error.message,)
