"""Determines the version at which an upsert table is read, once, when Spark plans the job.

Servers and brokers receive the version as in any query: as a predicate in Pinot 0.11, as a query option in
later versions. Segments in the deep store have no versions, which only the servers' copies contain.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass, replace

from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.common.names import TableType
from controller_client.errors import ConfigError, NotFoundError
from controller_client.models import TableConfig
from controller_client.upsert.columns import VALID_FROM, VALID_UNTIL, visible_at
from controller_client.upsert.low_water_mark import read_mark
from controller_client.upsert.queries import UpsertQueries
from controller_client.upsert.settings import is_upsert
from controller_client.upsert.tables import REWRITTEN, QueriedTable, TableNames, VersionOptions, find_table
from controller_client.upsert.version_ends import VersionEnds
from controller_client.upsert.version_option import VERSIONS, option_text, queried_words
from controller_client.upsert.versioned_query import VersionedQuery, version_for
from spark_connectors.options import ReadFrom, ReadOptions
from spark_connectors.zookeeper import open_zookeeper

__all__ = ["ALL_ROWS", "SeenVersion", "check_way", "seen_version", "versioned_query"]

_SKIPPED = (("skipUpsert", "true"),)


@dataclass(frozen=True)
class SeenVersion:
    """The version as passed to servers and brokers.

    Attributes:
        where: A predicate; None: none.
        options: Query options.
        by_version: Whether there is a version, in which case brokers must not omit segments.
    """

    where: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    by_version: bool = False

    def added_to(self, options: ReadOptions) -> ReadOptions:
        """Return the options of a read with these query options added."""
        return replace(options, query_options=(*options.query_options, *self.options))


ALL_ROWS = SeenVersion()
"""Used for tables that are not upsert tables."""


def check_way(options: ReadOptions, config: TableConfig) -> None:
    """Check that an upsert table can be read as requested.

    Raises:
        ConfigError: ``readFrom`` is segments, whose files lack what servers have written into their copies.
    """
    if options.read_from is not ReadFrom.SEGMENTS or not is_upsert(config):
        return
    if not VersionOptions.of(options.version_options()).skip:
        raise ConfigError(
            f"{config.name_with_type} is an upsert table, whose segments in the deep store do not record "
            "which rows are replaced",
            remedy="set 'readFrom' to servers, or set 'skipUpsert' to true to read all rows of the segments",
        )
    named = {VALID_FROM, VALID_UNTIL}.intersection(options.columns)
    if named:
        raise ConfigError(
            f"{' and '.join(sorted(named))} in the segments of {config.name_with_type} in the deep store "
            "differ from the servers' values",
            remedy="set 'readFrom' to servers, or do not select these columns",
        )


def seen_version(client: ControllerClient, options: ReadOptions, config: TableConfig) -> SeenVersion:
    """Find the version at which a table is read; to be called before finding its segments.

    Args:
        client: The controller client.
        options: The options of the read.
        config: The table's config.

    Raises:
        RefusedQueryError: The table cannot be read at one version, or not at the requested one.
        NoMarkError: No version is complete on all servers.
        SourceError: Kafka does not answer, which is needed for an earlier version.
    """
    if not is_upsert(config):
        return ALL_ROWS
    given = options.version_options()
    asked = VersionOptions.of(given)
    if asked.skip:
        return SeenVersion(options=_SKIPPED)
    name = config.name_with_type
    with open_zookeeper(options, client) as store, ExitStack() as opened:
        table = find_table(store, name)
        if table is None:
            raise NotFoundError(f"there is no upsert table {name}", where=client.config.url)
        mark = read_mark(store, table.table)
        mark.check_asked(by_option=None)
        if mark.cut_by_option:
            table.check_hybrid(name)
        else:
            table.check(name, given)

        def ends(of: QueriedTable) -> VersionEnds:
            return opened.enter_context(closing(VersionEnds(of.stream, of.settings.updates_topic)))

        version = version_for(table, asked, mark.required(), ends)
    if mark.cut_by_option:
        text = option_text({name: version}, f"{options.filter or ''} {' '.join(options.columns)}")
        return SeenVersion(options=((VERSIONS, text),), by_version=True)
    return SeenVersion(visible_at(version), ((REWRITTEN, "true"),), by_version=True)


def versioned_query(client: ControllerClient, options: ReadOptions, query: str) -> VersionedQuery:
    """Return the option ``query`` as sent to brokers: at one version of each upsert table that it names.

    Raises:
        RefusedQueryError: The query cannot be answered at one version, or not at the requested one.
        NoMarkError: No version is complete on all servers, or a broker does not query all segments yet.
    """
    given = options.version_options()
    if VersionOptions.of(given).skip or not _names_upsert_table(client, query):
        return VersionedQuery(query, given)
    found = () if options.brokers else tuple(client.cluster.broker_urls())
    with (
        open_zookeeper(options, client) as store,
        BrokerClient(options.broker_config(found)) as broker,
        UpsertQueries(broker, store) as queries,
    ):
        return queries.prepare(query, options=given)


def _names_upsert_table(client: ControllerClient, query: str) -> bool:
    """Whether a query may read an upsert table; asks only the controller, as ZooKeeper may be unreachable."""
    tables = TableNames(client.tables.list(TableType.REALTIME))
    named = {table for word in queried_words(query) for table in tables.alike(word)}
    return any(is_upsert(client.tables.in_use(table)) for table in sorted(named))
