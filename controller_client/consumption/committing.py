"""Forced commits that are known to have happened.

A server ignores the message for a segment that it has not loaded yet, silently; so the message is sent again,
to those segments that are still open. Of a pauseless table (Pinot 1.4 and later) a segment that is open no
more may still have to be built: it counts as committed when it is.
"""

from __future__ import annotations

import logging
from collections.abc import Collection

from controller_client.common.names import SegmentName
from controller_client.common.waiting import wait_until
from controller_client.consumption.table_control import TableControl
from controller_client.errors import OutcomeUnknownError, RejectedError, UnreachableError
from controller_client.helix.stream_segments import SegmentRecord

__all__ = ["Forcer", "describe_building", "describe_open", "failed_segments", "force_commit"]

logger = logging.getLogger(__name__)

_FIRST_AGAIN_S = 2.0
_LONGEST_AGAIN_S = 15.0


class Forcer:
    """Sends the message to commit, and again to segments that stay open.

    Args:
        control: The table.
        batch_size: How many segments commit at a time; Pinot 1.4 and later.
    """

    def __init__(self, control: TableControl, *, batch_size: int | None = None) -> None:
        self._control = control
        self._batch_size = batch_size
        self._sent_s: dict[str, float] = {}
        self._again_s: dict[str, float] = {}

    def sent(self, segments: Collection[str]) -> None:
        """Note that the message was sent to these by another call."""
        now = self._control.clock.monotonic()
        for segment in segments:
            self._sent_s[segment] = now
            self._again_s.setdefault(segment, _FIRST_AGAIN_S)

    def force(self, segments: Collection[str]) -> None:
        """Send the message to those that it was not sent to, or that are open long after it was.

        Raises:
            RejectedError: Pinot refuses the very first one.
        """
        now = self._control.clock.monotonic()
        due = [each for each in segments if now >= self._sent_s.get(each, -1e9) + self._again_s.get(each, 0)]
        if not due:
            return
        is_first = not self._sent_s
        for segment in due:
            if segment in self._sent_s:
                self._again_s[segment] = min(self._again_s[segment] * 2, _LONGEST_AGAIN_S)
        self.sent(due)
        try:
            self._control.client.consumption.force_commit(
                self._control.table, segments=due, batch_size=self._batch_size
            )
        except (RejectedError, OutcomeUnknownError, UnreachableError) as error:
            if is_first and isinstance(error, RejectedError):
                raise
            # Sending it twice does no harm, and a silent server may come back: the final error names the
            # servers that did not.
            logger.warning("%s: forcing the commit failed: %s", self._control.table, error.message)


def failed_segments(control: TableControl) -> list[str]:
    """Return the consuming segments that every server has in ERROR: they cannot be committed."""
    view = control.client.tables.external_view(control.table)
    return [name for name in control.ideal().consuming if set(view.get(name, {}).values()) == {"ERROR"}]


def describe_open(control: TableControl, open_segments: dict[str, tuple[str, ...]]) -> str:
    """List which partitions are open on which servers, and which of these are away."""
    live = set(control.store.live_instances())
    parts = []
    for name, servers in sorted(open_segments.items()):
        segment = SegmentName.parse(name)
        where = ", ".join(each if each in live else f"{each} (not connected)" for each in servers)
        parts.append(f"partition {segment.partition if segment else '?'} ({name}) on {where}")
    return "; ".join(parts)


def describe_building(control: TableControl, segments: Collection[SegmentRecord]) -> str:
    """List which segments are consumed to their end, but not built, and what servers have of them."""
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
    """Commit what is consumed now, and go on consuming.

    Args:
        control: The table.
        timeout_s: Seconds until the last check.
        wait: Until all of it is committed, built and sealed on the servers; else send the message alone.
        batch_size: How many segments commit at a time; Pinot 1.4 and later.

    Returns:
        The segments that were open.

    Raises:
        NotFoundError: There is no such table.
        RejectedError: The table is disabled, or has no live server; or it has an upsert of Pinot's own with
            which Pinot forces no commit.
        WaitTimeoutError: Some are still open; the error lists which, and on which servers.
        OutcomeUnknownError: The reply was lost, and it was not to be waited.
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
        return f"not built yet: {describe_building(control, building)}" if building else None

    wait_until(
        missing,
        what=f"{len(first)} segments of {control.table} committed",
        timeout_s=timeout_s,
        clock=control.clock,
        remedy="see the logs of the servers named, and of the controller",
    )
    return tuple(first)
