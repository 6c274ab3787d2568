"""Options of ``df.write.format("pinot")``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from controller_client.common.parsing import boolean, count, count_or_all, one_of, period_s, size_bytes, text
from controller_client.errors import ConfigError
from spark_connectors.options.connection import ConnectionOptions
from spark_connectors.options.declared import option

__all__ = ["OverwriteScope", "WriteOptions"]

_LEAST_STAGING_TTL_S = 3600


class OverwriteScope(StrEnum):
    """What ``mode("overwrite")`` replaces."""

    TABLE = "table"
    TIME_RANGE = "timeRange"
    PARTITIONS = "partitions"


def _scope(value: str) -> OverwriteScope:
    return OverwriteScope(one_of(*OverwriteScope)(value))


def _names(value: str) -> tuple[str, ...]:
    parts = [part.strip() for part in value.split(",")]
    if not all(parts):
        raise ValueError("expected column names, separated by commas")
    return tuple(dict.fromkeys(parts))


def _numbers(value: str) -> tuple[int, ...]:
    parts = [part.strip() for part in value.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise ValueError("expected whole numbers from 0, separated by commas")
    return tuple(sorted({int(part) for part in parts}))


def _whole_number(value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise ValueError("expected a whole number in the time column's unit") from None


@dataclass(frozen=True, repr=False)
class WriteOptions(ConnectionOptions):
    """What a write does."""

    write_id: str | None = option(
        "writeId",
        text,
        "Names this write: a second one of the same id to the same table is a no-op.",
        default=None,
        shown_default="a new one each time",
    )
    overwrite_scope: OverwriteScope = option(
        "overwriteScope",
        _scope,
        "What `overwrite` replaces: `table`, or the segments of a `timeRange` or of `partitions`.",
        default=OverwriteScope.TABLE,
    )
    overwrite_from: int | None = option(
        "overwriteFrom", _whole_number, "First time value of `timeRange`, inclusive.", default=None
    )
    overwrite_to: int | None = option(
        "overwriteTo", _whole_number, "Time value after the last of `timeRange`.", default=None
    )
    overwrite_partitions: tuple[int, ...] = option(
        "overwritePartitions",
        _numbers,
        "Partition ids (of `segmentPartitionConfig`) of `partitions`.",
        default=(),
        shown_default="",
    )
    segment_rows: int = option("maxNumRecordsPerSegment", count, "Most rows in a segment.", default=5_000_000)
    segment_bytes: int = option(
        "desiredSegmentSize",
        size_bytes,
        "Size of the Arrow data of a segment, which also bounds a task's memory.",
        default=500 * 2**20,
        shown_default="500M",
    )
    staging_uri: str | None = option(
        "stagingUri",
        text,
        "Folder that executors, driver and controller reach.",
        default=None,
        shown_default="the deep store",
    )
    staging_ttl_s: int = option(
        "stagingTtl",
        period_s,
        "Time without a new file after which what another write of the table has staged is deleted.",
        default=7 * 24 * 3600,
        shown_default="7d",
    )
    push_mode: str = option(
        "pushMode",
        one_of("METADATA", "TAR"),
        "Whether the controller copies segments itself or gets them sent.",
        default="METADATA",
    )
    min_replicas: int | None = option(
        "minServingReplicas",
        count_or_all,
        "How many replicas of each new segment have to serve before a write goes on: with a number, a dead"
        " server does not keep it.",
        default=None,
        shown_default="all",
    )
    create_table: bool = option(
        "createTable", boolean, "Whether a missing schema and table are made of the DataFrame.", default=False
    )
    time_column: str | None = option(
        "timeColumnName", text, "`createTable`: the table's time column, a date or timestamp.", default=None
    )
    replication: int = option("replication", count, "`createTable`: copies of each segment.", default=1)
    inverted_index_columns: tuple[str, ...] = option(
        "invertedIndexColumns",
        _names,
        "`createTable`: columns with an inverted index.",
        default=(),
        shown_default="",
    )
    no_dictionary_columns: tuple[str, ...] = option(
        "noDictionaryColumns", _names, "`createTable`: raw columns.", default=(), shown_default=""
    )
    bloom_filter_columns: tuple[str, ...] = option(
        "bloomFilterColumns",
        _names,
        "`createTable`: columns with a bloom filter.",
        default=(),
        shown_default="",
    )
    range_index_columns: tuple[str, ...] = option(
        "rangeIndexColumns",
        _names,
        "`createTable`: columns with a range index.",
        default=(),
        shown_default="",
    )
    sorted_column: str | None = option(
        "sortedColumn", text, "`createTable`: the column that segments are sorted by.", default=None
    )
    null_handling: bool = option(
        "nullHandling", boolean, "`createTable`: whether nulls are kept beside default values.", default=True
    )
    work_dir: str | None = option(
        "workDir", text, "Local folder of the executors.", default=None, shown_default="Spark's"
    )
    report_path: str | None = option(
        "reportPath",
        text,
        "File on the driver's machine that gets a report in JSON after the commit; a stream's last one.",
        default=None,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.staging_ttl_s < _LEAST_STAGING_TTL_S:
            raise ConfigError(
                "'stagingTtl' is too short: it would delete what writes in progress have staged",
                expected="1h or longer",
            )
        is_range = self.overwrite_scope is OverwriteScope.TIME_RANGE
        bounds = [bound for bound in (self.overwrite_from, self.overwrite_to) if bound is not None]
        if len(bounds) != (2 if is_range else 0):
            raise ConfigError(
                "'overwriteScope' timeRange needs 'overwriteFrom' and 'overwriteTo', and these need it"
            )
        if is_range and bounds[0] >= bounds[1]:
            raise ConfigError("the range of 'overwriteFrom' and 'overwriteTo' is empty")
        if (self.overwrite_scope is OverwriteScope.PARTITIONS) != bool(self.overwrite_partitions):
            raise ConfigError("'overwriteScope' partitions and 'overwritePartitions' go together")

    @property
    def overwrite_range(self) -> tuple[int, int] | None:
        """First time value of ``timeRange`` and the one after its last; None for other scopes."""
        if self.overwrite_from is None or self.overwrite_to is None:
            return None
        return self.overwrite_from, self.overwrite_to
