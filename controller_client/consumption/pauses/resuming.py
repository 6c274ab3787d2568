"""Resume a table completely: every partition consumes again, and the offsets are checked."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

from controller_client.common.names import SegmentName
from controller_client.common.outcomes import keeping_outcome
from controller_client.common.waiting import wait_until
from controller_client.consumption.pauses.offset_jumps import OffsetJump, find_jumps
from controller_client.consumption.pauses.offsets import drop_placeholders, past_end, place_offsets
from controller_client.consumption.pauses.orphans import delete_orphans, find_orphans
from controller_client.consumption.state.lost_ends import (
    LostEnd,
    find_lost_ends,
    partitions_left_out,
    read_lineage_of,
)
from controller_client.consumption.state.pause_record import PauseRecord, drop_record, read_record
from controller_client.consumption.state.pinots_pauses import (
    is_topic_paused,
    refuse_pinots_pause,
    topic_remedy,
)
from controller_client.consumption.table_control import TableControl
from controller_client.errors import (
    ConflictError,
    LostEndError,
    NotAppliedError,
    NotFoundError,
    OutcomeUnknownError,
    RejectedError,
    UnreachableError,
    WaitTimeoutError,
)
from controller_client.helix.ideal_state import IdealState
from controller_client.helix.stream_segments import PartitionSegments, newest_by_partition, read_partitions
from controller_client.rest.consumption import ConsumeFrom
from controller_client.stream.offsets import OffsetRange
from controller_client.stream.topics import topic_index

__all__ = ["ResumeResult", "resume"]

logger = logging.getLogger(__name__)

# Each call triggers a check in the controller; one that cannot read the stream takes three minutes and delays
# the checks of all tables.
_FIRST_RETRY_S = 5.0
_RETRY_FACTOR = 4
_ERROR_GRACE_S = 20.0


@dataclass(frozen=True)
class ResumeResult:
    """The result of a resume.

    Attributes:
        changed: False if the table was already consuming.
        jumps: Partitions that did not resume where their committed rows end; empty without ``wait``.
    """

    changed: bool
    jumps: tuple[OffsetJump, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"changed": self.changed, "jumps": [jump.to_json() for jump in self.jumps]}


def resume(
    control: TableControl,
    *,
    consume_from: ConsumeFrom | Mapping[int, int] = ConsumeFrom.LAST_CONSUMED,
    wait: bool = True,
    timeout_s: float = 300.0,
    comment: str | None = None,
    read_again: bool = False,
) -> ResumeResult:
    """Resume a table; if it is not paused, start the partitions that do not consume.

    Topics that are paused separately stay paused (Pinot 1.5 and later).

    Args:
        control: The table.
        consume_from: Where partitions start; those that already consume are not affected. Or an offset for
            each partition (others continue where they are), which requires a finished pause.
        wait: Wait until every partition consumes on a server.
        timeout_s: Seconds until the last check.
        comment: Free text, which Pinot 1.3 and later store.
        read_again: Also resume partitions whose newest segments are gone where Pinot continues them: after an
            earlier segment, or at the stream's first row.

    Raises:
        NotFoundError: There is no such table.
        LostEndError: The newest segments of a partition are gone, so Pinot would read rows again.
        RejectedError: The stream ends before the offset where the table would resume, so the next rows would
            be dropped silently; there is no partition with a given number, or its topic is paused separately;
            or Pinot itself has paused the table.
        ConflictError: The pause is not finished, somebody paused the table again meanwhile, or only a pause
            makes it possible to start a partition, see :func:`~controller_client.consumption.recreate`.
        WaitTimeoutError: Some partitions do not consume; the error lists them, and the reason if known.
        OutcomeUnknownError: It is unknown whether the flag was cleared.
        FormatVersionError: A later release wrote the record of who paused the table; nothing was changed.
    """
    ideal = control.ideal()
    refuse_pinots_pause(control.table, ideal)
    record = read_record(control.store, control.table)
    stream, _problem = control.stream_or_problem()
    partitions = read_partitions(control.store, control.table)
    before = _resumable(ideal, partitions, stream)
    paused = ideal.flags.table_paused
    by_offset = not isinstance(consume_from, ConsumeFrom)
    if by_offset or (consume_from is not ConsumeFrom.LAST_CONSUMED and paused):
        _require_finished(control, ideal)
    left_out = partitions_left_out(ideal, partitions, stream)
    if left_out and not paused:
        numbers = ", ".join(map(str, left_out))
        raise ConflictError(
            f"all segments of partition {numbers} of {control.table} are gone, and Pinot creates none in a"
            " table that is not paused",
            where=control.table,
            remedy="run 'pinotctl consumption recreate'",
        )
    if not paused and not _missing_partitions(ideal, before):
        drop_record(control.store, control.table)
        if wait:
            # Somebody else may have started a resume, and servers may not have got there yet or may fail.
            _wait_consuming(control, before, ConsumeFrom.LAST_CONSUMED, timeout_s)
        return ResumeResult(changed=False)
    lineage = read_lineage_of(control.client, control.table, ideal, partitions)
    lost = find_lost_ends(control.table, ideal, partitions, stream, record, lineage)
    _require_ends(control, lost, consume_from, read_again=read_again)
    if consume_from is ConsumeFrom.LAST_CONSUMED:
        _require_readable(control, before, stream)
    if paused:
        delete_orphans(control, find_orphans(control, ideal))
    given: Mapping[int, int] = {}
    if isinstance(consume_from, ConsumeFrom):
        start = consume_from
    else:
        _require_topics(control, ideal, consume_from)
        start, given = ConsumeFrom.LAST_CONSUMED, consume_from
    is_largest = start is ConsumeFrom.LARGEST
    firsts = {number: stream[number].latest if is_largest else stream[number].earliest for number in left_out}
    if offsets := {**firsts, **given}:
        place_offsets(control, offsets)
    elif paused:
        drop_placeholders(control)  # otherwise Pinot might create segments from them
    _clear_flag(control, start, comment, record, timeout_s)
    drop_record(control.store, control.table)
    if not wait:
        return ResumeResult(changed=True)
    without_segments = (lost.keys() | offsets.keys()) - partitions.keys()
    _wait_consuming(control, before, start, timeout_s, without_segments)
    drop_placeholders(control)
    return ResumeResult(True, find_jumps(control, before))


def _require_finished(control: TableControl, ideal: IdealState) -> None:
    if ideal.flags.table_paused and not control.reading(ideal):
        return
    raise ConflictError(
        f"{control.table} is not paused, or some of its partitions still consume",
        expected="a finished pause, because partitions that consume keep their offsets in any case",
        where=control.table,
        remedy="run 'pinotctl consumption pause', then resume again",
    )


def _require_topics(control: TableControl, ideal: IdealState, offsets: Mapping[int, int]) -> None:
    paused = sorted(number for number in offsets if is_topic_paused(ideal, number))
    if paused:
        topics = {topic_index(number) for number in paused}
        raise RejectedError(
            f"the topic of partition {', '.join(map(str, paused))} of {control.table} is paused separately",
            expected="offsets only for partitions that are resumed together with the table",
            where=control.table,
            remedy=topic_remedy(control.table, topics),
        )


def _resumable(
    ideal: IdealState, partitions: Mapping[int, PartitionSegments], stream: Mapping[int, OffsetRange]
) -> dict[int, PartitionSegments]:
    """Omit partitions that the stream no longer has, and those of topics that stay paused."""
    return {
        number: each
        for number, each in partitions.items()
        if (not stream or number in stream) and not is_topic_paused(ideal, number)
    }


def _require_ends(
    control: TableControl,
    lost: Mapping[int, LostEnd],
    consume_from: ConsumeFrom | Mapping[int, int],
    *,
    read_again: bool,
) -> None:
    if read_again or consume_from in (ConsumeFrom.SMALLEST, ConsumeFrom.LARGEST):
        return
    given = {} if isinstance(consume_from, ConsumeFrom) else consume_from
    left = [each for number, each in lost.items() if number not in given]
    if left:
        offsets = ",".join(f"{each.partition}={each.end or 'OFFSET'}" for each in left)
        raise LostEndError(
            f"{control.table} was not resumed: {'; '.join(map(str, left))}",
            expected="each partition's newest segment, after which it continues",
            where=control.table,
            remedy=f"name the offsets to continue at: --consume-from {offsets}; or have the rows read again:"
            " `pinotctl consumption resume` asks, in Python read_again=True",
        )


def _require_readable(
    control: TableControl, before: Mapping[int, PartitionSegments], stream: Mapping[int, OffsetRange]
) -> None:
    faults = past_end(before, stream)
    if faults:
        raise RejectedError(
            f"the stream of {control.table} ends before the table's next row: {'; '.join(faults)}",
            expected="the stream that the table has consumed so far",
            where=control.table,
            remedy=(
                "if the topic was recreated, resume with --consume-from smallest or largest; otherwise Pinot "
                "silently drops all rows until the old offset is reached"
            ),
        )


def _clear_flag(
    control: TableControl,
    start: ConsumeFrom,
    comment: str | None,
    record: PauseRecord | None,
    timeout_s: float,
) -> None:
    """Clear the flag through the controller; if the reply does not show the outcome, read the flag back."""
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
        except NotAppliedError as error:
            if unknown is None:
                raise
            raise unknown from error
        # A cleared flag does not mean that segments were created; a second request does no harm.
        control.shows_pause(False, unknown)
        with keeping_outcome(unknown):
            now = read_record(control.store, control.table)
        if now != record and now is not None:
            who = ", ".join(holder.by for holder in now.holders.values())
            raise ConflictError(
                f"{who} paused {control.table} again while it was being resumed",
                where=control.table,
                remedy="coordinate with them, then resume it again",
            ) from unknown
        if control.clock.monotonic() - began > timeout_s:
            raise unknown


def _wait_consuming(
    control: TableControl,
    before: Mapping[int, PartitionSegments],
    start: ConsumeFrom,
    timeout_s: float,
    without_segments: Set[int] = frozenset(),
) -> None:
    """Wait until all partitions consume; request the resume again for those that Pinot forgets.

    A segment that commits while the flag is being cleared may still have seen the flag. Then no segment
    follows it, and the check that the resume started may already be over. Pinot does not return to a segment
    that it forgot, either.
    """
    clock = control.clock
    retry_s, requested_s = _FIRST_RETRY_S, clock.monotonic()
    failed_since: dict[str, float] = {}

    def missing() -> str | None:
        ideal = control.ideal()
        refuse_pinots_pause(control.table, ideal)
        if ideal.flags.table_paused:
            raise ConflictError(
                f"somebody else paused {control.table} while it was being resumed",
                where=control.table,
                remedy="coordinate with them, then resume it again",
            )
        try:
            return inspect(ideal)
        except (ConflictError, NotFoundError):
            raise
        except (NotAppliedError, OutcomeUnknownError) as away:
            return f"the controller does not answer: {away.message}"  # it may be back before the timeout

    def inspect(ideal: IdealState) -> str | None:
        nonlocal retry_s, requested_s
        now = read_partitions(control.store, control.table)
        stopped = _missing_partitions(
            ideal, {number: now.get(number, each) for number, each in before.items()}
        )
        stopped += sorted(without_segments - newest_by_partition(ideal.consuming).keys())
        orphans = find_orphans(control, ideal) if stopped else []
        delete_orphans(control, orphans)
        problem = ""
        if orphans or (stopped and clock.monotonic() - requested_s >= retry_s):
            problem = _request_again(control, start)
            retry_s, requested_s = retry_s * _RETRY_FACTOR, clock.monotonic()
        if stopped:
            return f"no consuming segment for the partitions {', '.join(map(str, stopped))}{problem}"
        view = control.client.tables.external_view(control.table)
        waiting = {}
        for name in ideal.consuming:
            states = view.get(name, {})
            segment = SegmentName.parse(name)
            paused = segment is not None and segment.partition in ideal.flags.paused_partitions
            if paused or "CONSUMING" in states.values():
                failed_since.pop(name, None)
                continue
            waiting[name] = states or "not yet loaded"
            if states and set(states.values()) == {"ERROR"}:
                _raise_if_long(control, name, failed_since.setdefault(name, clock.monotonic()))
        return f"no server consumes {waiting}" if waiting else None

    wait_until(
        missing,
        what=f"all partitions of {control.table} to consume",
        timeout_s=timeout_s,
        clock=clock,
        longest_poll_s=1.0,
        remedy="check in the logs of the controller and the servers whether they can read the stream, and"
        " those of other tables: a controller resumes one table after the other",
    )


def _request_again(control: TableControl, start: ConsumeFrom) -> str:
    """Request the resume once more; return why that failed, or an empty string."""
    try:
        control.client.consumption.resume(control.table, start)
    except (ConflictError, NotFoundError):
        raise
    except (NotAppliedError, OutcomeUnknownError) as away:
        return f"; the controller does not answer the repeated request: {away.message}"
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
    """Return the partitions whose consuming segment in the ideal state is missing or has already ended.

    The latter is normal for a moment during each commit. If the controller is killed in that moment, Pinot
    repairs it in the first check that runs five minutes later or more.
    """
    consuming = newest_by_partition(ideal.consuming)
    return [
        number
        for number, each in sorted(partitions.items())
        if number not in consuming
        or (each.newest.ended and each.newest.segment.name == consuming[number].name)
    ]
