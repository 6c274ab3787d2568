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
from controller_client.rest.segment_states import first_few
from controller_client.zookeeper.property_store import PropertyStore
from controller_client.zookeeper.record import ZNRecord

if TYPE_CHECKING:
    from controller_client.rest.client import RestClient

__all__ = ["SegmentResets", "wake_helix"]

_WAKE_EVERY_POLLS = 5
_SETTLED_S = 3.0
_LOADED = ("ONLINE", "CONSUMING")


class SegmentResets:
    """Waits until servers have dropped segments and loaded them again; to be made before they are reset.

    The external view alone does not show it. It follows the servers: a segment that a server has not dropped
    yet counts as loaded, and one that is loaded again may still turn OFFLINE there for a moment.

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
        self._before, _ = self._transitions()

    def wait(self, timeout_s: float, *, seen: Callable[[int], object] = lambda _count: None) -> None:
        """Wait until all segments are loaded again.

        Args:
            timeout_s: Seconds until the last check.
            seen: Called after each check, in this thread, with the number of segments that are loaded.

        Raises:
            WaitTimeoutError: Not all are loaded in time.
        """
        polls = 0
        loaded_since_s: float | None = None

        def missing() -> str | None:
            nonlocal polls, loaded_since_s
            polls += 1
            now, changed_at = self._transitions()
            faults: list[object] = [
                f"{server} has not dropped {name} and loaded it again"
                for (name, server), before in self._before.items()
                if not _is_loaded_again(before, now.get((name, server)))
            ]
            unloaded = self._client.segments.unloaded(self._table, self._names)
            seen(len(self._names) - len({fault.segment for fault in unloaded}))
            if unloaded and polls % _WAKE_EVERY_POLLS == 0:
                # Otherwise a segment that leaves ERROR stays OFFLINE until something else changes.
                with suppress(NotFoundError):
                    wake_helix(self._store, self._table)
            faults += unloaded
            if faults:
                loaded_since_s = None
                return f"not loaded yet: {first_few(faults)}"
            now_s = self._client.clock.monotonic()
            loaded_since_s = now_s if loaded_since_s is None else loaded_since_s
            # Helix may have skipped the state in between, and then writes nothing.
            if self._view_written_at() > changed_at or now_s - loaded_since_s >= _SETTLED_S:
                return None
            return "the external view may be older than the servers' states"

        wait_until(
            missing,
            what=f"{counted_text(len(self._names), 'segment')} of {self._table} to be online",
            timeout_s=timeout_s,
            clock=self._client.clock,
            remedy="check in the servers' logs whether they can read the segments' download URLs",
        )

    def _view_written_at(self) -> int:
        """Return ZooKeeper's number of the transaction that wrote the table's external view."""
        znode = self._store.connection.read(f"/{self._store.cluster_name}/EXTERNALVIEW/{self._table}")
        return znode.zxid if znode else 0

    def _transitions(self) -> tuple[Mapping[tuple[str, str], Mapping[str, str]], int]:
        """Return the live servers' records of their last transitions, and when the last one was written.

        Two records of the same segment and server differ if there was a transition in between, because they
        contain its times. A segment that a server has never had since it joined has none.

        Returns:
            The records by segment and server, and ZooKeeper's number of the last transaction that wrote one.
        """
        store = self._store
        transitions: dict[tuple[str, str], Mapping[str, str]] = {}
        written_at = 0
        for server in sorted(self._servers):
            session = live_session(store, server)
            if session is None:
                continue
            path = f"/{store.cluster_name}/INSTANCES/{server}/CURRENTSTATES/{session}/{self._table}"
            znode = store.connection.read(path)
            if znode is None or not znode.content:
                continue
            states = ZNRecord.from_bytes(znode.content, where=path).map_fields
            transitions |= {(name, server): states[name] for name in self._names if name in states}
            written_at = max(written_at, znode.zxid)
        return transitions, written_at


def _is_loaded_again(before: Mapping[str, str], now: Mapping[str, str] | None) -> bool:
    """Whether a server has loaded a segment since a transition; of one that is gone, the view shows it."""
    return now is None or (now != before and now.get("CURRENT_STATE") in _LOADED)


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
