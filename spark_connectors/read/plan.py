"""What a read is: the table's parts, the segments that queries see, and which task reads which of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller_client.client import ControllerClient
from controller_client.common.names import TableName, TableType
from controller_client.config import BrokerConfig
from controller_client.errors import ConfigError, NotAppliedError, NotFoundError, PartialResultError
from controller_client.models import Schema, TableConfig
from controller_client.rest.transport import Transport, path_of
from controller_client.upsert.columns import SYSTEM_COLUMNS
from controller_client.upsert.settings import is_upsert
from spark_connectors.options import ReadFrom, ReadOptions
from spark_connectors.read.sql import all_of, quoted
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
    """A server and where it answers.

    Attributes:
        name: In the cluster.
        host: As it advertises.
        port: For gRPC; 0: none.
        admin_port: For HTTP; 0: unknown.
    """

    name: str
    host: str
    port: int
    admin_port: int

    def __str__(self) -> str:
        return f"{self.name} ({self.host}:{self.port})"


@dataclass(frozen=True)
class SegmentToRead:
    """A segment and who serves it.

    Attributes:
        name: Segment.
        servers: All that serve it.
        consuming: Whether it has no tar yet: it still takes rows, or is being built.
    """

    name: str
    servers: tuple[ServerAddress, ...]
    consuming: bool


@dataclass(frozen=True)
class SegmentGroup:
    """Segments of one table that are read together.

    Attributes:
        table: Name with type.
        where: Predicate, the time boundary of a hybrid table included.
        segments: At least one.
    """

    table: TableName
    where: str | None
    segments: tuple[SegmentToRead, ...]


@dataclass(frozen=True)
class WholeTable:
    """A table that a broker reads in one piece.

    Attributes:
        table: Name with type.
        where: As of :class:`SegmentGroup`.
        needed: Segments without which the broker's answer does not count.
    """

    table: TableName
    where: str | None
    needed: frozenset[str]


@dataclass(frozen=True)
class TableToRead:
    """A table, one or two parts of it.

    Attributes:
        name: Raw name.
        configs: Of each part.
        schema: Of both.
    """

    name: str
    configs: tuple[TableConfig, ...]
    schema: Schema

    @property
    def hidden(self) -> frozenset[str]:
        """Columns that are read only where they are named: those that an upsert table has beside its own."""
        return frozenset(SYSTEM_COLUMNS) if any(map(is_upsert, self.configs)) else frozenset()

    @property
    def keeps_nulls(self) -> bool:
        """Whether segments of a part know which values are nulls."""
        return any(config.table_index_config.get("nullHandlingEnabled") for config in self.configs)


def find_table(client: ControllerClient, options: ReadOptions) -> TableToRead:
    """Look the table up.

    Raises:
        NotFoundError: There is no such table, or it has no part of that type.
        ConfigError: The options cannot be used with it, or it is a logical table.
    """
    raw, wanted = _wanted(options)
    configs = []
    for table_type in wanted:
        try:
            configs.append(client.tables.get(TableName.of(raw, table_type)))
        except NotFoundError:
            continue
    if not configs:
        physical = client.tables.physical_tables(raw)
        if physical:
            raise ConfigError(
                f"{raw} is a logical table: brokers alone know how its physical tables make one",
                where=client.config.url,
                remedy=f"use the option 'query', which a broker answers, or read {', '.join(physical)}",
            )
        raise NotFoundError(
            f"there is no table {' or '.join(TableName.of(raw, each) for each in wanted)}",
            where=client.config.url,
            remedy="check the options 'table' and 'tableType'",
        )
    for config in configs:
        check_way(options, config)
        # Which rows are the newest of their keys is known to servers alone.
        if options.read_from is ReadFrom.SEGMENTS and config.pinots_upsert:
            raise ConfigError(
                f"{config.name_with_type} is an upsert table: its segments hold rows that are replaced",
                remedy="use 'readFrom' servers",
            )
    return TableToRead(raw, tuple(configs), client.schemas.of_table(configs[0]))


def find_version(client: ControllerClient, options: ReadOptions, table: TableToRead) -> SeenVersion:
    """Find the version of an upsert table that is read; before :func:`find_groups`, errors as of its own."""
    seen = (seen_version(client, options, config) for config in table.configs)
    return next((each for each in seen if each is not ALL_ROWS), ALL_ROWS)


def find_groups(
    client: ControllerClient, options: ReadOptions, table: TableToRead, seen: SeenVersion
) -> list[SegmentGroup]:
    """Find the segments that queries see now, and group them for tasks.

    What queries see is the ideal state without what the lineage hides. A broker that lost the last server of
    a segment answers without it; here that is an error.

    Raises:
        PartialResultError: No server has a segment.
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
    """Return the tables of groups.

    Args:
        groups: Of all segments.
        by_version: Whether an upsert table is read at a version: then all segments are needed.
    """
    found: dict[tuple[TableName, str | None], set[str]] = {}
    for group in groups:
        names = found.setdefault((group.table, group.where), set())
        names.update(segment.name for segment in group.segments if by_version)
    return tuple(WholeTable(table, where, frozenset(names)) for (table, where), names in found.items())


