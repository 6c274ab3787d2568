"""A value that is read from ZooKeeper once, and again only after a watch said that it changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from controller_client.clock import Clock, SystemClock
from controller_client.zookeeper.connection import ZooKeeperConnection

__all__ = ["RECHECK_S", "Watched"]

RECHECK_S = 300.0
"""After this time it is read again without any sign, in case one was lost."""

_T = TypeVar("_T")


class Watched(Generic[_T]):
    """The latest value; to be asked by one thread.

    Nothing is missed: that the value is known is noted before it is read, and the read itself sets the watch,
    so a change is either in what was read, or calls and has it read again. Kazoo also calls when the
    connection is cut or the session ends; a client that was given up calls no more, which is seen by the
    connection's incarnation.

    Args:
        connection: What ``read`` uses.
        read: Reads the value and sets the watch that it is given.
        on_change: Called in kazoo's thread when the value is to be asked for again.
        clock: Time.
    """

    def __init__(
        self,
        connection: ZooKeeperConnection,
        read: Callable[[Callable[[Any], None]], _T],
        on_change: Callable[[], None],
        *,
        clock: Clock | None = None,
    ) -> None:
        self._connection = connection
        self._read = read
        self._on_change = on_change
        self._clock = clock or SystemClock()
        self._is_stale = True
        self._known: tuple[_T, int, float] | None = None

    def get(self) -> _T:
        """Return the value, read anew only where it may have changed.

        Raises:
            PinotPluginError: As ``read`` does; the next call reads again.
        """
        known, now_s = self._known, self._clock.monotonic()
        incarnation = self._connection.incarnation
        if known is not None and not self._is_stale:
            value, read_in, read_s = known
            if read_in == incarnation and now_s - read_s < RECHECK_S:
                return value
        self._known = None
        self._is_stale = False  # first: it may change again while it is read
        value = self._read(self._changed)
        self._known = (value, incarnation, now_s)
        return value

    def _changed(self, _event: Any) -> None:
        self._is_stale = True
        self._on_change()
