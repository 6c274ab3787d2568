"""``with client.paused(table):`` a pause as long as a block."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from controller_client.consumption.pause_end import leave_pause
from controller_client.consumption.pause_record import read_record
from controller_client.consumption.pausing import pause
from controller_client.consumption.resuming import resume
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
    table that somebody else paused before stays paused after the block. A block whose process is killed
    leaves the table paused: ``pinotctl consumption status`` reports for whom.

    Args:
        control: The table.
        reason: Why, in a word.
        comment: More words.
        timeout_s: Seconds for the pause, and for the resume.
        resume_on_error: Resume after an exception too; False: leave the table paused then, for somebody to
            inspect what is half done. An exception of the resume is logged then; the block's own goes on.

    Raises:
        WaitTimeoutError: The pause was not finished in time, and the table is resumed; or the resume was not.
        ConflictError: Somebody resumed the table within the block.
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
            f"{control.table} was resumed by somebody else while it should have stayed paused",
            where=control.table,
            remedy="find out what was done in the meantime: rows may have been consumed",
        )
    if leave_pause(control, holder.__eq__):
        resume(control, timeout_s=timeout_s)


def _end_quietly(control: TableControl, holder: str, timeout_s: float) -> None:
    try:
        if leave_pause(control, holder.__eq__):
            resume(control, timeout_s=timeout_s)
    except PinotPluginError as error:
        logger.error("%s may still be paused: %s", control.table, error)
