"""Tracks by watches which tables of a server have paused partitions: while none has, nothing is read."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass

from controller_client.clock import Clock
from controller_client.common.names import TableName
from controller_client.errors import DataError, NotFoundError
from controller_client.helix import live_session
from controller_client.helix.ideal_state import IdealState, watch_ideal_state
from controller_client.helix.paused_tables import read_paused_tables
from controller_client.zookeeper import PropertyStore, Watched
from server_hooks.pause.gate import NOTHING_PAUSED, TableFlags

__all__ = ["FollowedTables", "PausedHere"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class PausedHere:
    """The paused tables of a server.

    Attributes:
        states: Ideal states of the tables in the list of tables with paused partitions.
        dropped: Tables in that list that no longer exist.
        unlisted: All tables that are not in that list.
        flags_of_unlisted: Their flags.
    """

    states: Mapping[TableName, IdealState]
    dropped: Set[TableName]
    unlisted: Set[TableName]
    flags_of_unlisted: TableFlags


class FollowedTables:
    """Watches the list of paused tables, their ideal states, and the server's Helix session.

    Args:
        store: The cluster's property store.
        instance: The server.
        on_change: Called in kazoo's thread when something has to be read again.
        clock: The clock.
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
        """Return the server's Helix session, or None while it has none."""
        return self._session.get()

    def read(self, tables: Set[TableName]) -> PausedHere:
        """Return what is paused of these tables; reads only what has changed."""
        listed = self._listed.get()
        here = listed.names & tables
        for table in self._states.keys() - here:
            del self._states[table]
        states, dropped = {}, set()
        for table in sorted(here):
            if table not in self._states:
                self._states[table] = self._watched(table)
            try:
                state = self._states[table].get()
            except DataError as error:
                logger.warning("%s: its paused partitions stay as they are: %s", table, error)
                continue
            if state is None:
                dropped.add(table)
            else:
                states[table] = state
        others = frozenset(tables - here)
        return PausedHere(states, dropped, others, TableFlags(NOTHING_PAUSED, listed.zxid))

    def _watched(self, table: TableName) -> Watched[IdealState | None]:
        def read(changed: Callable[[object], None]) -> IdealState | None:
            try:
                return watch_ideal_state(self._store, table, changed)
            except NotFoundError:
                return None  # the table was dropped, but is still listed

        return Watched(self._store.connection, read, self._on_change, clock=self._clock)
