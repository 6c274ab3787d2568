"""End the pause of one holder: the table is resumed if nobody else wants it paused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from controller_client.consumption.pauses.resuming import resume
from controller_client.consumption.state.pause_record import PauseRecord, change_record, read_record
from controller_client.consumption.table_control import TableControl
from controller_client.errors import ConflictError

__all__ = ["PauseEnd", "end_pause", "leave_pause"]


@dataclass(frozen=True)
class PauseEnd:
    """The result of ending a pause.

    Attributes:
        was_paused: Whether the holder had the table paused until now.
        resumed: Whether the table was resumed.
        still_paused_by: Others who still want it paused.
    """

    was_paused: bool
    resumed: bool
    still_paused_by: tuple[str, ...] = ()


def end_pause(
    control: TableControl, holder: str | Callable[[str], bool], *, wait: bool = True, timeout_s: float = 300.0
) -> PauseEnd:
    """End the pause of one holder, and only this holder's; may be called again.

    If a call was killed halfway, the next one finishes it. A holder that never existed, or whose pause was
    ended before, changes nothing.

    Args:
        control: The table.
        holder: The holder's name as passed to the pause, or a predicate that selects names.
        wait: If the table is resumed: wait until every partition consumes on a server.
        timeout_s: Seconds for the resume.

    Raises:
        ConflictError: Somebody resumed the table in the meantime; the holder was removed from the record.
        WaitTimeoutError: Some partitions do not consume.
        OutcomeUnknownError: It is unknown whether the flag was cleared.
    """
    matches = holder if callable(holder) else holder.__eq__
    record, ideal = read_record(control.store, control.table), control.ideal()
    if record is None:
        return PauseEnd(was_paused=False, resumed=False)
    was_paused = any(map(matches, record.holders))
    if not record.explains(ideal):
        if not was_paused:
            return PauseEnd(was_paused=False, resumed=False)
        leave_pause(control, matches)
        if record.sequences is None and not ideal.flags.table_paused:
            # The pause was killed before it set the flag.
            return PauseEnd(was_paused=False, resumed=False)
        raise ConflictError(
            f"somebody else resumed {control.table} while it should have stayed paused",
            where=control.table,
            remedy="check what happened in the meantime: rows may have been consumed",
        )
    others = tuple(each.by for name, each in record.holders.items() if not matches(name))
    # The table is paused but the record has no holder: a call like this one was killed before it resumed.
    if leave_pause(control, matches) or not (record.holders or record.foreign):
        resume(control, wait=wait, timeout_s=timeout_s)
        return PauseEnd(was_paused, resumed=True)
    return PauseEnd(was_paused, resumed=False, still_paused_by=others)


def leave_pause(control: TableControl, matches: Callable[[str], bool]) -> bool:
    """Remove holders from the record; return whether to resume the table."""
    was_last = False

    def without(present: PauseRecord | None) -> PauseRecord | None:
        nonlocal was_last
        was_last = False
        if present is None or not any(map(matches, present.holders)):
            return present
        left = {name: each for name, each in present.holders.items() if not matches(name)}
        if not left and present.foreign:
            return None
        was_last = not left
        return replace(present, holders=left)

    change_record(control.store, control.table, without)
    return was_last
