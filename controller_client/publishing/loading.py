"""Waits until servers have loaded pushed segments, and repairs those that do not load by themselves.

A push can end midway, and a server tries to load a segment only once::

    observation                    cause                                          repair
    ERROR on a server              its download failed, e.g. because the          reset it there
                                   controller that serves the tar died
    ERROR again                    the tar in the deep store is missing or        push again, reset
    OFFLINE or absent for long     Helix keeps what it decided while the          wake Helix
                                   segment was in ERROR
    not in the ideal state         the controller died within the push, or        push again
                                   took a push back that had failed

If fewer than all replicas are enough, the wait ends once that many serve: at once if the servers behind are
disconnected, after a while if one of them is live; and not before brokers stop skipping new segments. If all
replicas of a segment are on such servers, the wait continues.

Each repair is made a limited number of times. After that, an error names the segments that do not load, the
servers and the servers' reasons.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from controller_client.common.names import TableName
from controller_client.common.waiting import wait_until
from controller_client.errors import (
    ConflictError,
    NotAppliedError,
    NotFoundError,
    OutcomeUnknownError,
    PinotPluginError,
    WaitTimeoutError,
)
from controller_client.helix import wake_helix
from controller_client.rest.capabilities import Capability
from controller_client.rest.segment_states import LoadState, Unloaded, first_few
from controller_client.zookeeper import PropertyStore, segment_path

if TYPE_CHECKING:
    from controller_client.rest.client import RestClient

__all__ = ["LIVE_SERVER_GRACE_S", "NEW_SEGMENT_S", "SegmentLoading"]

logger = logging.getLogger(__name__)

# A push, or what Helix and servers do after it, may be in progress: a fault counts only if it lasts.
_ERROR_LASTS_S = 1.0
_ERROR_AGAIN_LASTS_S = 10.0
_UNASSIGNED_LASTS_S = 10.0
_WAKE_AFTER_S = 10.0
_WAKE_AFTER_RESET_S = 1.0
_LONGEST_WAKE_PAUSE_S = 60.0
_PUSHES = 2

LIVE_SERVER_GRACE_S = 60.0
"""How long to wait for a live server once enough replicas serve."""

NEW_SEGMENT_S = 310.0
"""How long to wait for a dead server with brokers of Pinot 1.0 and later.

