"""Rebalances: move segments to the servers assigned by the table's config and tenant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from controller_client.common.names import TableName
from controller_client.common.waiting import wait_until
from controller_client.errors import (
    AppliedError,
    NotAppliedError,
    NotFoundError,
    OutcomeUnknownError,
    RejectedError,
)
from controller_client.rest.capabilities import Capabilities, Capability
from controller_client.rest.paths import path_of
from controller_client.rest.rebalance_plan import RebalancePlan, plan_of
from controller_client.rest.replies import parse_reply
from controller_client.rest.segment_states import SegmentStates
from controller_client.rest.tables import TablesApi
from controller_client.rest.transport import Transport

__all__ = ["RebalanceApi", "RebalanceOptions", "RebalanceStatus", "StartedRebalance", "moved"]

_CALL_TIMEOUT_S = 120.0
"""Pinot computes the complete plan, twice, before it answers."""
_SETTLED_S = 2.5
"""If there is no job status: Pinot checks every second whether it is done, and until then restores its
target, overwriting all other changes of the ideal state."""
_STOPPED = frozenset({"FAILED", "ABORTED", "CANCELLED", "UNKNOWN_ERROR"})


@dataclass(frozen=True)
class RebalanceOptions:
    """How to rebalance; None: the version's default.

    Attributes:
        reassign_instances: Reassign the table's servers first. Default: no; since Pinot 1.4 yes.
        include_consuming: Also move consuming segments. Default: no; since Pinot 1.4 yes.
        bootstrap: Reassign all segments as if the table were empty, whatever moves.
        downtime: Move everything at once: segments are unavailable until their new servers have them.
        min_available_replicas: Replicas of a segment that stay available at all times; if negative, the
            number that may be unavailable. Default: 1; since Pinot 1.4 -1.
        best_efforts: Continue if a step does not finish in time, or a segment is in ERROR.
    """

    reassign_instances: bool | None = None
    include_consuming: bool | None = None
    bootstrap: bool = False
    downtime: bool = False
    min_available_replicas: int | None = None
    best_efforts: bool = False

    def params(self) -> dict[str, str | None]:
        """Return the parameters of the request."""
        return {
            "reassignInstances": _flag(self.reassign_instances),
            "includeConsuming": _flag(self.include_consuming),
            "bootstrap": _flag(self.bootstrap),
            "downtime": _flag(self.downtime),
            "minAvailableReplicas": None
            if self.min_available_replicas is None
            else str(self.min_available_replicas),
            "bestEfforts": _flag(self.best_efforts),
        }


@dataclass(frozen=True)
class StartedRebalance:
    """A rebalance that Pinot has started.

    Attributes:
        table: The table, with its type.
        job_id: For :meth:`RebalanceApi.status`; None before Pinot 1.0.
        status: ``IN_PROGRESS``; ``NO_OP`` if there is nothing to do; ``DONE`` with downtime.
        description: Pinot's description.
        target: Segment -> server -> state after the rebalance.
    """

    table: str
    job_id: str | None
    status: str
    description: str
    target: SegmentStates = field(repr=False)


@dataclass(frozen=True)
class RebalanceStatus:
    """The progress of a rebalance, as Pinot reports it.

    Attributes:
        job_id: The job.
        status: ``IN_PROGRESS``, ``DONE``, ``FAILED``, ``ABORTED``, ``CANCELLED`` or ``UNKNOWN_ERROR``.
        message: Pinot's message about the end.
        elapsed_s: Seconds since the start; 0 when it is done.
        took_s: Seconds that it took, once it has ended.
        to_add: Replicas for servers to fetch; None if the version does not count them.
        left_to_add: Number of these still to fetch.
        to_remove: Replicas for servers to drop.
        left_to_remove: Number of these still to drop.
    """

    job_id: str
    status: str
    message: str
    elapsed_s: int
    took_s: int
    to_add: int | None = None
    left_to_add: int | None = None
    to_remove: int | None = None
    left_to_remove: int | None = None


class RebalanceApi:
    """Rebalances of tables (names with type)."""

    def __init__(
        self, transport: Transport, tables: TablesApi, capabilities: Callable[[], Capabilities]
    ) -> None:
        self._transport = transport
        self._tables = tables
        self._capabilities = capabilities

    def plan(self, table: str, options: RebalanceOptions | None = None) -> RebalancePlan:
        """Return what a rebalance would move; changes nothing.

        Since Pinot 1.4, the result includes Pinot's own checks.

        Raises:
            NotFoundError: There is no such table.
            RejectedError: Pinot cannot rebalance the table this way; the error contains the reason.
        """
        checks = self._capabilities().has(Capability.REBALANCE_CHECKS)
        answer = self._post(
            table,
            {**_params(options), "dryRun": "true", "preChecks": "true" if checks else None},
            read_only=True,
        )
        _refuse_failed(table, answer)
        ideal = self._tables.ideal_state(table)
        sizes: dict[str, int] = {}
        with suppress(NotAppliedError):  # a plan is possible even if a server is down
            sizes = self._tables.size(table).segment_bytes()
        return plan_of(table, answer, ideal, sizes)

    def start(self, table: str, options: RebalanceOptions | None = None) -> StartedRebalance:
        """Start a rebalance; with ``downtime`` the ideal state has been changed when this returns.

        Raises:
            NotFoundError: There is no such table.
            ConflictError: Another rebalance of the table is in progress (Pinot 1.x).
            RejectedError: Pinot cannot rebalance the table this way; the error contains the reason.
            OutcomeUnknownError: The reply was lost: check whether the ideal state changes.
        """
        options = options or RebalanceOptions()
        answer = self._post(table, options.params(), read_only=False)
        if answer.get("status") == "FAILED" and options.downtime:
            raise OutcomeUnknownError(
                f"the rebalance of {table} failed: {answer.get('description')}",
                where=table,
                remedy="create a new plan: the ideal state may have been written",
            )
        _refuse_failed(table, answer)
        capable = self._capabilities().has(Capability.REBALANCE_STATUS)
        if not capable:
            _refuse_given_up(table, options, answer)
        return StartedRebalance(
            table=table,
            job_id=str(answer["jobId"]) if capable and answer.get("jobId") else None,
            status=str(answer.get("status") or ""),
            description=str(answer.get("description") or ""),
            target=answer.get("segmentAssignment") or {},
        )

    def status(self, job_id: str) -> RebalanceStatus:
        """Return the progress of a rebalance.

        Raises:
            NotFoundError: The controller knows no such job.
            UnsupportedError: The version does not report it.
        """
        self._capabilities().require(
            Capability.REBALANCE_STATUS,
            remedy="compare ideal state and external view with 'pinotctl table state'",
        )
        return _status(job_id, self._transport.get_json(path_of("rebalanceStatus", job_id), dict))

    def cancel(self, table: str) -> list[str]:
        """Stop the rebalances of a table after their current step; moved segments stay where they are.

        Returns:
            The stopped jobs; empty if none was in progress.

        Raises:
            UnsupportedError: The version cannot cancel a rebalance.
            OutcomeUnknownError: The reply was lost; repeating the call does no harm.
        """
        self._capabilities().require(Capability.REBALANCE_CANCEL)
        name = TableName(table)
        response = self._transport.request(
            "DELETE", path_of("tables", name.raw, "rebalance"), params={"type": name.type}
        )
        return sorted(parse_reply(response, list, clean=self._transport.clean))

    def wait(
        self,
        started: StartedRebalance,
        timeout_s: float,
        *,
        seen: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> None:
        """Wait until the servers have the segments assigned by a rebalance.

        Segments deleted meanwhile count as moved; new ones do not count. Before Pinot 1.0 this takes a few
        seconds more, until Pinot notices that it is done: another rebalance started before that would be
        undone.

        Args:
            started: The result of :meth:`start`.
            timeout_s: Seconds until the last check.
            seen: Called after each check with the number of segments in place and the total.

        Raises:
            AppliedError: Pinot has stopped it; the error contains the reason. Moved segments stay where they
                are.
            WaitTimeoutError: It did not finish in time.
        """
        table, clock = started.table, self._transport.clock
        blind = started.job_id is None and started.status == "IN_PROGRESS"
        done_since_s: float | None = None

        def missing() -> str | None:
            nonlocal done_since_s
            status = self._status_of(started)
            ideal = self._tables.ideal_state(table)
            done, total = moved(started.target, ideal, self._tables.external_view(table))
            seen(done, total)
            if done < total and status is not None and status.status in _STOPPED:
                raise AppliedError(
                    f"the rebalance of {table} ended as {status.status} with {done} of {total} segments in "
                    f"place: {status.message}",
                    where=f"job {status.job_id}",
                    remedy="create a new plan to see what is left, then rebalance again",
                )
            if done < total:
                done_since_s = None
                return f"{done} of {total} segments are in place"
            done_since_s = clock.monotonic() if done_since_s is None else done_since_s
            if blind and clock.monotonic() - done_since_s < _SETTLED_S:
                return "all segments are in place, but Pinot has not noticed yet"
            if status is not None and status.status == "IN_PROGRESS":
                return "all segments are in place, but the job is still running"
            return None

        wait_until(
            missing,
            what=f"the segments of {table} on their new servers",
            timeout_s=timeout_s,
            clock=clock,
            longest_poll_s=1.0,
            remedy="it continues; the controller's log shows what it is waiting for",
        )

    def _status_of(self, started: StartedRebalance) -> RebalanceStatus | None:
        if started.job_id is None or started.status != "IN_PROGRESS":
            return None
        with suppress(NotFoundError):  # Pinot forgets old jobs
            return self.status(started.job_id)
        return None

    def _post(self, table: str, params: Mapping[str, str | None], *, read_only: bool) -> Mapping[str, Any]:
        name = TableName(table)
        response = self._transport.request(
            "POST",
            path_of("tables", name.raw, "rebalance"),
            params={"type": name.type, **params},
            read_only=read_only,
            read_timeout_s=_CALL_TIMEOUT_S,
        )
        return parse_reply(response, dict, clean=self._transport.clean, reads=read_only)


def moved(target: SegmentStates, ideal: SegmentStates, seen: SegmentStates) -> tuple[int, int]:
    """Return how many segments of a target are in place, and how many there are.

    Args:
        target: The rebalance's assignment.
        ideal: The table's current ideal state.
        seen: Its external view.
    """
    present = [segment for segment in target if segment in ideal]
    done = sum(
        target[segment].keys() == ideal[segment].keys() and ideal[segment] == (seen.get(segment) or {})
        for segment in present
    )
    return done, len(present)


def _params(options: RebalanceOptions | None) -> dict[str, str | None]:
    return (options or RebalanceOptions()).params()


def _flag(value: bool | None) -> str | None:
    return None if value is None else str(value).lower()


def _refuse_given_up(table: str, options: RebalanceOptions, answer: Mapping[str, Any]) -> None:
    """Refuse what Pinot before 1.0 accepts and then abandons, with just a line in the controller's log."""
    target: SegmentStates = answer.get("segmentAssignment") or {}
    replicas = min((len(servers) for servers in target.values()), default=0)
    staying = 1 if options.min_available_replicas is None else options.min_available_replicas
    if answer.get("status") == "IN_PROGRESS" and not options.downtime and replicas and staying >= replicas:
        raise RejectedError(
            f"Pinot has abandoned the rebalance of {table}: {staying} replicas of each segment must stay "
            f"available, but there are only {replicas}",
            where=table,
            remedy="reduce min_available_replicas (--min-available-replicas 0), or allow downtime",
        )


def _refuse_failed(table: str, answer: Mapping[str, Any]) -> None:
    if answer.get("status") in _STOPPED:
        raise RejectedError(
            f"Pinot cannot rebalance {table}: {answer.get('description')}",
            where=table,
            remedy="if there are too few replicas, see the options for downtime and available replicas",
        )


def _status(job_id: str, answer: Mapping[str, Any]) -> RebalanceStatus:
    stats: Mapping[str, Any] = answer.get("tableRebalanceProgressStats") or {}
    overall: Mapping[str, Any] = stats.get("rebalanceProgressStatsOverall") or {}
    return RebalanceStatus(
        job_id=job_id,
        status=str(stats.get("status") or ""),
        message=str(stats.get("completionStatusMsg") or ""),
        elapsed_s=int(answer.get("timeElapsedSinceStartInSeconds") or 0),
        took_s=int(stats.get("timeToFinishInSeconds") or 0),
        to_add=overall.get("totalSegmentsToBeAdded"),
        left_to_add=overall.get("totalRemainingSegmentsToBeAdded"),
        to_remove=overall.get("totalSegmentsToBeDeleted"),
        left_to_remove=overall.get("totalRemainingSegmentsToBeDeleted"),
    )
