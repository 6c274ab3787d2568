"""``with client.paused(table):`` pauses a table for the duration of a block."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from controller_client.consumption.pauses.pause_end import leave_pause
from controller_client.consumption.pauses.pausing import pause
from controller_client.consumption.pauses.resuming import resume
from controller_client.consumption.state.pause_record import read_record
from controller_client.consumption.table_control import TableControl
from controller_client.errors import ConflictError, PinotPluginError

__all__ = ["paused"]

logger = logging.getLogger(__name__)


@contextmanager
def paused(
    control: TableControl,
    *,
    reason: str | None = None,
    comment: str | None = None,
    timeout_s: float = 300.0,
    resume_on_error: bool = True,
) -> Iterator[TableControl]:
    """Pause a table, run a block while nothing consumes, and resume.

    Several blocks, in any number of processes, may overlap: the table stays paused until the last one ends. A
    table that somebody else paused before the block stays paused after it. If the process is killed, the
    table stays paused; ``pinotctl consumption status`` shows who paused it.

    Args:
        control: The table.
        reason: Short reason for the pause.
        comment: Free text.
        timeout_s: Seconds for the pause, and for the resume.
        resume_on_error: Resume after an exception too. An exception of that resume is logged, and the block's
            own is raised. False: leave the table paused, for somebody to inspect what was left half done.

    Raises:
        WaitTimeoutError: The pause was not finished in time, and the table was resumed; or the resume was not
            finished in time.
        ConflictError: Somebody resumed the table during the block.
    """
    holder = uuid.uuid4().hex
    try:
        pause(control, reason=reason, comment=comment, timeout_s=timeout_s, holder=holder)
    except BaseException:
        _end_quietly(control, holder, timeout_s)
        raise
    try:
        yield control
    except BaseException:
        if resume_on_error:
            _end_quietly(control, holder, timeout_s)
        raise
    _end(control, holder, timeout_s)


def _end(control: TableControl, holder: str, timeout_s: float) -> None:
    record = read_record(control.store, control.table)
    ideal = control.ideal()
    if record is None or holder not in record.holders or not record.explains(ideal):
        raise ConflictError(
            f"somebody else resumed {control.table} while it should have stayed paused",
            where=control.table,
            remedy="check what happened in the meantime: rows may have been consumed",
        )
    if leave_pause(control, holder.__eq__):
        resume(control, timeout_s=timeout_s)


def _end_quietly(control: TableControl, holder: str, timeout_s: float) -> None:
    try:
        if leave_pause(control, holder.__eq__):
            resume(control, timeout_s=timeout_s)
    except PinotPluginError as error:
        logger.error("%s may still be paused: %s", control.table, error)