For five minutes after its push, they treat a segment as new, send some queries to replicas that do not have
it yet, even dead ones, and silently omit it from the result. A routing built after that time uses the serving
replicas.
"""


class SegmentLoading:
    """Waits for segments of a table, and repairs them.

    Args:
        client: Client of the cluster.
        table: Table.
        store: ZooKeeper.
        push_again: Pushes segments with these names as if they had never been pushed; None: not possible
            here.
        min_replicas: Number of replicas of each segment that must serve, see
            :meth:`.segment_states.LoadState.is_served`; None: all.
    """

    def __init__(
        self,
        client: RestClient,
        table: TableName,
        store: PropertyStore,
        push_again: Callable[[Collection[str]], object] | None = None,
        *,
        min_replicas: int | None = None,
    ) -> None:
        self._client = client
        self._min_replicas = min_replicas
        self._enough_since_s: float | None = None
        self._stopped_repairs = False
        self._table = table
        self._store = store
        self._push_again = push_again
        self._since: dict[Unloaded, float] = {}
        self._resets: Counter[str] = Counter()
        self._pushes: Counter[str] = Counter()
        self._wake_at_s: float | None = None
        self._wake_pause_s = _WAKE_AFTER_S

    def wait(self, names: Iterable[str], timeout_s: float) -> None:
        """Wait until each segment is in its ideal state on all servers, or on enough of them.

        Args:
            names: Segments.
            timeout_s: Seconds until the last check.

        Raises:
            WaitTimeoutError: The error lists the segments that do not load, the servers, and their reasons.
            NotAppliedError: A segment could not be pushed again.
            OutcomeUnknownError: It is unknown whether a segment was pushed again.
        """
        segments = sorted(set(names))

        def missing() -> str | None:
            state = self._client.segments.load_state(self._table, segments)
            faults = state.faults
            if not faults or self._may_continue(state):
                return None
            count = f"{len({fault.segment for fault in faults})} of {len(segments)} segments"
            try:
                if not self._stopped_repairs:
                    self._repair(faults, count)
            except WaitTimeoutError as error:
                if self._enough_since_s is None:
                    raise
                logger.warning("%s: enough replicas serve, although %s", self._table, error.message)
                self._stopped_repairs = True
            in_error = {fault.segment for fault in faults if fault.in_error}
            # Brokers treat a segment with a replica in ERROR as old at once; for others see NEW_SEGMENT_S.
            if self._stopped_repairs and all(fault.segment in in_error for fault in faults):
                return None
            return f"{count} are not ready yet: {first_few(faults)}"

        wait_until(
            missing,
            what=f"{len(segments)} segments of {self._table} online",
            timeout_s=timeout_s,
            clock=self._client.clock,
            first_poll_s=0.05,
            longest_poll_s=0.5,  # two reads per check; a reader waits for the result
            remedy="check that the servers are running, and their logs",
        )

    def _may_continue(self, state: LoadState) -> bool:
        """Whether enough replicas serve, and the others are not worth a longer wait."""
        if self._min_replicas is None or not state.is_served(self._min_replicas):
            self._enough_since_s, self._stopped_repairs = None, False
            return False
        now_s = self._client.clock.monotonic()
        if self._enough_since_s is None:
            self._enough_since_s = now_s
        if now_s - self._enough_since_s < self._patience_s(state):
            return False
        logger.warning("%s: continuing although servers are behind: %s", self._table, first_few(state.faults))
        return True

    def _patience_s(self, state: LoadState) -> float:
        """Return how long to wait for servers that are behind once enough replicas serve."""
        if self._client.cluster.capabilities().has(Capability.NEW_SEGMENTS_LEFT_OUT):
            return NEW_SEGMENT_S
        return LIVE_SERVER_GRACE_S if state.behind.keys() & set(self._store.live_instances()) else 0.0

    def _repair(self, faults: Sequence[Unloaded], count: str) -> None:
        now_s = self._client.clock.monotonic()
        self._since = {fault: self._since.get(fault, now_s) for fault in faults}
        in_error = [fault for fault in faults if fault.in_error and self._lasts(fault, now_s)]
        hopeless = [fault for fault in in_error if not self._may_repair(fault.segment)]
        if hopeless:
            raise self._cannot_load(hopeless, count)
        unassigned = {fault.segment for fault in faults if fault.server is None and self._lasts(fault, now_s)}
        again = {fault.segment for fault in in_error if self._resets[fault.segment]}
        self._push({name for name in again | unassigned if self._pushes[name] < _PUSHES})
        for fault in in_error:
            self._reset(fault)
        self._start_over({fault.segment for fault in in_error})
        self._wake(faults, now_s, after_reset=bool(in_error))

    def _lasts(self, fault: Unloaded, now_s: float) -> bool:
        if fault.server is None:
            least_s = _UNASSIGNED_LASTS_S
        else:
            # After a reset the external view shows the old state for a moment.
            least_s = _ERROR_AGAIN_LASTS_S if self._resets[fault.segment] else _ERROR_LASTS_S
        return now_s - self._since[fault] >= least_s

    def _may_repair(self, segment: str) -> bool:
        if not self._resets[segment]:
            return True
        return self._push_again is not None and self._pushes[segment] < _PUSHES

    def _push(self, names: set[str]) -> None:
        if not names or self._push_again is None:
            return
        logger.warning(
            "%s: pushing segments again because they do not load: %s", self._table, first_few(sorted(names))
        )
        self._pushes.update(names)
        for name in names:
            self._forget(name)
        self._push_again(names)
        self._start_over(names)

    def _forget(self, segment: str) -> None:
        """Delete a segment's record, so that Pinot treats the push as that of a new segment.

        Otherwise, pushing the same segment would change nothing. Pinot's own deletion is not used: it moves
        the tar away some time after deleting the record, and might move that of the new push.
        """
        path = segment_path(self._table, segment)
        znode = self._store.get(path)
        if znode is None:
            return
        try:
            self._store.delete(path, expected_version=znode.version)
        except (NotFoundError, ConflictError):
            logger.info("%s: another client has just changed the record of %s", self._table, segment)

    def _reset(self, fault: Unloaded) -> None:
        logger.warning("%s: resetting: %s", self._table, fault)
        try:
            self._client.segments.reset(self._table, fault.segment, server=fault.server)
        except OutcomeUnknownError as error:
            logger.warning("%s: the reset of %s: %s", self._table, fault.segment, error.message)
        except NotAppliedError as error:
            # Most likely a transition is already in progress and will show.
            logger.warning("%s: the reset of %s: %s", self._table, fault.segment, error.message)
            return
        self._resets[fault.segment] += 1

    def _start_over(self, segments: Collection[str]) -> None:
        now_s = self._client.clock.monotonic()
        self._since.update({fault: now_s for fault in self._since if fault.segment in segments})

    def _wake(self, faults: Sequence[Unloaded], now_s: float, *, after_reset: bool) -> None:
        if after_reset:
            self._wake_at_s, self._wake_pause_s = now_s + _WAKE_AFTER_RESET_S, _WAKE_AFTER_S
            return
        if not any(fault.server is not None and not fault.in_error for fault in faults):
            return
        if self._wake_at_s is None:
            self._wake_at_s = now_s + self._wake_pause_s
        if now_s < self._wake_at_s:
            return
        try:
            wake_helix(self._store, self._table)
        except PinotPluginError as error:
            logger.warning("%s: Helix was not woken: %s", self._table, error.message)
        self._wake_at_s = now_s + self._wake_pause_s
        self._wake_pause_s = min(2 * self._wake_pause_s, _LONGEST_WAKE_PAUSE_S)

    def _cannot_load(self, hopeless: Sequence[Unloaded], count: str) -> WaitTimeoutError:
        try:
            reasons = self._client.segments.load_errors(self._table)
        except PinotPluginError as error:
            logger.warning("%s: the servers' reasons cannot be read: %s", self._table, error.message)
            reasons = {}
        texts = (
            f"{fault}: {reasons.get((fault.segment, fault.server or ''), 'the server reports no reason')}"
            for fault in hopeless
        )
        tried = "reset" if self._push_again is None else "reset and pushed again"
        return WaitTimeoutError(
            f"{count} of {self._table} do not load although they were {tried}: {first_few(texts)}",
            expected="the states of the ideal state",
            where=self._table,
            remedy="fix the problem that the server reports (its log has more), then run again, which starts "
            "with a reset",
        )
