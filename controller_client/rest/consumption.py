"""The controller's endpoints for consumption, one call each; waiting is done by callers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controller_client.common.parsing import whole_number
from controller_client.rest.capabilities import Capabilities, Capability
from controller_client.rest.paths import path_of
from controller_client.rest.replies import has_nothing, parse_reply
from controller_client.rest.transport import Transport

__all__ = ["ConsumeFrom", "ConsumptionApi", "PauseStatus", "ReplicaProgress"]


class ConsumeFrom(StrEnum):
    """Where to start partitions that have no consuming segment.

    ``lastConsumed`` is after the last committed row or, if the stream no longer has that offset, its first
    remaining row. It is the default in every version.
    """

    LAST_CONSUMED = "lastConsumed"
    SMALLEST = "smallest"
    LARGEST = "largest"


@dataclass(frozen=True)
class PauseStatus:
    """The controller's report on a pause.

    Attributes:
        paused: The table's flag.
        consuming_segments: Segments that are CONSUMING in the ideal state.
    """

    paused: bool
    consuming_segments: frozenset[str]


@dataclass(frozen=True)
class ReplicaProgress:
    """The progress of a server on a consuming segment.

    Attributes:
        server: Its name.
        consuming: False if its consumer ended with an error.
        offset: The next offset to read.
        latest_offset: The end of the stream; None before Pinot 1.0, which does not report it.
        lag: Rows behind the end of the stream; None before Pinot 1.0.
        consumed_ms: When it received its last row, epoch milliseconds.
    """

    server: str
    consuming: bool
    offset: str | None
    latest_offset: str | None = None
    lag: int | None = None
    consumed_ms: int | None = None


class ConsumptionApi:
    """Endpoints below ``/tables/{table}`` for realtime tables (names with type)."""

    def __init__(self, transport: Transport, capabilities: Callable[[], Capabilities]) -> None:
        self._transport = transport
        self._capabilities = capabilities

    def pause(self, table: str, *, comment: str | None = None, batch_size: int | None = None) -> None:
        """Set the table's pause flag and make the servers commit their consuming segments.

        Args:
            table: Table.
            comment: Stored by Pinot 1.3 and later; not sent to older versions.
            batch_size: Number of segments to commit at a time; Pinot 1.5 and later.

        Raises:
            NotFoundError: There is no such table.
            RejectedError: The table is disabled.
            UnsupportedError: The version cannot pause, or cannot pause in batches.
            OutcomeUnknownError: The reply was lost, or was an error that can occur before or after the flag
                is set.
        """
        self._capabilities().require(Capability.PAUSE_CONSUMPTION)
        if batch_size is not None:
            self._capabilities().require(Capability.PAUSE_BATCHES)
        self._post(table, "pauseConsumption", comment=self._comment(comment), batchSize=_text(batch_size))

    def resume(
        self, table: str, consume_from: ConsumeFrom = ConsumeFrom.LAST_CONSUMED, *, comment: str | None = None
    ) -> None:
        """Clear the flag and request new consuming segments, which are created a moment later.

        Partitions that are consuming are not affected by ``consume_from``. Raises what :meth:`pause` raises.
        """
        self._capabilities().require(Capability.PAUSE_CONSUMPTION)
        # Every version defaults to the last consumed offset; 1.0 and older have no name for it.
        start = None if consume_from is ConsumeFrom.LAST_CONSUMED else str(consume_from)
        self._post(table, "resumeConsumption", consumeFrom=start, comment=self._comment(comment))

    def force_commit(
        self, table: str, *, segments: Collection[str] = (), batch_size: int | None = None
    ) -> str | None:
        """Make the servers commit their consuming segments; servers that have not loaded a segment ignore it.

        Args:
            table: Table.
            segments: Only these, if the version supports it (1.1 and later); older versions commit all.
            batch_size: Number of segments to commit at a time; Pinot 1.4 and later.

        Returns:
            The job's id; None before Pinot 1.0.

        Raises:
            NotFoundError: There is no such table.
            RejectedError: The table is disabled, or has no live server.
            UnsupportedError: The version cannot commit in batches.
            OutcomeUnknownError: The reply was lost.
        """
        self._capabilities().require(Capability.PAUSE_CONSUMPTION)
        if batch_size is not None:
            self._capabilities().require(Capability.FORCE_COMMIT_BATCHES)
        some = segments and self._capabilities().has(Capability.FORCE_COMMIT_SOME)
        chosen = ",".join(sorted(segments)) if some else None
        answer = self._post(table, "forceCommit", segments=chosen, batchSize=_text(batch_size))
        job: str | None = answer.get("forceCommitJobId")
        return job

    def pause_status(self, table: str) -> PauseStatus:
        """Return the flag and the consuming segments.

        Raises:
            NotFoundError: There is no such table.
        """
        return self._transport.get_value(path_of("tables", table, "pauseStatus"), dict, _pause_status)

    def progress(self, table: str) -> dict[str, tuple[ReplicaProgress, ...]]:
        """Return the servers' progress: segment -> reports of its servers, except servers that do not answer.

        Raises:
            NotFoundError: There is no such table.
        """
        path = path_of("tables", table, "consumingSegmentsInfo")
        return self._transport.get_value(
            path,
            dict,
            lambda by_segment: {
                segment: tuple(map(_replica, replicas)) for segment, replicas in by_segment.items()
            },
            key="_segmentToConsumingInfoMap",
        )

    def _post(self, table: str, call: str, **params: str | None) -> dict[str, Any]:
        response = self._transport.request("POST", path_of("tables", table, call), params=params)
        # Before 1.0, some of them have no body.
        return {} if has_nothing(response) else parse_reply(response, dict, clean=self._transport.clean)

    def _comment(self, comment: str | None) -> str | None:
        return comment if self._capabilities().has(Capability.PAUSE_COMMENT) else None


def _text(value: int | None) -> str | None:
    return None if value is None else str(value)


def _pause_status(document: Mapping[str, Any]) -> PauseStatus:
    return PauseStatus(bool(document["pauseFlag"]), frozenset(document.get("consumingSegments") or ()))


def _replica(reported: Mapping[str, Any]) -> ReplicaProgress:
    more = reported.get("partitionOffsetInfo") or {}
    lag = _only(more.get("recordsLagMap"))
    consumed = reported.get("lastConsumedTimestamp")
    return ReplicaProgress(
        server=reported["serverName"],
        consuming=reported.get("consumerState") == "CONSUMING",
        offset=_only(reported.get("partitionToOffsetMap")),
        latest_offset=_only(more.get("latestUpstreamOffsetMap")),
        # Contains text such as NOT_CALCULATED if the server could not reach the stream.
        lag=whole_number(lag, signed=True),
        consumed_ms=int(consumed) if consumed else None,
    )


def _only(by_partition: Mapping[str, Any] | None) -> str | None:
    """Return the only value of a map that has an entry just for the segment's own partition."""
    values = list((by_partition or {}).values())
    return str(values[0]) if values and values[0] is not None else None
