"""Rebalances: segments move to the servers that the table's config and the tenant's servers ask for."""

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
from controller_client.rest.rebalance_plan import RebalancePlan, plan_of
from controller_client.rest.segment_states import SegmentStates
from controller_client.rest.tables import TablesApi
from controller_client.rest.transport import Transport, path_of

__all__ = ["RebalanceApi", "RebalanceOptions", "RebalanceStatus", "StartedRebalance", "moved"]

_CALL_TIMEOUT_S = 120.0
"""Pinot plans the whole before it answers, twice."""
_SETTLED_S = 2.5
"""Without a job's status: Pinot looks each second whether it is done, and until then it brings its target
back, whatever somebody else has made of the ideal state."""
_STOPPED = frozenset({"FAILED", "ABORTED", "CANCELLED", "UNKNOWN_ERROR"})


@dataclass(frozen=True)
class RebalanceOptions:
    """How to rebalance; None leaves it to the version's own default.

    Attributes:
        reassign_instances: Choose the table's servers anew first. Default: no; since Pinot 1.4 yes.
        include_consuming: Move consuming segments too. Default: no; since Pinot 1.4 yes.
        bootstrap: Assign all segments anew, as if the table was empty, whatever moves.
        downtime: Change all at once: segments are away until their new servers have them.
        min_available_replicas: Replicas of a segment that stay there all the time; less than 0: that many may
            be away. Default: 1; since Pinot 1.4 -1.
        best_efforts: Go on where a step is not finished in time, or a segment is in ERROR.
    """

    reassign_instances: bool | None = None
    include_consuming: bool | None = None
    bootstrap: bool = False
    downtime: bool = False
    min_available_replicas: int | None = None
    best_efforts: bool = False

    def params(self) -> dict[str, str | None]:
        """The parameters of the request."""
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
    """A rebalance that Pinot has begun.

    Attributes:
        table: The table, with its type.
        job_id: For :meth:`RebalanceApi.status`; None before Pinot 1.0.
        status: ``IN_PROGRESS``; ``NO_OP`` where nothing is to be done; ``DONE`` of one with downtime.
        description: Pinot's own sentence.
        target: Segment -> server -> state, as the rebalance will leave it.
    """

    table: str
    job_id: str | None
    status: str
    description: str
    target: SegmentStates = field(repr=False)


