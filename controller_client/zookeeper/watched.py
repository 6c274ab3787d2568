"""A value read from ZooKeeper once, and again only after a watch reports a change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from controller_client.clock import Clock, SystemClock
from controller_client.zookeeper.connection import ZooKeeperConnection

__all__ = ["RECHECK_S", "Watched"]

RECHECK_S = 300.0
"""After this time it is reread even without a watch event, in case one was lost."""

_T = TypeVar("_T")


class Watched(Generic[_T]):
    """The latest value; not thread-safe.

    No change is missed: the value is marked fresh before it is read, and the read itself sets the watch, so a
    change is either in the value read or triggers another read. Kazoo also calls the watch when the
    connection breaks or the session ends; the watches of an abandoned client are not called, which the
    connection's incarnation reveals.

    Args:
        connection: The connection used by ``read``.
        read: Reads the value and sets the given watch.
        on_change: Called in kazoo's thread when the value should be read again.
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
        """Return the value, rereading it only if it may have changed.

        Raises:
            PinotPluginError: ``read`` raised it; the next call reads again.
        """
        known, now_s = self._known, self._clock.monotonic()
        incarnation = self._connection.incarnation
        if known is not None and not self._is_stale:
            value, read_in, read_s = known
            if read_in == incarnation and now_s - read_s < RECHECK_S:
                return value
        self._known = None
        self._is_stale = False  # first, because it may change again during the read
        value = self._read(self._changed)
        self._known = (value, incarnation, now_s)
        return value

    def _changed(self, _event: Any) -> None:
        self._is_stale = True
        self._on_change()
