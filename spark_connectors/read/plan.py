"""Plans a read: the table's parts, the segments that queries see, and how tasks share them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller_client.client import ControllerClient
from controller_client.common.names import TableName, TableType
from controller_client.common.sql_text import quoted
from controller_client.config import BrokerConfig
from controller_client.errors import ConfigError, NotAppliedError, NotFoundError, PartialResultError
from controller_client.models import Schema, TableConfig
from controller_client.rest.paths import path_of
from controller_client.rest.transport import Transport
from controller_client.upsert.columns import SYSTEM_COLUMNS
from controller_client.upsert.settings import is_upsert
from spark_connectors.options import ReadFrom, ReadOptions
from spark_connectors.read.sql import all_of
from spark_connectors.read.upsert import ALL_ROWS, SeenVersion, check_way, seen_version

__all__ = [
    "SegmentGroup",
    "SegmentToRead",
    "ServerAddress",
    "TableToRead",
    "WholeTable",
    "find_groups",
    "find_table",
    "find_version",
    "has_no_tar",
    "split",
    "whole_tables",
]

_SERVING = frozenset({"ONLINE", "CONSUMING"})
_NAMES_IN_A_MESSAGE = 5


@dataclass(frozen=True)
class ServerAddress:
    """A server and its addresses.

    Attributes:
        name: Its instance name in the cluster.
        host: The advertised host.
        port: gRPC port; 0: none.
        admin_port: HTTP port; 0: unknown.
    """

    name: str
    host: str
    port: int
    admin_port: int

    def __str__(self) -> str:
        return f"{self.name} ({self.host}:{self.port})"


@dataclass(frozen=True)
class SegmentToRead:
    """A segment and its servers.

    Attributes:
        name: Segment name.
        servers: All servers that serve it.
        consuming: Whether it has no tar file yet, since it is still consuming or being built.
    """

    name: str
    servers: tuple[ServerAddress, ...]
    consuming: bool


@dataclass(frozen=True)
class SegmentGroup:
    """Segments of one table that are read together.

    Attributes:
        table: Table name with type.
        where: The predicate, including the time boundary of a hybrid table.
        segments: At least one segment.
    """

    table: TableName
    where: str | None
    segments: tuple[SegmentToRead, ...]


@dataclass(frozen=True)
class WholeTable:
    """A table that a broker reads as a whole.

    Attributes:
        table: Table name with type.
        where: The predicate, as in :class:`SegmentGroup`.
        needed: Segments that the broker's answer must cover.
    """

    table: TableName
    where: str | None
    needed: frozenset[str]


@dataclass(frozen=True)
class TableToRead:
    """A table with one or two parts.

    Attributes:
        name: Raw table name.
        configs: The config of each part.
        schema: The schema of all parts.
    """

    name: str
    configs: tuple[TableConfig, ...]
    schema: Schema

    @property
    def hidden(self) -> frozenset[str]:
        """Columns that are read only if they are named: the system columns of an upsert table."""
        return frozenset(SYSTEM_COLUMNS) if any(map(is_upsert, self.configs)) else frozenset()

    @property
    def keeps_nulls(self) -> bool:
        """Whether segments of a part record which values are null."""
        return any(config.table_index_config.get("nullHandlingEnabled") for config in self.configs)


def find_table(client: ControllerClient, options: ReadOptions) -> TableToRead:
    """Find the table.

    Raises:
        NotFoundError: There is no such table, or it has no part of the requested type.
        ConfigError: The options do not fit the table, or it is a logical table.
    """
    raw, table_types = _wanted(options)
    configs = []
    for table_type in table_types:
        try:
            configs.append(client.tables.in_use(TableName.of(raw, table_type)))
        except NotFoundError:
            continue
    if not configs:
        physical = client.tables.physical_tables(raw)
        if physical:
            raise ConfigError(
                f"{raw} is a logical table, which only brokers can combine from its physical tables",
                where=client.config.url,
                remedy=f"use the option 'query', or read {', '.join(physical)}",
            )
        raise NotFoundError(
            f"there is no table {' or '.join(TableName.of(raw, each) for each in table_types)}",
            where=client.config.url,
            remedy="check the options 'table' and 'tableType'",
        )
    for config in configs:
        check_way(options, config)
        # Only servers know which rows are the newest of their keys.
        if options.read_from is ReadFrom.SEGMENTS and config.pinots_upsert:
            raise ConfigError(
                f"{config.name_with_type} is an upsert table, whose segments contain replaced rows",
                remedy="set 'readFrom' to servers",
            )
    return TableToRead(raw, tuple(configs), client.schemas.of_table(configs[0]))


def find_version(client: ControllerClient, options: ReadOptions, table: TableToRead) -> SeenVersion:
    """Find the version of an upsert table to read, before :func:`find_groups`; raises as `seen_version`."""
    seen = (seen_version(client, options, config) for config in table.configs)
    return next((each for each in seen if each is not ALL_ROWS), ALL_ROWS)


def find_groups(
    client: ControllerClient, options: ReadOptions, table: TableToRead, seen: SeenVersion
) -> list[SegmentGroup]:
    """Find the segments that queries see now and group them for tasks.

    Queries see the segments in the ideal state that the lineage does not hide. If the last server of a
    segment is down, a broker answers without the segment; here this is an error.

    Raises:
        PartialResultError: No server serves a segment.
        ConfigError: A server has no gRPC port.
    """
    boundaries = _boundaries(client, options, table)
    groups: list[SegmentGroup] = []
    addresses = _Addresses(client)
    from_store = options.read_from is ReadFrom.SEGMENTS
    for config in table.configs:
        name = config.name_with_type
        if name not in boundaries:
            continue
        segments = _segments(client, name, addresses, options.read_from)
        where = all_of(options.filter, boundaries[name], seen.where)
        divide = _in_order if from_store else split
        groups += [
            SegmentGroup(name, where, tuple(chosen))
            for chosen in divide(segments, options.segments_per_split)
        ]
    return groups


def whole_tables(groups: Sequence[SegmentGroup], *, by_version: bool) -> tuple[WholeTable, ...]:
    """Return the tables of the groups.

    Args:
        groups: The groups of all segments.
        by_version: Whether an upsert table is read at a version, which needs all segments.
    """
    segment_names: dict[tuple[TableName, str | None], set[str]] = {}
    for group in groups:
        names = segment_names.setdefault((group.table, group.where), set())
        names.update(segment.name for segment in group.segments if by_version)
    return tuple(
        WholeTable(table, where, frozenset(names)) for (table, where), names in segment_names.items()
    )


def split(segments: Sequence[SegmentToRead], per_group: int) -> list[list[SegmentToRead]]:
    """Distribute segments evenly over their servers, and split those of each server into groups."""
    load: Counter[str] = Counter()
    by_server: dict[str, list[SegmentToRead]] = {}
    for segment in sorted(segments, key=lambda each: each.name):
        first = min(segment.servers, key=lambda each: (load[each.name], each.name))
        load[first.name] += 1
        others = tuple(each for each in segment.servers if each is not first)
        ordered = SegmentToRead(segment.name, (first, *others), segment.consuming)
        by_server.setdefault(first.name, []).append(ordered)
    return [
        served[start : start + per_group]
        for _, served in sorted(by_server.items())
        for start in range(0, len(served), per_group)
    ]


def _in_order(segments: Sequence[SegmentToRead], per_group: int) -> list[list[SegmentToRead]]:
    return [list(segments[start : start + per_group]) for start in range(0, len(segments), per_group)]


def _wanted(options: ReadOptions) -> tuple[str, tuple[TableType, ...]]:
    table = TableName.parse(options.table)
    if table is None:
        return options.table, (options.table_type,) if options.table_type else tuple(TableType)
    if options.table_type not in (None, table.type):
        raise ConfigError(
            f"'table' is {table}, but 'tableType' is {options.table_type}", remedy="remove 'tableType'"
        )
    return table.raw, (table.type,)


def _boundaries(
    client: ControllerClient, options: ReadOptions, table: TableToRead
) -> Mapping[str, str | None]:
    """Return the parts to read, each with a predicate that prevents rows from being read from both."""
    names = [config.name_with_type for config in table.configs]
    if len(names) == 1:
        return {names[0]: None}
    offline, realtime = (TableName.of(table.name, each) for each in (TableType.OFFLINE, TableType.REALTIME))
    found = () if options.brokers else tuple(client.cluster.broker_urls(table.name))
    boundary = _time_boundary(options.broker_config(found), offline)
    if boundary is None:
        if client.segments.list(offline, exclude_replaced=True):
            raise PartialResultError(
                f"no broker reports the time boundary of {table.name}, although {offline} has segments",
                remedy="wait until a broker serves both parts, or read one part with 'tableType'",
            )
        return {realtime: None}  # as brokers do
    column, value = quoted(boundary["timeColumn"]), str(boundary["timeValue"]).replace("'", "''")
    return {offline: f"{column} <= '{value}'", realtime: f"{column} > '{value}'"}


def _time_boundary(brokers: BrokerConfig, offline: str) -> Mapping[str, Any] | None:
    for number, url in enumerate(brokers.urls, start=1):
        transport = Transport(brokers, url=url)
        try:
            boundary = transport.get_json(path_of("debug", "timeBoundary", offline), dict)
        except NotFoundError:
            continue
        except NotAppliedError:
            if number == len(brokers.urls):
                raise
        else:
            return boundary
        finally:
            transport.close()
    return None


def _segments(
    client: ControllerClient, table: TableName, addresses: _Addresses, read_from: ReadFrom
) -> list[SegmentToRead]:
    ideal = client.tables.ideal_state(table)
    external = client.tables.external_view(table)
    segments, missing = [], []
    for name in client.segments.list(table, exclude_replaced=True):
        ideal_states = ideal.get(name, {})
        if not _SERVING.intersection(ideal_states.values()):
            continue  # taken offline
        serving = {server: state for server, state in external.get(name, {}).items() if state in _SERVING}
        consuming = has_no_tar(ideal_states, serving)
        has_tar = read_from is ReadFrom.SEGMENTS and not consuming
        if not serving and not has_tar:
            missing.append(f"{name} ({', '.join(sorted(ideal_states))})")
            continue
        servers = tuple(addresses.of(server) for server in sorted(serving))
        if read_from is not ReadFrom.BROKER and not has_tar:
            _check_grpc(servers)
        segments.append(SegmentToRead(name, servers, consuming))
    if missing:
        shown = "; ".join(missing[:_NAMES_IN_A_MESSAGE])
        raise PartialResultError(
            f"{len(missing)} segments of {table} are not served by any server: {shown}",
            where=client.config.url,
            remedy="start the named servers, or set 'readFrom' to segments",
        )
    return segments


def has_no_tar(ideal_states: Mapping[str, str], serving: Mapping[str, str]) -> bool:
    """Return whether a segment is still consuming, or is being built.

    In a pauseless table (Pinot 1.4 and later), a segment is ONLINE in the ideal state before its file exists.

    Args:
        ideal_states: Its states in the ideal state.
        serving: The states on the servers that serve it.
    """
    return "CONSUMING" in ideal_states.values() or set(serving.values()) == {"CONSUMING"}


def _check_grpc(servers: Sequence[ServerAddress]) -> None:
    without = [server.name for server in servers if server.port <= 0]
    if without:
        raise ConfigError(
            f"{', '.join(without)} report no gRPC port",
            remedy="set pinot.server.grpc.enable=true there, or set 'readFrom' to segments or broker",
        )


class _Addresses:
    """Addresses of servers, each read once."""

    def __init__(self, client: ControllerClient) -> None:
        self._client = client
        self._known: dict[str, ServerAddress] = {}

    def of(self, server: str) -> ServerAddress:
        if server not in self._known:
            instance = self._client.instances.get(server)
            host = instance.host.removeprefix("Server_")
            grpc_port, admin_port = (
                max(int(instance.details.get(key) or 0), 0) for key in ("grpcPort", "adminPort")
            )
            self._known[server] = ServerAddress(server, host, grpc_port, admin_port)
        return self._known[server]
