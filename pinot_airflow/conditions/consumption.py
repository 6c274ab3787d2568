"""Conditions about consumption: a table is paused, or has read its stream up to given offsets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller_client.common.parsing import whole_number
from controller_client.consumption.pauses.pause_end import end_pause
from controller_client.consumption.pauses.pausing import wait_paused
from controller_client.errors import WaitTimeoutError
from pinot_airflow.access import PinotAccess
from pinot_airflow.conditions.base import Condition, Seen

__all__ = ["OffsetsAreRead", "TableIsPaused"]

_SLICE_S = 5.0
"""Longest time of a check of a pause, which also repeats requests to commit that did not reach a server."""


@dataclass(frozen=True)
class TableIsPaused(Condition):
    """A table is paused: none of its partitions consumes.

    Attributes:
        table: Name of the realtime table.
        holder: The holder of the pause.
    """

    table: str
    holder: str

    def look(self, access: PinotAccess) -> Seen:
        """Wait for a few seconds, forcing commits."""
        control = access.table_control(self.table)
        try:
            wait_paused(control, timeout_s=_SLICE_S)
        except WaitTimeoutError as error:
            return Seen(False, error.message)
        return Seen(True, f"{control.table} is paused", {"table": str(control.table)})

    def on_kill(self, access: PinotAccess) -> None:
        """Lift the pause."""
        end_pause(access.table_control(self.table), self.holder, wait=False)


@dataclass(frozen=True)
class OffsetsAreRead(Condition):
    """Each partition of a table has consumed its stream up to an offset.

    Attributes:
        table: Name of the realtime table.
        offsets: Maps each partition number, as text, to the next offset to be read.
    """

    table: str
    offsets: Mapping[str, int]

    def look(self, access: PinotAccess) -> Seen:
        """Read the table's status."""
        control = access.table_control(self.table, watch_stream=False)
        found = {str(each.partition): each.offset for each in control.status().partitions}
        at = {number: whole_number(found.get(number)) or 0 for number in self.offsets}
        missing = [
            f"partition {number} is at offset {at[number]} of {offset}"
            for number, offset in sorted(self.offsets.items(), key=lambda item: int(item[0]))
            if at[number] < offset
        ]
        text = f"{control.table} has reached the offsets" if not missing else ", ".join(missing)
        return Seen(not missing, text, {"table": str(control.table), "offsets": at})
