"""Options of ``spark.read.format("pinot")``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from controller_client.common.names import TableType
from controller_client.common.parsing import boolean, count, one_of, text, whole_number
from controller_client.config import BrokerConfig
from controller_client.errors import ConfigError
from spark_connectors.options.connection import ConnectionOptions
from spark_connectors.options.declared import option

__all__ = ["ReadFrom", "ReadOptions"]

_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_MAX_PRECISION = 38


class ReadFrom(StrEnum):
    """Where rows are read from."""

    SERVERS = "servers"
    BROKER = "broker"
    SEGMENTS = "segments"


def _read_from(value: str) -> ReadFrom:
    return ReadFrom(one_of(*ReadFrom)(value))


def _table_type(value: str) -> TableType:
    return TableType(one_of(*TableType)(value))


def _names(value: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in value.split(","))
    if not all(names) or len(set(names)) != len(names):
        raise ValueError("expected distinct column names, separated by commas")
    return names


def _addresses(value: str) -> tuple[str, ...]:
    parts = tuple(part.strip() for part in value.split(","))
    if not all(parts):
        raise ValueError("expected addresses such as http://host:8099, separated by commas")
    return parts


def _settings(value: str) -> tuple[tuple[str, str], ...]:
    pairs = [part.strip() for part in re.split(r"[;,]", value) if part.strip()]
    settings = []
    for pair in pairs:
        match = re.fullmatch(r"([A-Za-z][A-Za-z0-9_.]*)\s*=\s*([A-Za-z0-9_.\-]+)", pair)
        if match is None:
            raise ValueError("expected name=value, several separated by commas")
        settings.append((match[1], match[2]))
    return tuple(settings)


def _version(value: str) -> int:
    number = whole_number(value.strip())
    if number is None:
        raise ValueError("expected a whole number, 0 or more")
    return number


def _decimal_type(value: str) -> tuple[int, int] | None:
    if value.strip().lower() == "string":
        return None
    match = _DECIMAL.fullmatch(value.strip().lower())
    if match is None or not 0 <= int(match[2]) <= int(match[1]) <= _MAX_PRECISION or int(match[1]) == 0:
        raise ValueError("expected string, or decimal(precision,scale) with a precision of at most 38")
    return int(match[1]), int(match[2])


@dataclass(frozen=True, repr=False)
class ReadOptions(ConnectionOptions):
    """The options of a read."""

    table_type: TableType | None = option(
        "tableType",
        _table_type,
        "`OFFLINE` or `REALTIME`: read only this part of a hybrid table.",
        default=None,
        shown_default="all",
    )
    columns: tuple[str, ...] = option(
        "columns", _names, "Columns to read, in this order.", default=(), shown_default="all"
    )
    filter: str | None = option("filter", text, "Predicate in Pinot's SQL, evaluated by Pinot.", default=None)
    query: str | None = option(
        "query",
        text,
        "Complete query in Pinot's SQL, answered by a broker; it needs a LIMIT. TIMESTAMP is read as string.",
        default=None,
    )
    limit: int | None = option("limit", count, "Maximum number of rows, read by one task.", default=None)
    read_from: ReadFrom = option(
        "readFrom",
        _read_from,
        "`servers` (gRPC, in parallel), `segments` (tar files, without load on servers) or `broker`.",
        default=ReadFrom.SERVERS,
    )
    brokers: tuple[str, ...] = option(
        "broker",
        _addresses,
        "Brokers: `http://host:port,…`, or `host:port`, with the scheme of the controllers.",
        default=(),
        shown_default="reported by the controller",
    )
    segments_per_split: int = option(
        "segmentsPerSplit", count, "Number of segments that a task reads.", default=3
    )
    query_options: tuple[tuple[str, str], ...] = option(
        "queryOptions",
        _settings,
        "Pinot query options for servers and brokers: `name=value,…`.",
        default=(),
        shown_default="",
    )
    server_timeout_ms: int = option(
        "pinotServerTimeoutMs", count, "Time-out for servers and brokers in milliseconds.", default=300_000
    )
    null_handling: bool | None = option(
        "nullHandling",
        boolean,
        "Whether nulls are returned as nulls, or else as the columns' default values.",
        default=None,
        shown_default="`nullHandlingEnabled` of the table",
    )
    decimal_type: tuple[int, int] | None = option(
        "decimalType",
        _decimal_type,
        "Spark type of BIG_DECIMAL: `string` or `decimal(precision,scale)`.",
        default=None,
        shown_default="string",
    )
    grpc_plain_text_option: bool | None = option(
        "grpcUsePlainText",
        boolean,
        "Whether servers use gRPC without TLS. If so although the controllers use https, servers get no"
        " credentials.",
        default=None,
        shown_default="as the controllers",
        aliases=("grpc.use-plain-text",),
    )
    use_grpc: bool = option(
        "useGrpcServer", boolean, "Accepted for compatibility: servers are always read by gRPC.", default=True
    )
    fail_on_invalid_segments: bool = option(
        "failOnInvalidSegments",
        boolean,
        "Accepted for compatibility: a segment that cannot be read always fails the read.",
        default=True,
    )
    push_down_filters: bool = option(
        "usePushDownFilters",
        boolean,
        "Only `false`: Spark's push-down for Python data sources mixes up the filters of different queries.",
        default=False,
    )
    as_of_version: int | None = option(
        "asOfVersion",
        _version,
        "Upsert tables: read the table as of the newest version up to this one.",
        default=None,
        shown_default="the newest complete version",
    )
    as_of_timestamp: int | None = option(
        "asOfTimestamp",
        _version,
        "Upsert tables: read the table as of this time, in epoch milliseconds.",
        default=None,
        shown_default="",
    )
    skip_upsert: bool = option(
        "skipUpsert", boolean, "Upsert tables: read all rows, whatever their versions.", default=False
    )
    bypass_row_filters: bool = option(
        "bypassRowFilters",
        boolean,
        "Read all rows from servers or segments, even rows that brokers hide from this user (Pinot 1.4).",
        default=False,
    )
    work_dir: str | None = option(
        "workDir", text, "Local folder on the executors.", default=None, shown_default="Spark's"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.push_down_filters:
            raise ConfigError(
                "'usePushDownFilters' true is not supported: up to PySpark 4.3, filters pushed down to a"
                " Python data source also apply to later queries of the same DataFrame, which then lack rows",
                remedy="remove it, and pass the predicate in the option 'filter'",
            )
        reads_servers = self.read_from is ReadFrom.SERVERS and self.query is None
        if not (self.grpc_plain_text or self.tls_verify) and (
            reads_servers or self.grpc_plain_text_option is False
        ):
            raise ConfigError(
                "'tlsVerify' false cannot be combined with TLS to servers, which is the default if the"
                " controllers use https: gRPC always verifies certificates",
                remedy="set 'tlsCaFile' to the authorities to trust, or 'grpcUsePlainText' to true",
            )
        if self.query is not None and (self.columns or self.filter or self.limit or self.table_type):
            raise ConfigError(
                "'query' cannot be combined with 'columns', 'filter', 'limit' or 'tableType'",
                remedy="express them in the query",
            )
        if self.query is not None and self.read_from is ReadFrom.SEGMENTS:
            raise ConfigError(
                "'query' cannot be combined with 'readFrom' segments, since a broker answers it",
                remedy="remove 'readFrom'",
            )

    @property
    def grpc_plain_text(self) -> bool:
        """Whether servers are reached without TLS; by default like the controllers."""
        given = self.grpc_plain_text_option
        return self.controller_config().scheme == "http" if given is None else given

    def version_options(self) -> dict[str, str]:
        """Return the options about versions of upsert tables as query options, with ``queryOptions``."""
        own = {
            "asOfVersion": self.as_of_version,
            "asOfTimestamp": self.as_of_timestamp,
            "skipUpsert": "true" if self.skip_upsert else None,
        }
        given = {key: str(value) for key, value in own.items() if value is not None}
        return {**dict(self.query_options), **given}

    def broker_config(self, reported: tuple[str, ...] = ()) -> BrokerConfig:
        """Return the configuration of the broker client.

        Args:
            reported: Addresses reported by the controller, used if the option names none.

        Raises:
            ConfigError: A broker would get credentials without TLS, although the controllers have it.
        """
        controllers = self.controller_config()
        named = tuple(url if "://" in url else f"{controllers.scheme}://{url}" for url in self.brokers)
        return BrokerConfig.like(controllers, named or reported)
