"""A broker's state of upsert tables: which tables there are, and the marks of those that are queried."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from controller_client.common.names import TableName
from controller_client.errors import PinotPluginError, UnreachableError
from controller_client.helix.ideal_state import ideal_state_path
from controller_client.helix.table_config import TABLES_PATH, table_config_path
from controller_client.upsert.low_water_mark import NoMarkError, read_mark
from controller_client.upsert.mark_keeper import MarkKeeper, read_wanted, with_rows
from controller_client.upsert.record import server_path
from controller_client.upsert.tables import QueriedTable, TableNames, find_table
from controller_client.upsert.version_ends import VersionEnds
from controller_client.zookeeper import PropertyStore

__all__ = ["Routing", "RoutingState"]

logger = logging.getLogger(__name__)


class Routing(Protocol):
    """Which segments this broker queries."""

    def unrouted(self, table: str, segments: Collection[str]) -> Collection[str]:
        """Return which of the given segments of a table (with type) the broker does not query."""
        ...

    def need(self, table: str, segments: Collection[str]) -> None:
        """Require an answer for a table to include all of these segments, from now on; may be empty."""
        ...


@dataclass(frozen=True)
class _Table:
    """The meaning of a name: a realtime table, and the upsert table if it is one."""

    name: str
    found: QueriedTable | None


@dataclass
class _Mark:
    keeper: MarkKeeper
    version: int


class RoutingState:
    """Refreshed by one thread (:meth:`refresh`), and used by threads that compile queries.

    A value that was not needed before is read at once. After that the cached value is used: ZooKeeper watches
    trigger a new read when it changes. While ZooKeeper is unreachable, the cached values are used.

    Args:
        store: The cluster's property store.
        routing: The broker's routing.
        on_change: Called in kazoo's thread when :meth:`refresh` has something to do.
        by_option: Whether queries name the version in an option, and not in a condition of their SQL.
    """

    def __init__(
        self,
        store: PropertyStore,
        routing: Routing,
        on_change: Callable[[], None],
        *,
        by_option: bool,
    ) -> None:
        self._by_option = by_option
        self._store = store
        self._routing = routing
        self._on_change = on_change
        self._names: TableNames | None = None
        self._names_changed = True
        self._tables: dict[str, _Table] = {}
        self._changed: set[str] = set()
        self._watchers: dict[str, Callable[[Any], None]] = {}
        self._marks: dict[TableName, _Mark] = {}
        self._ends: dict[str, VersionEnds] = {}
        self._mutex = threading.RLock()
        self._ends_mutex = threading.Lock()

    def table(self, name: str) -> QueriedTable | None:
        """Return the upsert table with a name used in a query; None if it is another kind of table.

        Raises:
            UnreachableError: The table was never queried, and ZooKeeper does not answer.
            ConfigError: The table's settings are incomplete.
        """
        names = self._table_names()
        if name not in names:
            # It may have just been created. This is not cached: queries may contain any name.
            return find_table(self._store, name)
        if not names.alike(name):
            return None  # only an offline table
        cached = self._tables.get(names.key(name))
        return cached.found if cached else self._read_table(name)

    def may_be_table(self, word: str) -> bool:
        """Return whether a word of a query may be the name of an upsert table, by the last list of tables.

        Raises:
            UnreachableError: The list was never read, and ZooKeeper does not answer.
        """
        return bool(self._table_names().alike(word))

    def mark(self, table: TableName) -> int:
        """Return the version at which queries of a table (with type) are answered.

        Raises:
            NoMarkError: The table has no mark, and had none before.
            UnreachableError: The table was never queried, and ZooKeeper does not answer.
        """
        cached = self._marks.get(table)
        return cached.version if cached else self._read_mark(table)

    def marks(self) -> dict[TableName, int]:
        """Return the cached marks of the tables that were queried."""
        with self._mutex:
            return {table: mark.version for table, mark in self._marks.items()}

    def with_ends(self, table: QueriedTable, find: Callable[[VersionEnds], Any]) -> Any:
        """Find an earlier version of a table; one search at a time.

        Raises:
            SourceError: Kafka does not answer.
        """
        with self._ends_mutex:
            if table.table not in self._ends:
                self._ends[table.table] = VersionEnds(table.stream, table.settings.updates_topic)
            return find(self._ends[table.table])

    def refresh(self) -> None:
        """Refresh what has changed, and all marks."""
        if self._names_changed and self._names is not None:
            try:
                self._read_names()
            except PinotPluginError as error:
                logger.warning("cannot read the names of tables, using the last ones: %s", error)
                return
            self._forget_dropped()
        for key in list(self._changed):
            self._changed.discard(key)  # before the read, during which it may change again
            if key not in self._tables:
                continue
            try:
                self._read_table(self._tables[key].name)
            except PinotPluginError as error:
                self._changed.add(key)
                logger.warning("cannot read table %s, using its last state: %s", key, error)
                if isinstance(error, UnreachableError):
                    return  # the others would fail too
        present = {table.found.table for table in self._tables.values() if table.found}
        for table in list(self._marks):
            if table not in present:
                with self._mutex:
                    self._forget_mark(table)
                continue
            try:
                self._read_mark(table)
            except PinotPluginError as error:
                logger.warning("cannot read the mark of %s, using the last one: %s", table, error)

    def close(self) -> None:
        """Close the connections to Kafka."""
        with self._ends_mutex:
            for ends in self._ends.values():
                ends.close()
            self._ends.clear()

    def _table_names(self) -> TableNames:
        return self._names or self._read_names()

    def _read_names(self) -> TableNames:
        self._names_changed = False  # before the read, during which they may change again
        path = f"/{self._store.cluster_name}/PROPERTYSTORE{TABLES_PATH}"
        try:
            names = TableNames(self._store.connection.read_children(path, self._on_names).names)
        except PinotPluginError:
            self._names_changed = True
            raise
        self._names = names
        # A table that was created or dropped may change what a name means, or be its offline half.
        self._changed.update(self._tables)
        return names

    def _on_names(self, _event: Any) -> None:
        """Called in kazoo's thread when a table was created or dropped, or the session was lost."""
        self._names_changed = True
        self._on_change()

    def _forget_dropped(self) -> None:
        """Drop tables from the cache that no longer exist."""
        names = self._table_names()
        with self._mutex:
            self._tables = {
                key: table
                for key, table in self._tables.items()
                if names.alike(table.name) and names.key(table.name) == key
            }
            self._watchers = {key: watcher for key, watcher in self._watchers.items() if key in self._tables}

    def _read_table(self, name: str) -> QueriedTable | None:
        names = self._table_names()
        key = names.key(name)
        # The same object each time, so repeated watches count as one.
        watcher = self._watchers.setdefault(key, partial(self._on_table, key))
        # Set before the read, so that no change is missed.
        for table in names.alike(name):
            path = f"/{self._store.cluster_name}/PROPERTYSTORE{table_config_path(table)}"
            self._store.connection.watch(path, watcher)
        found = find_table(self._store, name)
        with self._mutex:
            self._tables[key] = _Table(name, found)
        return found

    def _on_table(self, key: str, _event: Any) -> None:
        """Called in kazoo's thread after a change, and when the session was lost."""
        self._changed.add(key)
        self._on_change()

    def _read_mark(self, table: TableName) -> int:
        with self._mutex:
            mark = read_mark(self._store, table)
            cached = self._marks.get(table)
            keeper = cached.keeper if cached else MarkKeeper(by_option=self._by_option)
            try:
                kept = keeper.take(
                    mark,
                    read_wanted(self._store, table),
                    lambda names: self._routing.unrouted(table, names),
                    lambda names: with_rows(self._store, table, names),
                )
            except NoMarkError:
                self._forget_mark(table)  # the cached mark is not valid either
                raise
            self._routing.need(table, kept.segments)
            self._marks[table] = _Mark(keeper, kept.version)
        self._store.connection.watch(ideal_state_path(self._store, table), self._on_mark)
        for name in mark.servers:
            self._store.connection.watch(server_path(self._store, table, name), self._on_mark)
        return kept.version

    def _forget_mark(self, table: TableName) -> None:
        self._routing.need(table, ())
        self._marks.pop(table, None)

    def _on_mark(self, _event: Any) -> None:
        """Called in kazoo's thread after a change."""
        self._on_change()
