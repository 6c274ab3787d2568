"""Which tables of a server have paused partitions, followed by watches: without one nothing is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass

from controller_client.clock import Clock
from controller_client.common.names import TableName
from controller_client.errors import NotFoundError
from controller_client.helix import live_session
from controller_client.helix.ideal_state import (
    ConsumptionFlags,
    IdealState,
    read_ideal_state,
    watch_ideal_state,
)
from controller_client.helix.paused_tables import read_paused_tables
from controller_client.zookeeper import PropertyStore, Watched
from server_hooks.pause.gate import TableFlags

__all__ = ["FollowedTables", "PausedHere", "read_flags"]

_NOTHING = ConsumptionFlags(False, frozenset())


@dataclass(frozen=True)
class PausedHere:
    """The tables of a server, as they are paused.

    Attributes:
        states: Ideal states of those that are in the list of tables with paused partitions.
        unlisted: What the gate is to know of all others.
    """

    states: Mapping[TableName, IdealState]
    unlisted: TableFlags


class FollowedTables:
    """Follows the list of paused tables, the ideal states of those, and the server's session with Helix.

    Args:
        store: The cluster's property store.
        instance: The server.
        on_change: Called in kazoo's thread when there is something to read again.
        clock: Time.
    """

    def __init__(
        self,
        store: PropertyStore,
        instance: str,
        on_change: Callable[[], None],
        *,
        clock: Clock | None = None,
    ) -> None:
        self._store = store
        self._on_change = on_change
        self._clock = clock
        self._listed = Watched(
            store.connection, lambda changed: read_paused_tables(store, changed), on_change, clock=clock
        )
        self._session = Watched(
            store.connection, lambda changed: live_session(store, instance, changed), on_change, clock=clock
        )
        self._states: dict[TableName, Watched[IdealState | None]] = {}

    def session(self) -> str | None:
        """Return the server's Helix session; None while it has none."""
        return self._session.get()

    def look(self, tables: Set[TableName]) -> PausedHere:
        """Return what is paused of these tables; only what has changed is read."""
        listed = self._listed.get()
        here = listed.names & tables
        for table in self._states.keys() - here:
            del self._states[table]
        states = {}
        for table in sorted(here):
            if table not in self._states:
                self._states[table] = self._watched(table)
            state = self._states[table].get()
            if state is not None:
                states[table] = state
        return PausedHere(states, TableFlags(_NOTHING, listed.zxid))

    def _watched(self, table: TableName) -> Watched[IdealState | None]:
        def read(changed: Callable[[object], None]) -> IdealState | None:
            try:
                return watch_ideal_state(self._store, table, changed)
            except NotFoundError:
                return None  # dropped, but still listed

        return Watched(self._store.connection, read, self._on_change, clock=self._clock)


def read_flags(store: PropertyStore, table: TableName) -> TableFlags:
    """Read now what is paused of a table; its ideal state only if it is in the list.

    Raises:
        NotFoundError: It is in the list, but dropped.
        UnreachableError: ZooKeeper does not answer.
    """
    listed = read_paused_tables(store)
    if table not in listed.names:
        return TableFlags(_NOTHING, listed.zxid)
    state = read_ideal_state(store, table)
    return TableFlags(state.flags, state.zxid)
