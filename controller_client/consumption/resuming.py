"""A resume that is finished: every partition consumes again, and it is known from which offset."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller_client.common.names import SegmentName
from controller_client.common.waiting import wait_until
from controller_client.consumption.offset_jumps import OffsetJump, find_jumps
from controller_client.consumption.offsets import drop_placeholders, place_offsets, stands_behind_end
from controller_client.consumption.orphans import delete_orphans, find_orphans
from controller_client.consumption.pause_record import PauseRecord, drop_record, read_record
from controller_client.consumption.pinots_pauses import is_topic_paused, refuse_pinots_pause, topic_remedy
from controller_client.consumption.table_control import TableControl
from controller_client.errors import (
    ConflictError,
    NotAppliedError,
    NotFoundError,
    OutcomeUnknownError,
    RejectedError,
    UnreachableError,
    WaitTimeoutError,
)
from controller_client.helix.ideal_state import IdealState, read_flags
from controller_client.helix.stream_segments import PartitionSegments, newest_by_partition, read_partitions
from controller_client.rest.consumption import ConsumeFrom
from controller_client.stream.offsets import OffsetRange
from controller_client.stream.topics import topic_index

__all__ = ["ResumeResult", "resume"]

logger = logging.getLogger(__name__)

# Each call is a check of the controller's; one that cannot read the stream runs for three minutes, and holds
# up those of all tables.
_FIRST_AGAIN_S = 5.0
_AGAIN_FACTOR = 4
_ERROR_GRACE_S = 20.0
_SETTLE_S = 10.0


@dataclass(frozen=True)
class ResumeResult:
    """What a resume came to.

    Attributes:
        changed: False when the table consumed already.
        jumps: Partitions that did not go on where their committed rows end; empty when it was not waited.
    """

    changed: bool
    jumps: tuple[OffsetJump, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The result, for programs."""
        return {"changed": self.changed, "jumps": [jump.to_json() for jump in self.jumps]}


def resume(
    control: TableControl,
    *,
    consume_from: ConsumeFrom | Mapping[int, int] = ConsumeFrom.LAST_CONSUMED,
    wait: bool = True,
    timeout_s: float = 300.0,
    comment: str | None = None,
) -> ResumeResult:
    """Resume a table, or start the partitions of a table that is not paused but do not consume.

    Topics that are paused by themselves stay so (Pinot 1.5 and later).

    Args:
        control: The table.
        consume_from: Where partitions start; those that consume go on, whatever it is. Or the offset of each
            partition (the others go on where they are), which wants a finished pause.
        wait: Until every partition consumes on a server.
        timeout_s: Seconds until the last check.
        comment: Pinot 1.3 and later keep it.

    Raises:
        NotFoundError: There is no such table.
        RejectedError: The stream ends before the offset where the table goes on, so its next rows would be
            dropped silently; or there is no partition of the given number, or its topic is paused by itself;
            or Pinot itself has paused the table.
        ConflictError: The pause is not finished; or somebody paused the table again meanwhile.
        WaitTimeoutError: Some partitions do not consume; the error lists which, and why if known.
        OutcomeUnknownError: It is unknown whether the flag is cleared.
        FormatVersionError: A later release wrote who paused the table; nothing was changed.
    """
    ideal = control.ideal()
    refuse_pinots_pause(control.table, ideal)
    known = read_record(control.store, control.table)
    stream, _problem = control.stream_if_known()
    before = _resumable(ideal, read_partitions(control.store, control.table), stream)
    paused = ideal.flags.table_paused
    by_offset = not isinstance(consume_from, ConsumeFrom)
    if by_offset or (consume_from is not ConsumeFrom.LAST_CONSUMED and paused):
        _require_finished(control, ideal)
    if not paused and not _missing_partitions(ideal, before):
        drop_record(control.store, control.table)
        if wait:
            # Somebody else may have begun it, and the servers may not be there yet, or not be able to.
            _wait_consuming(control, before, ConsumeFrom.LAST_CONSUMED, timeout_s)
        return ResumeResult(changed=False)
    if consume_from is ConsumeFrom.LAST_CONSUMED:
        _require_readable(control, before, stream)
    if paused:
        delete_orphans(control, find_orphans(control, ideal))
    if isinstance(consume_from, ConsumeFrom):
        if paused:
            drop_placeholders(control)  # else Pinot may be about to make segments from them
        start = consume_from
    else:
        _require_topics(control, ideal, consume_from)
        place_offsets(control, consume_from)
        start = ConsumeFrom.LAST_CONSUMED
    _clear_flag(control, start, comment, known, timeout_s)
    drop_record(control.store, control.table)
    if not wait:
        return ResumeResult(changed=True)
    _wait_consuming(control, before, start, timeout_s)
    drop_placeholders(control)
    return ResumeResult(True, find_jumps(control, before))


