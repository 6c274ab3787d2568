"""Waits until rows are visible: until a version is complete, or contains all produced rows."""

from __future__ import annotations

from contextlib import ExitStack, closing

from controller_client.clock import Clock
from controller_client.common.names import TableName
from controller_client.common.waiting import wait_until
from controller_client.stream.offsets import open_offsets
from controller_client.upsert.columns import NIL
from controller_client.upsert.low_water_mark import read_mark
from controller_client.upsert.tables import QueriedTable
from controller_client.upsert.version_ends import VersionEnds
from controller_client.zookeeper import PropertyStore

__all__ = ["wait_mark", "wait_produced_rows"]

_REMEDY = "see 'pinotctl upsert status'"


def wait_mark(
    store: PropertyStore, table: TableName, version: int, *, timeout_s: float, clock: Clock
) -> None:
    """Wait until a table's mark is at least a version.

    Args:
        store: The cluster's property store.
        table: Name with type.
        version: The version.
        timeout_s: Seconds until the last check.
        clock: Time and sleep.

    Raises:
        WaitTimeoutError: It is not; the error reports the mark.
    """

    def missing() -> str | None:
        found = read_mark(store, table)
        if found.version >= version:
            return None
        return found.why_none() if found.version == NIL else f"its mark is {found.version}"

    wait_until(
        missing, what=f"version {version} of {table}", timeout_s=timeout_s, clock=clock, remedy=_REMEDY
    )


def wait_produced_rows(store: PropertyStore, table: QueriedTable, *, timeout_s: float, clock: Clock) -> None:
    """Wait until the mark's version contains all rows in the input topic at the time of the call.

    Args:
        store: The cluster's property store.
        table: The table.
        timeout_s: Seconds until the last check.
        clock: Time and sleep.

    Raises:
        WaitTimeoutError: It does not; the error names a partition that is behind.
        SourceError: Kafka does not answer.
        NotFoundError: The input topic or the updates topic does not exist.
    """
    latest = {
        number: offsets.latest
        for number, offsets in open_offsets(table.stream).read().items()
        if offsets.latest
    }
    with ExitStack() as opened:
        ends = {
            number: opened.enter_context(
                closing(VersionEnds(table.stream, table.settings.updates_topic, number))
            )
            for number in latest
        }

        def missing() -> str | None:
            mark = read_mark(store, table.table)
            if mark.version == NIL:
                return mark.why_none() if latest else None
            for number, offset in list(latest.items()):
                end = ends[number].newest_up_to(mark.version)
                if end is None or end.end < offset:
                    reached = "nothing" if end is None else f"offset {end.end}"
                    return f"partition {number} has {reached} of {offset} at version {mark.version}"
                del latest[number]
            return None

        wait_until(
            missing, what=f"the rows of {table.table}", timeout_s=timeout_s, clock=clock, remedy=_REMEDY
        )
