"""Forced commits that are confirmed.

A server silently ignores the message for a segment that it has not loaded yet, so the message is sent again
for segments that are still open. In a pauseless table (Pinot 1.4 and later), a segment that is no longer open
may still have to be built: it counts as committed once it is built.
"""

from __future__ import annotations

import logging
from collections.abc import Collection

from controller_client.common.names import SegmentName
from controller_client.common.text import counted_text
from controller_client.common.waiting import wait_until
from controller_client.consumption.table_control import TableControl
from controller_client.errors import OutcomeUnknownError, RejectedError, UnreachableError
from controller_client.helix.stream_segments import StreamSegment

__all__ = ["Forcer", "describe_building", "describe_open", "failed_segments", "force_commit"]

logger = logging.getLogger(__name__)

_FIRST_RETRY_S = 2.0
_LONGEST_RETRY_S = 15.0


class Forcer:
    """Sends the commit message, and repeats it for segments that stay open.

    Args:
        control: The table.
        batch_size: Segments that commit at a time (Pinot 1.4 and later).
    """

    def __init__(self, control: TableControl, *, batch_size: int | None = None) -> None:
        self._control = control
        self._batch_size = batch_size
        self._sent_s: dict[str, float] = {}
        self._retry_s: dict[str, float] = {}

    def sent(self, segments: Collection[str]) -> None:
        """Record that another call has sent the message for these segments."""
        now = self._control.clock.monotonic()
        for segment in segments:
            self._sent_s[segment] = now
            self._retry_s.setdefault(segment, _FIRST_RETRY_S)

    def force(self, segments: Collection[str]) -> list[str]:
        """Send the message for segments that did not get it yet, or are still open long after they got it.

        Returns:
            The latter.

        Raises:
            RejectedError: Pinot refuses the very first message.
        """
        now = self._control.clock.monotonic()
        due = [each for each in segments if now >= self._sent_s.get(each, -1e9) + self._retry_s.get(each, 0)]
        again = [segment for segment in due if segment in self._sent_s]
        if not due:
            return again
        is_first = not self._sent_s
        for segment in again:
            self._retry_s[segment] = min(self._retry_s[segment] * 2, _LONGEST_RETRY_S)
        self.sent(due)
        try:
            self._control.client.consumption.force_commit(
                self._control.table, segments=due, batch_size=self._batch_size
            )
        except (RejectedError, OutcomeUnknownError, UnreachableError) as error:
            if is_first and isinstance(error, RejectedError):
                raise
            # Sending it twice does no harm, and a server that does not answer may come back. The final error
            # names the servers that did not.
            logger.warning("%s: could not force the commit: %s", self._control.table, error.message)
        return again


def failed_segments(control: TableControl) -> list[str]:
    """Return the consuming segments that are in ERROR on every server: they cannot be committed."""
    view = control.client.tables.external_view(control.table)
    return [name for name in control.ideal().consuming if set(view.get(name, {}).values()) == {"ERROR"}]


def describe_open(control: TableControl, open_segments: dict[str, tuple[str, ...]]) -> str:
    """List which partitions are open on which servers, and which of the servers are not connected."""
    live = set(control.store.live_instances())
    parts = []
    for name, servers in sorted(open_segments.items()):
        segment = SegmentName.parse(name)
        where = ", ".join(each if each in live else f"{each} (not connected)" for each in servers)
        parts.append(f"partition {segment.partition if segment else '?'} ({name}) on {where}")
    return "; ".join(parts)


def describe_building(control: TableControl, segments: Collection[StreamSegment]) -> str:
    """List the segments that are fully consumed but not built, with their states on servers."""
    view = control.client.tables.external_view(control.table)
    parts = []
    for each in segments:
        name = each.segment.name
        where = ", ".join(f"{state} on {server}" for server, state in sorted(view.get(name, {}).items()))
        parts.append(f"partition {each.segment.partition} ({name}), {where or 'on no server'}")
    return "; ".join(parts)


def force_commit(
    control: TableControl, *, timeout_s: float, wait: bool = True, batch_size: int | None = None
) -> tuple[str, ...]:
    """Commit the consuming segments; consumption continues in new ones.

    Args:
        control: The table.
        timeout_s: Seconds until the last check.
        wait: Wait until everything is committed, built and sealed on the servers; otherwise only send the
            message.
        batch_size: Segments that commit at a time (Pinot 1.4 and later).

    Returns:
        The segments that were open.

    Raises:
        NotFoundError: There is no such table.
        RejectedError: The table is disabled, or has no live server, or uses a kind of Pinot's own upsert for
            which Pinot does not force commits.
        WaitTimeoutError: Some segments are still open; the error lists them with their servers.
        OutcomeUnknownError: The reply was lost (only without ``wait``).
    """
    first = control.ideal().consuming
    if not first:
        return ()
    if not wait:
        control.client.consumption.force_commit(control.table, batch_size=batch_size)
        return tuple(first)
    forcer = Forcer(control, batch_size=batch_size)

    def missing() -> str | None:
        now = control.ideal().consuming
        left = {name: servers for name, servers in now.items() if name in first}
        forcer.force(left)
        left = left or {name: each for name, each in control.servers_consume().items() if name in first}
        if left:
            return f"still open: {describe_open(control, left)}"
        building = [each for each in control.committing() if each.segment.name in first]
        return f"not yet built: {describe_building(control, building)}" if building else None

    wait_until(
        missing,
        what=f"{counted_text(len(first), 'segment')} of {control.table} to be committed",
        timeout_s=timeout_s,
        clock=control.clock,
        remedy="see the logs of these servers and of the controller",
    )
    return tuple(first)
