"""The addresses of one cluster's controllers, of which the next one is asked when one fails."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from controller_client.common.retry import TransientFailureError

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
            attempt: Makes the call at `current`; raises `TransientFailureError` where the next may be asked.

        Raises:
            TransientFailureError: The last one's, where none has answered.
        """
        for left in reversed(range(len(self._urls))):
            at = self._at
            try:
                return attempt()
            except TransientFailureError as failure:
                self._at = (at + 1) % len(self._urls)
                if not left:
                    raise
                logger.info("%s; %s is asked instead", failure.error, self.current)
        raise AssertionError("there is no address")
