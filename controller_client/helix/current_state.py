"""State transitions of segments: wait for those that follow a reset, and wake Helix for more."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from controller_client.common.names import TableName
from controller_client.common.text import counted_text
from controller_client.common.waiting import wait_until
from controller_client.errors import ConflictError, NotFoundError, OutcomeUnknownError
from controller_client.helix.instance_config import live_session
from controller_client.helix.record_at import read_record_at
from controller_client.rest.segment_states import first_few
from controller_client.zookeeper.property_store import PropertyStore

if TYPE_CHECKING:
    from controller_client.rest.client import RestClient

__all__ = ["SegmentResets", "wake_helix"]

_WAKE_EVERY_POLLS = 5


class SegmentResets:
    """Waits until servers have dropped segments and loaded them again; to be made before they are reset.

    The states alone do not show it: a segment that a server has not dropped yet counts as loaded, too.

    Args:
        client: Client.
        store: ZooKeeper, of the same cluster.
        table: The table.
        names: The segments that will be reset.
        servers: Names in Helix of the servers on which they will be.

    Raises:
        UnreachableError: ZooKeeper does not answer.
    """

    def __init__(
        self,
        client: RestClient,
        store: PropertyStore,
        table: TableName,
        names: Collection[str],
        servers: Collection[str],
    ) -> None:
        self._client, self._store, self._table = client, store, table
        self._names, self._servers = names, servers
        self._before = self._transitions()

    def wait(self, timeout_s: float, *, seen: Callable[[int], object] = lambda _count: None) -> None:
        """Wait until all segments are loaded again.

        Args:
            timeout_s: Seconds until the last check.
            seen: Called after each check, in this thread, with the number of segments that are loaded.

        Raises:
            WaitTimeoutError: Not all are loaded in time.
        """
        polls = 0

        def missing() -> str | None:
            nonlocal polls
            polls += 1
            now = self._transitions()
            faults: list[object] = [
                f"{server} has not dropped {name} yet"
                for (name, server), before in self._before.items()
                if now.get((name, server)) == before
            ]
            unloaded = self._client.segments.unloaded(self._table, self._names)
            seen(len(self._names) - len({fault.segment for fault in unloaded}))
            if unloaded and polls % _WAKE_EVERY_POLLS == 0:
                # Otherwise a segment that leaves ERROR stays OFFLINE until something else changes.
                with suppress(NotFoundError):
                    wake_helix(self._store, self._table)
            faults += unloaded
            return f"not loaded yet: {first_few(faults)}" if faults else None

        wait_until(
            missing,
            what=f"{counted_text(len(self._names), 'segment')} of {self._table} to be online",
            timeout_s=timeout_s,
            clock=self._client.clock,
            remedy="check in the servers' logs whether they can read the segments' download URLs",
        )

    def _transitions(self) -> Mapping[tuple[str, str], Mapping[str, str]]:
        """Return the live servers' records of their last transitions, by segment and server.

        Two records of the same segment and server differ if there was a transition in between, because they
        contain its times. A segment that a server has never had since it joined has none.
        """
        store = self._store
        transitions: dict[tuple[str, str], Mapping[str, str]] = {}
        for server in sorted(self._servers):
            session = live_session(store, server)
            if session is None:
                continue
            path = f"/{store.cluster_name}/INSTANCES/{server}/CURRENTSTATES/{session}/{self._table}"
            record = read_record_at(store, path)
            states = record.map_fields if record else {}
            transitions |= {(name, server): states[name] for name in self._names if name in states}
        return transitions


def wake_helix(store: PropertyStore, table: TableName) -> None:
    """Rewrite the table's ideal state unchanged, so that Helix's controller recomputes the transitions.

    Helix (1.0.4 in Pinot 0.11 as well as 1.3.2 in Pinot 1.5) keeps its decisions until an ideal state, the
    live instances or a config changes. While a segment is in ERROR, the decision is to leave it alone, so a
    segment that a reset takes out of ERROR stays OFFLINE until one of these changes.

    Raises:
        NotFoundError: There is no such table.
        UnreachableError: ZooKeeper does not answer.
    """
    path = f"/{store.cluster_name}/IDEALSTATES/{table}"
    found = store.connection.get(path)
    if found is None:
        raise NotFoundError(f"there is no table {table}", where=path)
    content, version = found
    # Another client's write is also a change, and a write whose reply was lost changes nothing when it is
    # repeated.
    with suppress(ConflictError, OutcomeUnknownError):
        store.connection.set(path, content, version)
