"""What a watch of consumption has seen so far, in bounded memory: lag by partition, and pauses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from controller_client.common.names import TableName
from controller_client.consumption.state.pause_record import Holder
from controller_client.consumption.state.status import TableState, TableStatus

__all__ = ["LagHistory", "Pause", "Reading"]

_PAUSED = (TableState.PAUSED, TableState.PAUSING)
_ENDED_KEPT = 200


@dataclass(frozen=True)
class Reading:
    """One reading of one table, or several that were merged.

    Attributes:
        time_ms: When, epoch milliseconds; of several, the last.
        is_paused: Whether the table was paused, or was being paused.
        lags: Rows not read yet, by partition, where that is known; of several readings the greatest.
    """

    time_ms: int
    is_paused: bool
    lags: Mapping[int, int]

    def merged(self, later: Reading) -> Reading:
        """Merge it with a later one: a peak stays a peak."""
        lags = {
            number: max(found[number] for found in (self.lags, later.lags) if number in found)
            for number in self.lags.keys() | later.lags.keys()
        }
        return Reading(later.time_ms, self.is_paused or later.is_paused, lags)


@dataclass(frozen=True)
class Pause:
    """A pause of a table, of a topic or of a partition, that was seen.

    Attributes:
        table: Name with type.
        what: What is paused: ``table``, ``partition 3``, ``topic clicks``.
        by: Who paused it; None if that is not recorded.
        since_ms: When, epoch milliseconds; None where it is not recorded.
        since_text: When, as Pinot wrote it, where ``since_ms`` is None.
        reason: Why.
        seen_ms: When it was first seen.
        ended_ms: When it was first not seen any more; None while it lasts.
    """

    table: TableName
    what: str
    by: str | None
    since_ms: int | None
    since_text: str | None
    reason: str
    seen_ms: int
    ended_ms: int | None = None

    @property
    def key(self) -> tuple[str, str, str | None, int | None, str | None]:
        """What makes two sightings the same pause."""
        return (self.table, self.what, self.by, self.since_ms, self.since_text)


class LagHistory:
    """Readings and pauses of a watch.

    Args:
        limit: How many readings of a table are kept. When there are more, each two that follow each other are
            merged into one, so that the readings always reach back to the begin of the watch.
    """

    def __init__(self, limit: int = 360) -> None:
        self._limit = max(4, limit)
        self._readings: dict[TableName, list[Reading]] = {}
        self._pauses: dict[tuple[object, ...], Pause] = {}

    def add(self, statuses: Sequence[TableStatus], now_ms: int) -> None:
        """Add what was read at a moment, epoch milliseconds."""
        present: dict[tuple[object, ...], Pause] = {}
        for status in statuses:
            lags = {each.partition: each.lag for each in status.partitions if each.lag is not None}
            readings = self._readings.setdefault(status.table, [])
            readings.append(Reading(now_ms, status.state in _PAUSED, lags))
            if len(readings) > self._limit:
                self._readings[status.table] = _halved(readings)
            present |= {pause.key: pause for pause in _pauses(status, now_ms)}
        for key, pause in present.items():
            known = self._pauses.get(key)
            self._pauses[key] = (
                pause if known is None or known.ended_ms else replace(known, reason=pause.reason)
            )
        for key, pause in self._pauses.items():
            if key not in present and pause.ended_ms is None:
                self._pauses[key] = replace(pause, ended_ms=now_ms)
        ended = [key for key, pause in self._pauses.items() if pause.ended_ms is not None]
        for key in ended[:-_ENDED_KEPT]:
            del self._pauses[key]

    def readings(self, table: TableName) -> Sequence[Reading]:
        """Return the readings of a table, oldest first."""
        return self._readings.get(table, [])

    def pauses(self) -> list[Pause]:
        """Return the pauses that last, then those that ended while it watched; each the newest first."""
        return sorted(
            self._pauses.values(),
            key=lambda each: (each.ended_ms is not None, -(each.since_ms or each.seen_ms), each.key[:2]),
        )


def _halved(readings: list[Reading]) -> list[Reading]:
    """Merge pairs of readings; keep the first one, the start, and the last one, the current state."""
    first, *between, last = readings
    merged = [a.merged(b) for a, b in zip(between[::2], between[1::2], strict=False)]
    return [first, *merged, *(between[-1:] if len(between) % 2 else ()), last]


def _pauses(status: TableStatus, now_ms: int) -> Iterator[Pause]:
    def held(what: str, holder: Holder) -> Pause:
        why = ": ".join(text for text in (holder.reason, holder.comment) if text)
        return Pause(status.table, what, holder.by, holder.since_ms, None, why, now_ms)

    def nameless(what: str) -> Pause:
        return Pause(status.table, what, None, None, None, "", now_ms)

    for holder in status.holders:
        yield held("table", holder)
    pinot = status.pinot_pause
    # Pinot does not record who requested a pause, so it adds nothing to our record.
    if pinot is not None and (pinot.is_pinots_own or not status.holders):
        why = ": ".join(text for text in (pinot.reason_code, pinot.comment) if text)
        by = "Pinot itself" if pinot.is_pinots_own else None
        yield Pause(status.table, "table", by, None, pinot.time_text, why, now_ms)
    elif status.foreign or (status.state in _PAUSED and not status.holders):
        yield nameless("table")
    for topic in status.paused_topics.values():
        yield nameless(f"topic {topic}")
    for each in status.partitions:
        if each.paused_by is not None:
            yield held(f"partition {each.partition}", each.paused_by)
