"""The controller's endpoints about consumption, one call each; what must be waited for is above this."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controller_client.rest.capabilities import Capabilities, Capability
from controller_client.rest.transport import Transport, path_of

__all__ = ["ConsumeFrom", "ConsumptionApi", "PauseStatus", "ReplicaProgress"]


class ConsumeFrom(StrEnum):
    """Where partitions start that have no consuming segment.

    ``lastConsumed`` is behind the last row that was committed; where the stream has dropped that, the first
    row that it still has. It is what every version does when nothing else is asked for.
    """

    LAST_CONSUMED = "lastConsumed"
    SMALLEST = "smallest"
    LARGEST = "largest"


@dataclass(frozen=True)
class PauseStatus:
    """What the controller reports about a pause.

    Attributes:
        paused: The table's flag.
        consuming_segments: Segments that should consume by the ideal state.
    """

    paused: bool
    consuming_segments: frozenset[str]


@dataclass(frozen=True)
class ReplicaProgress:
    """How far a server is with a consuming segment.

    Attributes:
        server: Its name.
        consuming: False when its consumer ended with an error.
        offset: The next offset it will read.
        latest_offset: The stream's end, and
        lag: how many rows it is behind; None before Pinot 1.0, which does not report.
        consumed_ms: When it got its last row, epoch milliseconds.
    """

    server: str
    consuming: bool
    offset: str | None
    latest_offset: str | None = None
    lag: int | None = None
    consumed_ms: int | None = None


class ConsumptionApi:
    """Endpoints below ``/tables/{table}``, of realtime tables (name with type)."""

    def __init__(self, transport: Transport, capabilities: Callable[[], Capabilities]) -> None:
        self._transport = transport
        self._capabilities = capabilities

    def pause(self, table: str, *, comment: str | None = None, batch_size: int | None = None) -> None:
        """Set the table's flag and have the servers commit what they consume.

        Args:
            table: Table.
            comment: Kept by Pinot 1.3 and later; left out for older ones.
            batch_size: How many segments commit at a time; Pinot 1.5 and later.

        Raises:
            NotFoundError: There is no such table.
            RejectedError: The table is disabled.
            UnsupportedError: The version cannot pause, or not in batches.
            OutcomeUnknownError: The reply was lost, or was an error that may come before or after the flag
                was set.
        """
        self._capabilities().require(Capability.PAUSE_CONSUMPTION)
        if batch_size is not None:
            self._capabilities().require(Capability.PAUSE_BATCHES)
        self._post(table, "pauseConsumption", comment=self._comment(comment), batchSize=_text(batch_size))

    def resume(
        self, table: str, consume_from: ConsumeFrom = ConsumeFrom.LAST_CONSUMED, *, comment: str | None = None
    ) -> None:
        """Clear the flag and ask for new consuming segments, which are made some moments later.

        Partitions that consume are left alone, whatever ``consume_from`` is. Errors as of :meth:`pause`.
        """
        self._capabilities().require(Capability.PAUSE_CONSUMPTION)
        # Without the parameter it is the last consumed offset in every version; 1.0 and older know no name
        # for it.
        start = None if consume_from is ConsumeFrom.LAST_CONSUMED else str(consume_from)
        self._post(table, "resumeConsumption", consumeFrom=start, comment=self._comment(comment))

    def force_commit(
        self, table: str, *, segments: Collection[str] = (), batch_size: int | None = None
    ) -> str | None:
        """Have the servers commit what they consume; those that have not loaded a segment yet ignore it.

        Args:
            table: Table.
            segments: Only these, where the version can (1.1 and later); older ones commit all.
            batch_size: How many at a time; Pinot 1.4 and later.

        Returns:
            The job's id, from Pinot 1.0 on.

        Raises:
            NotFoundError: There is no such table.
            RejectedError: The table is disabled, or has no live server.
            UnsupportedError: The version cannot do it in batches.
            OutcomeUnknownError: The reply was lost.
        """
        self._capabilities().require(Capability.PAUSE_CONSUMPTION)
        if batch_size is not None:
            self._capabilities().require(Capability.FORCE_COMMIT_BATCHES)
        some = segments and self._capabilities().has(Capability.FORCE_COMMIT_SOME)
        chosen = ",".join(sorted(segments)) if some else None
        answer = self._post(table, "forceCommit", segments=chosen, batchSize=_text(batch_size)) or {}
        job: str | None = answer.get("forceCommitJobId")
        return job

    def pause_status(self, table: str) -> PauseStatus:
        """Return the flag and the consuming segments.

        Raises:
            NotFoundError: There is no such table.
        """
        document = self._transport.get_json(path_of("tables", table, "pauseStatus"))
        return PauseStatus(bool(document["pauseFlag"]), frozenset(document.get("consumingSegments") or ()))

    def progress(self, table: str) -> dict[str, tuple[ReplicaProgress, ...]]:
        """Return how far the servers are: segment -> what its servers report; none for a silent server.

        Raises:
            NotFoundError: There is no such table.
        """
        document = self._transport.get_json(path_of("tables", table, "consumingSegmentsInfo")) or {}
        by_segment: Mapping[str, Any] = document.get("_segmentToConsumingInfoMap") or {}
        return {
            segment: tuple(_replica(reported) for reported in replicas)
            for segment, replicas in by_segment.items()
        }

    def _post(self, table: str, call: str, **params: str | None) -> Any:
        response = self._transport.request("POST", path_of("tables", table, call), params=params)
        return self._transport.json_of(response)

    def _comment(self, comment: str | None) -> str | None:
        return comment if self._capabilities().has(Capability.PAUSE_COMMENT) else None


def _text(value: int | None) -> str | None:
    return None if value is None else str(value)


def _replica(reported: Mapping[str, Any]) -> ReplicaProgress:
    more = reported.get("partitionOffsetInfo") or {}
    lag = _only(more.get("recordsLagMap"))
    consumed = reported.get("lastConsumedTimestamp")
    return ReplicaProgress(
        server=reported["serverName"],
        consuming=reported.get("consumerState") == "CONSUMING",
        offset=_only(reported.get("partitionToOffsetMap")),
        latest_offset=_only(more.get("latestUpstreamOffsetMap")),
        # Texts such as NOT_CALCULATED stand where the server could not ask the stream.
        lag=int(lag) if lag is not None and lag.lstrip("-").isdigit() else None,
        consumed_ms=int(consumed) if consumed else None,
    )


def _only(by_partition: Mapping[str, Any] | None) -> str | None:
    """The one value of a map that has an entry for the segment's own partition alone."""
    values = list((by_partition or {}).values())
    return str(values[0]) if values and values[0] is not None else None