def split(segments: Sequence[SegmentToRead], per_group: int) -> list[list[SegmentToRead]]:
    """Spread segments over their servers evenly, and cut each server's into groups."""
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
            f"'table' is {table}, and 'tableType' is {options.table_type}", remedy="leave 'tableType' out"
        )
    return table.raw, (table.type,)


def _boundaries(
    client: ControllerClient, options: ReadOptions, table: TableToRead
) -> Mapping[str, str | None]:
    """Return the parts to read, and what keeps rows from being read from both."""
    names = [config.name_with_type for config in table.configs]
    if len(names) == 1:
        return {names[0]: None}
    offline, realtime = (TableName.of(table.name, each) for each in (TableType.OFFLINE, TableType.REALTIME))
    found = () if options.brokers else tuple(client.cluster.broker_urls(table.name))
    boundary = _time_boundary(options.broker_config(found), offline)
    if boundary is None:
        if client.segments.list(offline, exclude_replaced=True):
            raise PartialResultError(
                f"no broker reports the time boundary of {table.name}, though {offline} has segments",
                remedy="wait until a broker knows both parts, or read one by 'tableType'",
            )
        return {realtime: None}  # as brokers do
    column, value = quoted(boundary["timeColumn"]), str(boundary["timeValue"]).replace("'", "''")
    return {offline: f"{column} <= '{value}'", realtime: f"{column} > '{value}'"}


def _time_boundary(brokers: BrokerConfig, offline: str) -> Mapping[str, Any] | None:
    for number, url in enumerate(brokers.urls, start=1):
        transport = Transport(brokers, url=url)
        try:
            boundary: Mapping[str, Any] = transport.get_json(path_of("debug", "timeBoundary", offline))
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
    found, missing = [], []
    for name in client.segments.list(table, exclude_replaced=True):
        wanted = ideal.get(name, {})
        if not _SERVING.intersection(wanted.values()):
            continue  # taken off line
        serving = {server: state for server, state in external.get(name, {}).items() if state in _SERVING}
        consuming = has_no_tar(wanted, serving)
        has_tar = read_from is ReadFrom.SEGMENTS and not consuming
        if not serving and not has_tar:
            missing.append(f"{name} ({', '.join(sorted(wanted))})")
            continue
        servers = tuple(addresses.of(server) for server in sorted(serving))
        if read_from is not ReadFrom.BROKER and not has_tar:
            _check_grpc(servers)
        found.append(SegmentToRead(name, servers, consuming))
    if missing:
        shown = "; ".join(missing[:_NAMES_IN_A_MESSAGE])
        raise PartialResultError(
            f"{len(missing)} segments of {table} are served by no server: {shown}",
            where=client.config.url,
            remedy="start the servers that are named, or use 'readFrom' segments",
        )
    return found


def has_no_tar(wanted: Mapping[str, str], serving: Mapping[str, str]) -> bool:
    """Return whether a segment still takes rows, or is being built of those that it took.

    The ideal state has a segment of a pauseless table (Pinot 1.4 and later) ONLINE before it is a file.

    Args:
        wanted: States by the ideal state.
        serving: States of the servers that serve it.
    """
    return "CONSUMING" in wanted.values() or set(serving.values()) == {"CONSUMING"}


def _check_grpc(servers: Sequence[ServerAddress]) -> None:
    without = [server.name for server in servers if server.port <= 0]
    if without:
        raise ConfigError(
            f"{', '.join(without)} report no gRPC port",
            remedy="set pinot.server.grpc.enable=true there, or use 'readFrom' segments or broker",
        )


class _Addresses:
    """Servers' addresses, each asked once."""

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
