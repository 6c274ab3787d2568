"""The end of a pause that one holder asked for: the table is resumed when nobody else wants it paused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from controller_client.consumption.pause_record import PauseRecord, change_record, read_record
from controller_client.consumption.resuming import resume
from controller_client.consumption.table_control import TableControl
from controller_client.errors import ConflictError

__all__ = ["PauseEnd", "end_pause", "leave_pause"]


@dataclass(frozen=True)
class PauseEnd:
    """What the end of a pause came to.

    Attributes:
        held: Whether the holder had the table paused until now.
        resumed: Whether the table was resumed.
        still_held_by: Others who want it paused.
    """

    held: bool
    resumed: bool
    still_held_by: tuple[str, ...] = ()


def end_pause(
    control: TableControl, holder: str | Callable[[str], bool], *, wait: bool = True, timeout_s: float = 300.0
) -> PauseEnd:
    """End the pause of one holder, as often as it is asked for: only this holder's pause is lifted.

    A call that was killed halfway is finished by the next one. A holder that never was there, or whose pause
    was ended before, changes nothing.

    Args:
        control: The table.
        holder: As the pause was given it; or what says which names are meant, where it has several.
        wait: Until every partition consumes on a server, where the table is resumed.
        timeout_s: Seconds for the resume.

    Raises:
        ConflictError: Somebody resumed the table in the meantime; the holder is no longer noted.
        WaitTimeoutError: Some partitions do not consume.
        OutcomeUnknownError: It is unknown whether the flag is cleared.
    """
    is_meant = holder if callable(holder) else holder.__eq__
    record, ideal = read_record(control.store, control.table), control.ideal()
    if record is None:
        return PauseEnd(held=False, resumed=False)
    held = any(map(is_meant, record.holders))
    if not record.explains(ideal):
        if not held:
            return PauseEnd(held=False, resumed=False)
        leave_pause(control, is_meant)
        if record.sequences is None and not ideal.flags.table_paused:
            # The pause was killed before it set the flag.
            return PauseEnd(held=False, resumed=False)
        raise ConflictError(
            f"{control.table} was resumed by somebody else while it should have stayed paused",
            where=control.table,
            remedy="find out what was done in the meantime: rows may have been consumed",
        )
    others = tuple(each.by for name, each in record.holders.items() if not is_meant(name))
    # Nobody in the record of a present pause: a call like this one was killed before it resumed.
    if leave_pause(control, is_meant) or not (record.holders or record.foreign):
        resume(control, wait=wait, timeout_s=timeout_s)
        return PauseEnd(held, resumed=True)
    return PauseEnd(held, resumed=False, still_held_by=others)


def leave_pause(control: TableControl, is_meant: Callable[[str], bool]) -> bool:
    """Take holders out of the record; return whether the table is to be resumed."""
    was_last = False

    def without(present: PauseRecord | None) -> PauseRecord | None:
        nonlocal was_last
        was_last = False
        if present is None or not any(map(is_meant, present.holders)):
            return present
        left = {name: each for name, each in present.holders.items() if not is_meant(name)}
        if not left and present.foreign:
            return None
        was_last = not left
        return replace(present, holders=left)

    change_record(control.store, control.table, without)
    return was_last