def _require_finished(control: TableControl, ideal: IdealState) -> None:
    if ideal.flags.table_paused and not control.reading(ideal):
        return
    raise ConflictError(
        f"{control.table} is not paused, or some of its partitions still consume",
        expected="a finished pause: partitions that consume keep their offsets, whatever is asked for",
        where=control.table,
        remedy="pinotctl consumption pause, then resume again",
    )


def _require_topics(control: TableControl, ideal: IdealState, offsets: Mapping[int, int]) -> None:
    paused = sorted(number for number in offsets if is_topic_paused(ideal, number))
    if paused:
        topics = {topic_index(number) for number in paused}
        raise RejectedError(
            f"the topic of partition {', '.join(map(str, paused))} of {control.table} is paused by itself",
            expected="offsets of partitions that a resume of the table resumes",
            where=control.table,
            remedy=topic_remedy(control.table, topics),
        )


def _resumable(
    ideal: IdealState, partitions: Mapping[int, PartitionSegments], stream: Mapping[int, OffsetRange]
) -> dict[int, PartitionSegments]:
    """Leave out partitions that the stream does not have any more, and those of topics that stay paused."""
    return {
        number: each
        for number, each in partitions.items()
        if (not stream or number in stream) and not is_topic_paused(ideal, number)
    }


def _require_readable(
    control: TableControl, before: Mapping[int, PartitionSegments], stream: Mapping[int, OffsetRange]
) -> None:
    faults = stands_behind_end(before, stream)
    if faults:
        raise RejectedError(
            f"the stream of {control.table} ends before the table's next row: {'; '.join(faults)}",
            expected="the stream that the table has read",
            where=control.table,
            remedy=(
                "was the topic created again? Then resume with --consume-from smallest or largest; else "
                "Pinot silently drops all rows until the old offset is reached"
            ),
        )


def _clear_flag(
    control: TableControl,
    start: ConsumeFrom,
    comment: str | None,
    known: PauseRecord | None,
    timeout_s: float,
) -> None:
    """Clear the flag by the controller, and read back what became of it where the answer does not show it."""
    began = control.clock.monotonic()
    unknown: OutcomeUnknownError | None = None
    while True:
        try:
            control.client.consumption.resume(control.table, start, comment=comment)
            return
        except OutcomeUnknownError as error:
            unknown = error
        except UnreachableError:
            if unknown is None:
                raise
        # That the flag is clear does not mean that segments are made; asked twice, they are made once.
        _wait_cleared(control, 1.0 if unknown.http_status is not None else _SETTLE_S)
        now = read_record(control.store, control.table)
        if now != known and now is not None:
            who = ", ".join(holder.by for holder in now.holders.values())
            raise ConflictError(
                f"{control.table} was paused again by {who} while it was being resumed",
                where=control.table,
                remedy="coordinate with them, then resume it again",
            ) from unknown
        if control.clock.monotonic() - began > timeout_s:
            raise unknown


def _wait_cleared(control: TableControl, settle_s: float) -> None:
    def missing() -> str | None:
        return "the flag is set" if read_flags(control.store, control.table).table_paused else None

    try:
        wait_until(missing, what="the flag to be cleared", timeout_s=settle_s, clock=control.clock)
    except WaitTimeoutError:
        return


