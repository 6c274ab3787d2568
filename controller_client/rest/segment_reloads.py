"""Reloads: servers reload segments and report their progress."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import requests

from controller_client.common.waiting import wait_until
from controller_client.errors import AppliedError
from controller_client.rest.capabilities import Capabilities, Capability
from controller_client.rest.paths import path_of
from controller_client.rest.replies import parse_reply
from controller_client.rest.segment_states import ReloadStatus
from controller_client.rest.tables import TablesApi
from controller_client.rest.transport import Transport

__all__ = ["SegmentReloads"]

_JOB_OF_TABLE = re.compile(r'"reloadJobId"\s*:\s*"([^"]+)"')
_JOB_OF_SEGMENT = re.compile(r"reload job id: ([^\s,]+)")
_STALLED_S = 30.0
_NEVER_COUNTED = "check the servers' logs; a server whose clock is behind the controller's is never counted"


class SegmentReloads:
    """The reload calls of :class:`~controller_client.rest.segments.SegmentsApi`."""

    def __init__(
        self, transport: Transport, tables: TablesApi, capabilities: Callable[[], Capabilities]
    ) -> None:
        self._transport = transport
        self._tables = tables
        self._capabilities = capabilities

    def reload(self, table: str, *, download: bool = False) -> str:
        """Make servers reload the committed segments of a table.

        This applies the current schema and table config: new columns with their default values, new indexes.
        Consuming segments do not change.

        Args:
            table: Table.
            download: Fetch them from the deep store even if the checksum already matches; before Pinot 1.5
                only for OFFLINE tables.

        Returns:
            The job's id, for :meth:`wait_reloaded`.

        Raises:
            NotFoundError: There is no such table, or (Pinot 1.x) it has no segment.
            OutcomeUnknownError: The reply was lost; repeating the call does no harm.
            AppliedError: The reload was requested, but the response contains no job id.
        """
        response = self._transport.request(
            "POST",
            path_of("segments", table, "reload"),
            params={"forceDownload": str(download).lower()},
        )
        return self._job_of(response, _JOB_OF_TABLE, table)

    def reload_segment(self, table: str, segment: str, *, download: bool = False) -> str:
        """Make the servers that have a segment reload it; returns before they have.

        Args:
            table: Table.
            segment: Segment.
            download: Fetch it from the deep store even if the checksum already matches.

        Returns:
            The job's id, for :meth:`wait_reloaded`.

        Raises:
            NotFoundError: There is no such segment, or no server has it.
            OutcomeUnknownError: The reply was lost; repeating the call does no harm.
            AppliedError: The reload was requested, but the response contains no job id.
        """
        response = self._transport.request(
            "POST",
            path_of("segments", table, segment, "reload"),
            params={"forceDownload": str(download).lower()},
        )
        return self._job_of(response, _JOB_OF_SEGMENT, segment)

    def reload_status(self, job_id: str) -> ReloadStatus:
        """Return the progress of a reload; queries all servers of the table.

        Raises:
            NotFoundError: The controller knows no such job.
            UnsupportedError: The version does not report it.
        """
        self._capabilities().require(Capability.RELOAD_STATUS)
        path = path_of("segments", "segmentReloadStatus", job_id)
        return self._transport.get_value(path, dict, _reload_status)

    def wait_reloaded(
        self,
        table: str,
        job_id: str,
        timeout_s: float,
        *,
        seen: Callable[[int, int], None] = lambda _reloaded, _wanted: None,
    ) -> ReloadStatus:
        """Wait until each server has reloaded the committed segments of a reload.

        Pinot 0.11 records the time of a reload after requesting it, so segments reloaded before that are
        never counted. If the count does not change for half a minute, the reload is requested again.

        Args:
            table: Table.
            job_id: The result of :meth:`reload` or :meth:`reload_segment`.
            timeout_s: Seconds until the last check.
            seen: Called after each check with the number of reloaded replicas and the total.

        Returns:
            The last status; replicas that are not reloaded are consuming.

        Raises:
            WaitTimeoutError: The error reports how many replicas are reloaded, or that servers do not answer.
        """
        last = ReloadStatus(0, 0, 0)
        clock = self._transport.clock
        moved_s, stalled_s = clock.monotonic(), _STALLED_S

        def missing() -> str | None:
            nonlocal last, job_id, moved_s, stalled_s
            ideal = self._tables.ideal_state(table)
            before, last = last, self.reload_status(job_id)
            if last.reloaded != before.reloaded or last.servers_failed:
                moved_s = clock.monotonic()
            elif last.reloaded < last.total and clock.monotonic() - moved_s >= stalled_s:
                segment = last.segment
                job_id = self.reload_segment(table, segment) if segment else self.reload(table)
                moved_s, stalled_s = clock.monotonic(), 2 * stalled_s
            replicas = _online(ideal, [last.segment] if last.segment else ideal)
            seen(min(last.reloaded, replicas), replicas)
            if last.servers_failed:
                return f"{last.servers_failed} servers do not answer"
            return (
                None if last.reloaded >= replicas else f"{last.reloaded} of {replicas} replicas are reloaded"
            )

        wait_until(
            missing,
            what=f"the segments of {table} to be reloaded",
            timeout_s=timeout_s,
            clock=self._transport.clock,
            remedy=_NEVER_COUNTED,
        )
        return last

    def _job_of(self, response: requests.Response, pattern: re.Pattern[str], what: str) -> str:
        text = parse_reply(response, str, key="status", clean=self._transport.clean)
        job = pattern.search(text)
        if job is None:
            raise AppliedError(
                f"the reload of {what} was requested, but the response contains no job id: "
                f"{self._transport.clean(text)[:200]!r}",
                where=what,
                remedy="check the servers' logs for its progress",
            )
        return job[1]


def _online(ideal: Mapping[str, Mapping[str, str]], names: Iterable[str]) -> int:
    return sum(state == "ONLINE" for name in names for state in (ideal.get(name) or {}).values())


def _reload_status(answer: Mapping[str, Any]) -> ReloadStatus:
    job: Mapping[str, str] = answer.get("metadata") or {}
    submitted = job.get("submissionTimeMs")
    return ReloadStatus(
        total=int(answer["totalSegmentCount"]),
        reloaded=int(answer["successCount"]),
        servers_failed=int(answer.get("totalServerCallsFailed", 0)),
        table=job.get("tableName"),
        segment=job.get("segmentName"),
        submitted_ms=int(submitted) if submitted else None,
    )
