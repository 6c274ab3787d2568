"""What a broker knows of upsert tables: which there are, and the mark of those that are asked for."""

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
from controller_client.helix.table_config import table_config_path
from controller_client.upsert.low_water_mark import NoMarkError, read_mark
from controller_client.upsert.mark_keeper import MarkKeeper, read_wanted, with_rows
from controller_client.upsert.record import server_path
from controller_client.upsert.tables import TABLES_PATH, QueriedTable, TableNames, find_table
from controller_client.upsert.version_ends import VersionEnds
from controller_client.zookeeper import PropertyStore

__all__ = ["Routing", "RoutingState"]

logger = logging.getLogger(__name__)


class Routing(Protocol):
    """Which segments this broker queries."""

    def unrouted(self, table: str, segments: Collection[str]) -> Collection[str]:
        """Return those segments of a table (with type) that the broker does not query."""
        ...

    def need(self, table: str, segments: Collection[str]) -> None:
        """From now on an answer of a table counts only if all of these segments were asked; may be none."""
        ...


@dataclass(frozen=True)
class _Table:
    """What a name means: a realtime table, an upsert table or not."""

    name: str
    found: QueriedTable | None


@dataclass
class _Mark:
    keeper: MarkKeeper
    version: int


class RoutingState:
    """Kept up to date by one thread (:meth:`refresh`), asked by those that compile queries.

    What was not asked before is read at once. What was, is taken as it was read last: ZooKeeper's watches
    have it read again when it changes. While ZooKeeper is away, what was read last counts.

    Args:
        store: The cluster's property store.
        routing: The broker's.
        on_change: Called, in kazoo's thread, when :meth:`refresh` has something to do.
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
        """The upsert table that a query means; None where it means another.

        Raises:
            UnreachableError: It was never asked for, and ZooKeeper does not answer.
            ConfigError: The table's settings are not whole.
        """
        names = self._table_names()
        if name not in names:
            # It may have come this moment. Nothing is kept of it: queries may name anything.
            return find_table(self._store, name)
        if not names.alike(name):
            return None  # an offline table alone
        known = self._tables.get(names.key(name))
        return known.found if known else self._read_table(name)

    def may_be_table(self, word: str) -> bool:
        """Whether a word of a query may name an upsert table, by the tables that were there last.

        Raises:
            UnreachableError: They were never read, and ZooKeeper does not answer.
        """
        return bool(self._table_names().alike(word))

    def mark(self, table: TableName) -> int:
        """The version at which queries of a table (with type) are answered.

        Raises:
            NoMarkError: There is none, and was none before.
            UnreachableError: It was never asked for, and ZooKeeper does not answer.
        """
        known = self._marks.get(table)
        return known.version if known else self._read_mark(table)

    def marks(self) -> dict[TableName, int]:
        """The marks of the tables that were asked for, as they were read last."""
        with self._mutex:
            return {table: mark.version for table, mark in self._marks.items()}

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
        if self._names_changed and self._names is not None:
            try:
                self._read_names()
            except PinotPluginError as error:
                logger.warning("the names of tables cannot be read, those read last count: %s", error)
                return
            self._forget_dropped()
        for key in list(self._changed):
            self._changed.discard(key)  # first: it may change again while it is read
            if key not in self._tables:
                continue
            try:
                self._read_table(self._tables[key].name)
            except PinotPluginError as error:
                self._changed.add(key)
                logger.warning("table %s cannot be read, what was read last counts: %s", key, error)
                if isinstance(error, UnreachableError):
                    return  # so it is with all others
        present = {table.found.table for table in self._tables.values() if table.found}
        for table in list(self._marks):
            if table not in present:
                with self._mutex:
                    self._forget_mark(table)
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

    def _table_names(self) -> TableNames:
        return self._names or self._read_names()

    def _read_names(self) -> TableNames:
        self._names_changed = False  # first: they may change again while they are read
        path = f"/{self._store.cluster_name}/PROPERTYSTORE{TABLES_PATH}"
        try:
            names = TableNames(self._store.connection.read_children(path, self._on_names).names)
        except PinotPluginError:
            self._names_changed = True
            raise
        self._names = names
        # A table that came or went may be what a name means, or the offline half of what it means.
        self._changed.update(self._tables)
        return names

    def _on_names(self, _event: Any) -> None:
        """Called in kazoo's thread: a table came or went, or the session is lost."""
        self._names_changed = True
        self._on_change()

    def _forget_dropped(self) -> None:
        """Keep no more tables than there are."""
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
        # The same object each time: so many watches of it are one.
        watcher = self._watchers.setdefault(key, partial(self._on_table, key))
        # Watched before it is read, so that no change is missed.
        for table in names.alike(name):
            path = f"/{self._store.cluster_name}/PROPERTYSTORE{table_config_path(table)}"
            self._store.connection.watch(path, watcher)
        found = find_table(self._store, name)
        with self._mutex:
            self._tables[key] = _Table(name, found)
        return found

    def _on_table(self, key: str, _event: Any) -> None:
        """Called in kazoo's thread: at a change, and when the session is lost."""
        self._changed.add(key)
        self._on_change()

    def _read_mark(self, table: TableName) -> int:
        with self._mutex:
            found = read_mark(self._store, table)
            known = self._marks.get(table)
            keeper = known.keeper if known else MarkKeeper(by_option=self._by_option)
            try:
                kept = keeper.take(
                    found,
                    read_wanted(self._store, table),
                    lambda names: self._routing.unrouted(table, names),
                    lambda names: with_rows(self._store, table, names),
                )
            except NoMarkError:
                self._forget_mark(table)  # the last one does not count either
                raise
            self._routing.need(table, kept.segments)
            self._marks[table] = _Mark(keeper, kept.version)
        self._store.connection.watch(ideal_state_path(self._store, table), self._on_mark)
        for name in found.servers:
            self._store.connection.watch(server_path(self._store, table, name), self._on_mark)
        return kept.version

    def _forget_mark(self, table: TableName) -> None:
        self._routing.need(table, ())
        self._marks.pop(table, None)

    def _on_mark(self, _event: Any) -> None:
        """Called in kazoo's thread."""
        self._on_change()