def _wait_consuming(
    control: TableControl, before: Mapping[int, PartitionSegments], start: ConsumeFrom, timeout_s: float
) -> None:
    """Wait until all partitions consume; ask again for those that Pinot forgets.

    A segment that commits while the flag is cleared may have seen it set: then nothing follows it, and the
    check that the resume has started may be over by then. Nor does it come back to a segment that it forgot.
    """
    clock = control.clock
    again_s, asked_s = _FIRST_AGAIN_S, clock.monotonic()
    failed_since: dict[str, float] = {}

    def missing() -> str | None:
        ideal = control.ideal()
        refuse_pinots_pause(control.table, ideal)
        if ideal.flags.table_paused:
            raise ConflictError(
                f"{control.table} was paused by somebody else while it was being resumed",
                where=control.table,
                remedy="coordinate with them, then resume it again",
            )
        try:
            return inspect(ideal)
        except (ConflictError, NotFoundError):
            raise
        except (NotAppliedError, OutcomeUnknownError) as away:
            return f"the controller does not answer: {away.message}"  # it may be back before the time is over

    def inspect(ideal: IdealState) -> str | None:
        nonlocal again_s, asked_s
        now = read_partitions(control.store, control.table)
        stopped = _missing_partitions(
            ideal, {number: now.get(number, each) for number, each in before.items()}
        )
        orphans = find_orphans(control, ideal) if stopped else []
        delete_orphans(control, orphans)
        answer = ""
        if orphans or (stopped and clock.monotonic() - asked_s >= again_s):
            answer = _ask_again(control, start)
            again_s, asked_s = again_s * _AGAIN_FACTOR, clock.monotonic()
        if stopped:
            return f"no consuming segment for the partitions {', '.join(map(str, stopped))}{answer}"
        view = control.client.tables.external_view(control.table)
        waiting = {}
        for name in ideal.consuming:
            states = view.get(name, {})
            segment = SegmentName.parse(name)
            paused = segment is not None and segment.partition in ideal.flags.paused_partitions
            if paused or "CONSUMING" in states.values():
                failed_since.pop(name, None)
                continue
            waiting[name] = states or "not loaded yet"
            if states and set(states.values()) == {"ERROR"}:
                _raise_if_long(control, name, failed_since.setdefault(name, clock.monotonic()))
        return f"no server consumes {waiting}" if waiting else None

    wait_until(
        missing,
        what=f"all partitions of {control.table} to consume",
        timeout_s=timeout_s,
        clock=clock,
        longest_poll_s=1.0,
        remedy="check in the logs of the controller and the servers whether they can read the stream",
    )


def _ask_again(control: TableControl, start: ConsumeFrom) -> str:
    """Have the controller look once more; returns what to add to what is missing, empty if it was done."""
    try:
        control.client.consumption.resume(control.table, start)
    except (ConflictError, NotFoundError):
        raise
    except (NotAppliedError, OutcomeUnknownError) as away:
        return f"; asked again, the controller does not answer: {away.message}"
    return ""


def _raise_if_long(control: TableControl, name: str, since_s: float) -> None:
    if control.clock.monotonic() - since_s < _ERROR_GRACE_S:
        return
    segment = SegmentName.parse(name)
    raise WaitTimeoutError(
        f"partition {segment.partition if segment else '?'} of {control.table} does not consume: its segment "
        f"{name} is in ERROR on every server",
        expected="CONSUMING",
        where=control.table,
        remedy="see the servers' logs; once the cause is fixed, run: pinotctl consumption recover",
    )


def _missing_partitions(ideal: IdealState, partitions: Mapping[int, PartitionSegments]) -> list[int]:
    """Partitions that have no consuming segment in the ideal state, or one that has ended already.

    The latter is usual for a moment of each commit. When the controller was killed in that moment, Pinot
    fixes it in the first check that runs five minutes later.
    """
    consuming = newest_by_partition(ideal.consuming)
    return [
        number
        for number, each in sorted(partitions.items())
        if number not in consuming
        or (each.newest.ended and each.newest.segment.name == consuming[number].name)
    ]
