"""What a broker knows of upsert tables: which there are, and the mark of those that are asked for."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from controller_client.errors import PinotPluginError, UnreachableError
from controller_client.upsert.ends import VersionEnds
from controller_client.upsert.marks import MarkKeeper, read_mark
from controller_client.upsert.record import server_path
from controller_client.upsert.tables import QueriedTable, find_table, raw_name
from controller_client.zookeeper import PropertyStore
from controller_client.zookeeper.table_config import table_config_path

__all__ = ["Knowledge"]

logger = logging.getLogger(__name__)

_MOST_NAMES = 10_000


@dataclass
class _Mark:
    keeper: MarkKeeper
    version: int


class Knowledge:
    """Kept up to date by one thread (:meth:`refresh`), asked by those that compile queries.

    What was not asked before is read at once. What was, is taken as it was read last: ZooKeeper's watches
    have it read again when it changes. While ZooKeeper is away, what was read last counts.

    Args:
        store: The cluster's property store.
        routed: Returns the segments of a table that this broker queries.
        on_change: Called, in kazoo's thread, when :meth:`refresh` has something to do.
    """

    def __init__(
        self, store: PropertyStore, routed: Callable[[str], Collection[str]], on_change: Callable[[], None]
    ) -> None:
        self._store = store
        self._routed = routed
        self._on_change = on_change
        self._tables: dict[str, QueriedTable | None] = {}
        self._changed: set[str] = set()
        self._marks: dict[str, _Mark] = {}
        self._ends: dict[str, VersionEnds] = {}
        self._mutex = threading.RLock()
        self._ends_mutex = threading.Lock()

    def table(self, name: str) -> QueriedTable | None:
        """The upsert table that a query means; None where it means another.

        Raises:
            UnreachableError: It was never asked for, and ZooKeeper does not answer.
            ConfigError: The table's settings are not whole.
        """
        if name in self._tables:
            return self._tables[name]
        return self._read_table(name)

    def mark(self, table: str) -> int:
        """The version at which queries of a table (with type) are answered.

        Raises:
            NoMarkError: There is none, and was none before.
            UnreachableError: It was never asked for, and ZooKeeper does not answer.
        """
        known = self._marks.get(table)
        return known.version if known else self._read_mark(table)

    def with_ends(self, table: QueriedTable, look: Callable[[VersionEnds], Any]) -> Any:
        """Look for an earlier version of a table; one look at a time.

        Raises:
            SourceError: Kafka does not answer.
        """
        with self._ends_mutex:
            if table.table not in self._ends:
                self._ends[table.table] = VersionEnds(table.stream, table.settings.updates_topic)
            return look(self._ends[table.table])

    def refresh(self) -> None:
        """Read again what has changed, and all marks."""
        for name in list(self._changed):
            self._changed.discard(name)  # first: it may change again while it is read
            try:
                self._read_table(name)
            except PinotPluginError as error:
                self._changed.add(name)
                logger.warning("table %s cannot be read, what was read last counts: %s", name, error)
                if isinstance(error, UnreachableError):
                    return  # so it is with all others
        present = {found.table for found in self._tables.values() if found}
        for table in list(self._marks):
            if table not in present:
                with self._mutex:
                    self._marks.pop(table, None)
                continue
            try:
                self._read_mark(table)
            except PinotPluginError as error:
                logger.warning("the mark of %s cannot be read, the last one counts: %s", table, error)

    def close(self) -> None:
        """Let Kafka go."""
        with self._ends_mutex:
            for ends in self._ends.values():
                ends.close()
            self._ends.clear()

    def _read_table(self, name: str) -> QueriedTable | None:
        def changed(_event: Any) -> None:
            """Called in kazoo's thread: at a change, and when the session is lost."""
            self._changed.add(name)
            self._on_change()

        # Watched before it is read, so that no change is missed.
        self._watch_config(name, changed)
        found = find_table(self._store, name)
        if found:
            self._watch_config(found.table, changed)
        with self._mutex:
            if len(self._tables) >= _MOST_NAMES:
                self._tables.clear()
            self._tables[name] = found
        return found

    def _watch_config(self, name: str, changed: Callable[[Any], None]) -> None:
        for suffix in ("_REALTIME", "_OFFLINE"):
            path = f"/{self._store.cluster_name}/PROPERTYSTORE{table_config_path(raw_name(name) + suffix)}"
            self._store.connection.watch(path, changed)

    def _read_mark(self, table: str) -> int:
        with self._mutex:
            found = read_mark(self._store, table)
            known = self._marks.get(table)
            keeper = known.keeper if known else MarkKeeper()
            version = keeper.take(found, lambda: self._routed(table))
            self._marks[table] = _Mark(keeper, version)
        for name in found.servers:
            self._store.connection.watch(server_path(self._store, table, name), self._on_mark)
        return version

    def _on_mark(self, _event: Any) -> None:
        """Called in kazoo's thread."""
        self._on_change()