@dataclass(frozen=True)
class RebalanceStatus:
    """How far a rebalance is, as Pinot reports it.

    Attributes:
        job_id: The job.
        status: ``IN_PROGRESS``, ``DONE``, ``FAILED``, ``ABORTED``, ``CANCELLED`` or ``UNKNOWN_ERROR``.
        message: Pinot's own sentence about the end.
        elapsed_s: Seconds since it began; 0 when it is done.
        took_s: Seconds that it took, when it is over.
        to_add: Replicas that servers fetch; None where the version does not count them.
        left_to_add: How many of these are left.
        to_remove: Replicas that servers drop.
        left_to_remove: How many of these are left.
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
        """Return what a rebalance would move; nothing is changed.

        Since Pinot 1.4 its own checks come with it.

        Raises:
            NotFoundError: There is no such table.
            RejectedError: Pinot cannot rebalance the table like this; the error has its reason.
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
        with suppress(NotAppliedError):  # a server that is away is no reason not to plan
            sizes = self._tables.size(table).segment_bytes()
        return plan_of(table, answer, ideal, sizes)

    def start(self, table: str, options: RebalanceOptions | None = None) -> StartedRebalance:
        """Begin a rebalance; with ``downtime`` the ideal state is changed when it returns.

        Raises:
            NotFoundError: There is no such table.
            ConflictError: Another rebalance of the table goes on (Pinot 1.x).
            RejectedError: Pinot cannot rebalance the table like this; the error has its reason.
            OutcomeUnknownError: The reply was lost: look whether the ideal state changes.
        """
        options = options or RebalanceOptions()
        answer = self._post(table, options.params(), read_only=False)
        if answer.get("status") == "FAILED" and options.downtime:
            raise OutcomeUnknownError(
                f"the rebalance of {table} failed: {answer.get('description')}",
                where=table,
                remedy="see what another plan says: the ideal state may have been written",
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
        """Return how far a rebalance is.

        Raises:
            NotFoundError: The controller knows no such job.
            UnsupportedError: The version does not report it.
        """
        self._capabilities().require(
            Capability.REBALANCE_STATUS,
            remedy="compare ideal state and external view by 'pinotctl table state'",
        )
        return _status(job_id, self._transport.get_json(path_of("rebalanceStatus", job_id)) or {})

    def cancel(self, table: str) -> list[str]:
        """Stop the rebalances of a table after the step that they are at; what moved stays where it is.

        Returns:
            The jobs that were stopped; none where none went on.

        Raises:
            UnsupportedError: The version cannot.
            OutcomeUnknownError: The reply was lost; the same again does no harm.
        """
        self._capabilities().require(Capability.REBALANCE_CANCEL)
        name = TableName(table)
        response = self._transport.request(
            "DELETE", path_of("tables", name.raw, "rebalance"), params={"type": name.type}
        )
        return sorted(self._transport.json_of(response) or ())

    def wait(
        self,
        started: StartedRebalance,
        timeout_s: float,
        *,
        seen: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> None:
        """Wait until the servers hold the segments as the rebalance has assigned them.

        Segments that are deleted meanwhile count as moved, and those that come meanwhile not at all. Before
        Pinot 1.0 it takes some seconds more, in which Pinot finds out that it is done: another rebalance that
        began within them would be undone.

        Args:
            started: What :meth:`start` returned.
            timeout_s: Seconds until the last check.
            seen: Called after each look, with how many segments are in their places, of how many.

        Raises:
            AppliedError: Pinot has stopped it; the error has its reason. What moved stays where it is.
            WaitTimeoutError: It is not finished in time.
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
                    f"their places: {status.message}",
                    where=f"job {status.job_id}",
                    remedy="see what is left by another plan, and rebalance again",
                )
            if done < total:
                done_since_s = None
                return f"{done} of {total} segments are in their places"
            done_since_s = clock.monotonic() if done_since_s is None else done_since_s
            if blind and clock.monotonic() - done_since_s < _SETTLED_S:
                return "all segments are in their places, and Pinot does not know yet"
            if status is not None and status.status == "IN_PROGRESS":
                return "all segments are in their places, and the job goes on"
            return None

        wait_until(
            missing,
            what=f"the segments of {table} on their new servers",
            timeout_s=timeout_s,
            clock=clock,
            longest_poll_s=1.0,
            remedy="it goes on; see the controller's log for what it waits for",
        )

    def _status_of(self, started: StartedRebalance) -> RebalanceStatus | None:
        if started.job_id is None or started.status != "IN_PROGRESS":
            return None
        with suppress(NotFoundError):  # an old job is forgotten
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
        answer: Mapping[str, Any] = self._transport.json_of(response) or {}
        return answer


def moved(target: SegmentStates, ideal: SegmentStates, seen: SegmentStates) -> tuple[int, int]:
    """Return how many segments of a target are where it wants them, and of how many.

    Args:
        target: The rebalance's assignment.
        ideal: The table's ideal state now.
        seen: Its external view.
    """
    there = [segment for segment in target if segment in ideal]
    done = sum(
        target[segment].keys() == ideal[segment].keys() and ideal[segment] == (seen.get(segment) or {})
        for segment in there
    )
    return done, len(there)


def _params(options: RebalanceOptions | None) -> dict[str, str | None]:
    return (options or RebalanceOptions()).params()


def _flag(value: bool | None) -> str | None:
    return None if value is None else str(value).lower()


def _refuse_given_up(table: str, options: RebalanceOptions, answer: Mapping[str, Any]) -> None:
    """Refuse what Pinot before 1.0 takes and then gives up at once, with a line in the controller's log."""
    target: SegmentStates = answer.get("segmentAssignment") or {}
    replicas = min((len(servers) for servers in target.values()), default=0)
    staying = 1 if options.min_available_replicas is None else options.min_available_replicas
    if answer.get("status") == "IN_PROGRESS" and not options.downtime and replicas and staying >= replicas:
        raise RejectedError(
            f"Pinot has given up the rebalance of {table}: {staying} replicas of each segment are to stay "
            f"available, and it has {replicas}",
            where=table,
            remedy="ask for fewer by min_available_replicas (--min-available-replicas 0), or allow downtime",
        )


def _refuse_failed(table: str, answer: Mapping[str, Any]) -> None:
    if answer.get("status") in _STOPPED:
        raise RejectedError(
            f"Pinot cannot rebalance {table}: {answer.get('description')}",
            where=table,
            remedy="with too few replicas for it, see the options about downtime and available replicas",
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
