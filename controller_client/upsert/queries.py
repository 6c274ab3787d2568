"""Queries of upsert tables through stock brokers: each is rewritten to see one version of the table."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from controller_client.broker.client import BrokerClient, QueryResult
from controller_client.clock import Clock, SystemClock
from controller_client.common.closing import Closing
from controller_client.common.names import TableName
from controller_client.common.sql_text import SqlText
from controller_client.errors import NotAppliedError, UnreachableError
from controller_client.helix.table_config import TABLES_PATH
from controller_client.publishing.routing import NEW_SEGMENTS, may_skip_new_segments, routed_segments
from controller_client.rest.transport import Transport
from controller_client.upsert.low_water_mark import TableMark, read_mark
from controller_client.upsert.mark_keeper import Answerable, MarkKeeper, read_wanted, with_rows
from controller_client.upsert.rewriting import RefusedQueryError, options_in, rewrite
from controller_client.upsert.tables import (
    REWRITTEN,
    QueriedTable,
    TableNames,
    VersionOptions,
    find_table,
    raw_name,
)
from controller_client.upsert.version_ends import VersionEnds
from controller_client.upsert.version_option import (
    VERSIONS,
    option_text,
    queried_tables,
    reads_one_table,
    versions_at,
)
from controller_client.upsert.versioned_query import VersionedQuery, check_whole, version_for
from controller_client.zookeeper import PropertyStore

__all__ = ["UpsertQueries", "UpsertResult"]


@dataclass(frozen=True)
class UpsertResult:
    """A result and its version.

    Attributes:
        result: The broker's result.
        versions: Upsert table (name with type) -> the version of the result; empty if the query reads no
            upsert table, or asks for all rows.
    """

    result: QueryResult
    versions: Mapping[str, int]


class UpsertQueries(Closing):
    """Queries upsert tables through brokers; queries of other tables are sent unchanged. A context manager.

    It works with stock brokers: the version is added as a query option if the servers read it from there
    (Pinot 1.3 and later), otherwise as an SQL condition. Brokers with the hook ``upsert`` would do the same;
    they leave a query from here unchanged. Not thread-safe.

    Args:
        broker: The brokers.
        store: The cluster's property store.
        mark_ttl_s: How long to reuse a mark and a table's config, in seconds.
        clock: Time.
    """

    def __init__(
        self,
        broker: BrokerClient,
        store: PropertyStore,
        *,
        mark_ttl_s: float = 0.2,
        clock: Clock | None = None,
    ) -> None:
        self._broker = broker
        self._store = store
        self._ttl_s = mark_ttl_s
        self._clock: Clock = clock or SystemClock()
        self._open = ExitStack()
        self._tables: dict[str, tuple[float, QueriedTable | None]] = {}
        self._upsert_names: set[str] = set()
        self._all_names: tuple[float, TableNames] | None = None
        self._marks: dict[str, tuple[float, Answerable]] = {}
        self._found_marks: dict[str, tuple[float, TableMark]] = {}
        self._keepers: dict[str, MarkKeeper] = {}
        self._ends: dict[str, VersionEnds] = {}
        self._transports: dict[str, Transport] = {}
        self._exact_brokers: set[str] = set()

    def close(self) -> None:
        """Close what this object opened; broker and store stay open."""
        self._open.close()
        self._ends.clear()
        self._transports.clear()
        self._exact_brokers.clear()

    def query(
        self,
        sql: str | SqlText,
        *,
        skip_upsert: bool = False,
        as_of_version: int | None = None,
        as_of_timestamp_ms: int | None = None,
        options: Mapping[str, str | int | bool] | None = None,
        timeout_s: float | None = None,
        allow_partial: bool = False,
    ) -> UpsertResult:
        """Run a query at the table's mark, or at an earlier version.

        Args:
            sql: One SELECT of one table, see :func:`~controller_client.upsert.rewriting.rewrite`. Options in
                it (``SET skipUpsert = true``) apply too.
            skip_upsert: Return all rows, whatever their versions.
            as_of_version: Query the table as of the newest version up to this one.
            as_of_timestamp_ms: Query the table as of this time, milliseconds since 1970.
            options: Pinot's query options.
            timeout_s: See :meth:`~controller_client.broker.client.BrokerClient.query`.
            allow_partial: Whether to return what is left when servers do not answer.

        Raises:
            RefusedQueryError: The query cannot be answered at one version, or not at the requested one.
            NoMarkError: No version is complete on all servers, or a broker does not query all segments yet.
            PartialResultError: The broker no longer queries all segments of a table: servers are down.
            QueryError: See :meth:`~controller_client.broker.client.BrokerClient.query`, as for its other
                errors.
            UnreachableError: ZooKeeper does not answer.
            SourceError: Kafka does not answer a request for an earlier version.
        """
        asked = self.prepare(
            sql,
            skip_upsert=skip_upsert,
            as_of_version=as_of_version,
            as_of_timestamp_ms=as_of_timestamp_ms,
            options=options,
        )
        result = self._broker.query(
            asked.text, options=asked.options, timeout_s=timeout_s, allow_partial=allow_partial
        )
        if not allow_partial:
            # It queried all segments when the version was chosen; this detects servers that have gone down
            # since.
            check_whole(
                asked.segments,
                lambda table: self._routed_by(result.broker_url, table),
                lambda table: read_wanted(self._store, table),
                covered=asked.covered(result.stats),
                where=result.broker_url,
            )
        return UpsertResult(result, {str(table): version for table, version in asked.versions.items()})

    def prepare(
        self,
        sql: str | SqlText,
        *,
        skip_upsert: bool = False,
        as_of_version: int | None = None,
        as_of_timestamp_ms: int | None = None,
        options: Mapping[str, str | int | bool] | None = None,
    ) -> VersionedQuery:
        """Return a query as :meth:`query` sends it; same arguments and errors."""
        cut = SqlText.of(sql)
        sent: dict[str, str | int | bool] = dict(options or {})
        is_counted = False
        merged = {key: str(value) for key, value in sent.items()} | options_in(cut)
        own = {
            "skipUpsert": "true" if skip_upsert else "",
            "asOfVersion": "" if as_of_version is None else str(as_of_version),
            "asOfTimestamp": "" if as_of_timestamp_ms is None else str(as_of_timestamp_ms),
        }
        merged.update({key: value for key, value in own.items() if value})
        asked = VersionOptions.of(merged)
        tables = {} if asked.skip else queried_tables(cut, self._table_named)
        if any(self._found(table.table).cut_by_option for table in tables.values()):
            self._check_brokers()
            versions = versions_at(tables, asked, lambda table: self._version(table, asked))
            sent[VERSIONS] = option_text(versions, cut.text)
            text, is_counted = cut.text, len(versions) == 1 and reads_one_table(cut, merged)
        else:
            text, versions = self._rewritten(cut, asked, merged)
            if versions:
                sent[REWRITTEN] = True
        if asked.skip:
            sent["skipUpsert"] = True
        by_table = {TableName(name): version for name, version in versions.items()}
        segments = {table: self._marks[table][1].segments for table in by_table}
        return VersionedQuery(text, sent, by_table, segments, is_counted)

    def _check_brokers(self) -> None:
        """Refuse brokers that may leave out rows without a word; unreachable ones answer nothing anyway."""
        for url in set(self._broker.config.urls) - self._exact_brokers:
            try:
                may_skip = may_skip_new_segments(self._transport(url))
            except UnreachableError:
                continue
            if may_skip:
                raise RefusedQueryError(
                    "while a server is away, the broker may leave segments of the last minutes out of its"
                    " answers without reporting it",
                    where=url,
                    expected=f"{NEW_SEGMENTS}=0 in its configuration",
                    remedy="set it for the broker, or for all brokers by POST /cluster/configs, and restart"
                    " them; or send the query, without UpsertQueries and --upsert, to a broker of"
                    " 'pinotctl serve broker'",
                )
            self._exact_brokers.add(url)

    def _rewritten(
        self, sql: SqlText, asked: VersionOptions, options: Mapping[str, str]
    ) -> tuple[str, dict[str, int]]:
        """Return the query with the versions as conditions, and the versions."""
        versions: dict[str, int] = {}

        def version_of(name: str) -> int | None:
            if asked.skip:
                return None
            table = self._table(name)
            if table is None:
                self._check_not_dropped(name)
                return None
            table.check(name, options)
            if table.table not in versions:
                versions[table.table] = self._version(table, asked)
            return versions[table.table]

        return rewrite(sql, version_of, exists=lambda name: bool(self._names().alike(name))), versions

    def _version(self, table: QueriedTable, asked: VersionOptions) -> int:
        return version_for(table, asked, self._answerable(table.table).version, self._ends_of)

    def _table_named(self, word: str) -> QueriedTable | None:
        return self._table(word) if self._names().alike(word) else None

    def _names(self) -> TableNames:
        now = self._clock.monotonic()
        if self._all_names is None or self._all_names[0] + self._ttl_s < now:
            self._all_names = (now, TableNames(self._store.children(TABLES_PATH)))
        return self._all_names[1]

    def _table(self, name: str) -> QueriedTable | None:
        now = self._clock.monotonic()
        # Names come from queries, so old ones are not kept.
        self._tables = {key: kept for key, kept in self._tables.items() if now <= kept[0] + self._ttl_s}
        if name not in self._tables:
            found = find_table(self._store, name)
            self._tables[name] = (now, found)
            if found:
                self._upsert_names.add(raw_name(name).lower())
        return self._tables[name][1]

    def _check_not_dropped(self, name: str) -> None:
        """Refuse the name of an upsert table that no longer exists.

        Until brokers notice the drop, they would return rows of all versions.
        """
        if raw_name(name).lower() not in self._upsert_names:
            return
        # Reread: the cached names may be from before the drop.
        if name not in TableNames(self._store.children(TABLES_PATH)):
            raise RefusedQueryError(
                f"the upsert table {name} was dropped while this client was open",
                expected="a table of the cluster",
                remedy="create the table again",
            )

    def _answerable(self, table: TableName) -> Answerable:
        now = self._clock.monotonic()
        entry = self._marks.get(table)
        if entry is None or entry[0] + self._ttl_s < now:
            keeper = self._keepers.setdefault(table, MarkKeeper())
            kept = keeper.take(
                self._found(table),
                read_wanted(self._store, table),
                lambda names: names - self._routed_everywhere(table),
                lambda names: with_rows(self._store, table, names),
            )
            entry = self._marks[table] = (now, kept)
        return entry[1]

    def _found(self, table: TableName) -> TableMark:
        now = self._clock.monotonic()
        known = self._found_marks.get(table)
        if known is None or known[0] + self._ttl_s < now:
            known = self._found_marks[table] = (now, read_mark(self._store, table))
        return known[1]

    def _routed_everywhere(self, table: TableName) -> set[str]:
        """Return the segments that every broker queries; unreachable brokers answer no queries anyway."""
        everywhere: set[str] | None = None
        for url in self._broker.config.urls:
            try:
                routed = self._routed_by(url, table)
            except NotAppliedError:
                continue
            everywhere = routed if everywhere is None else everywhere & routed
        return everywhere or set()

    def _routed_by(self, url: str, table: TableName) -> set[str]:
        return routed_segments(self._transport(url), table)

    def _transport(self, url: str) -> Transport:
        if url not in self._transports:
            transport = Transport(self._broker.config, url=url, clock=self._clock)
            self._open.callback(transport.close)
            self._transports[url] = transport
        return self._transports[url]

    def _ends_of(self, table: QueriedTable) -> VersionEnds:
        if table.table not in self._ends:
            ends = VersionEnds(table.stream, table.settings.updates_topic)
            self._open.callback(ends.close)
            self._ends[table.table] = ends
        return self._ends[table.table]
