"""Options of ``df.write.format("pinot")``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from controller_client.common.parsing import (
    boolean,
    count,
    count_or_all,
    one_of,
    period_s,
    size_bytes,
    text,
    whole_number,
)
from controller_client.errors import ConfigError
from controller_client.models import Schema
from controller_client.publishing.checks.rules import RANGE, Checks, column_names, percentage, value_ranges
from controller_client.publishing.pushing import PushMode
from jvm_bridge.input_rules import MissingLimit
from spark_connectors.options.connection import ConnectionOptions
from spark_connectors.options.declared import option, prefixed

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
    numbers: set[int] = set()
    for part in value.split(","):
        number = whole_number(part.strip())
        if number is None:
            raise ValueError("expected whole numbers, 0 or more, separated by commas")
        numbers.add(number)
    return tuple(sorted(numbers))


def _time(value: str) -> int:
    number = whole_number(value.strip(), signed=True)
    if number is None:
        raise ValueError("expected a whole number in the time column's unit")
    return number


@dataclass(frozen=True, repr=False)
class WriteOptions(ConnectionOptions):
    """The options of a write."""

    write_id: str | None = option(
        "writeId",
        text,
        "Id of this write: a second write with the same id to the same table is a no-op.",
        default=None,
        shown_default="a new id each time",
    )
    overwrite_scope: OverwriteScope = option(
        "overwriteScope",
        _scope,
        "What `overwrite` replaces: the `table`, or the segments of a `timeRange` or of `partitions`.",
        default=OverwriteScope.TABLE,
    )
    overwrite_from: int | None = option(
        "overwriteFrom", _time, "`timeRange`: first time value, inclusive.", default=None
    )
    overwrite_to: int | None = option("overwriteTo", _time, "`timeRange`: end, exclusive.", default=None)
    overwrite_partitions: tuple[int, ...] = option(
        "overwritePartitions",
        _numbers,
        "`partitions`: partition ids according to `segmentPartitionConfig`.",
        default=(),
        shown_default="",
    )
    max_missing: MissingLimit = option(
        "maxMissingColumns",
        MissingLimit.parse,
        "How many of the table's columns the DataFrame may lack: a number or a percentage, e.g. 50%. They are"
        " null in all of its rows.",
        default=MissingLimit(0, is_percent=False),
        shown_default="0",
    )
    segment_rows: int = option(
        "maxNumRecordsPerSegment", count, "Maximum number of rows in a segment.", default=5_000_000
    )
    segment_bytes: int = option(
        "desiredSegmentSize",
        size_bytes,
        "Size of the Arrow data of a segment, which also limits the memory of a task.",
        default=500 * 2**20,
        shown_default="500M",
    )
    staging_uri: str | None = option(
        "stagingUri",
        text,
        "Staging folder, reachable by executors, driver and controller.",
        default=None,
        shown_default="in the deep store",
    )
    staging_ttl_s: int = option(
        "stagingTtl",
        period_s,
        "Delete staged files of other writes of the table after this long without a new file.",
        default=7 * 24 * 3600,
        shown_default="7d",
    )
    push_mode: str = option(
        "pushMode",
        one_of(*PushMode),
        "`METADATA`: the controller copies segments from the staging folder, with `BATCH` up to 50 at once;"
        " `TAR`: the driver uploads them.",
        default="METADATA",
    )
    min_replicas: int | None = option(
        "minServingReplicas",
        count_or_all,
        "Replicas of each new segment that must be online before a write continues. With a number, a dead"
        " server does not block the write.",
        default=None,
        shown_default="all",
    )
    min_rows: int | None = option(
        "checks.minRows",
        count,
        "A write that would leave the table with fewer rows fails before its commit.",
        default=None,
    )
    max_rows_change: Decimal | None = option(
        "checks.maxRowsChange",
        percentage,
        "The same for a write that would change the number of the table's rows by more, e.g. `20%`.",
        default=None,
    )
    may_become_empty: frozenset[str] = option(
        "checks.mayBecomeEmpty",
        column_names,
        "Names of columns that may lose all of their values, or `*`. A write fails if any other column with"
        " values in the table has none in the new rows.",
        default=frozenset(),
        shown_default="",
    )
    range_texts: Mapping[str, str] = prefixed(
        RANGE,
        "The range of a column's values, e.g. `0..100` or `0..`; a write with others fails.",
        secret=False,
    )
    create_table: bool = option(
        "createTable",
        boolean,
        "Whether to create a missing schema and table from the DataFrame.",
        default=False,
    )
    time_column: str | None = option(
        "timeColumnName", text, "`createTable`: time column of the table, a date or timestamp.", default=None
    )
    replication: int = option(
        "replication", count, "`createTable`: number of replicas of each segment.", default=1
    )
    inverted_index_columns: tuple[str, ...] = option(
        "invertedIndexColumns",
        _names,
        "`createTable`: columns with an inverted index.",
        default=(),
        shown_default="",
    )
    no_dictionary_columns: tuple[str, ...] = option(
        "noDictionaryColumns",
        _names,
        "`createTable`: columns without a dictionary.",
        default=(),
        shown_default="",
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
        "sortedColumn", text, "`createTable`: column by which segments are sorted.", default=None
    )
    null_handling: bool = option(
        "nullHandling",
        boolean,
        "`createTable`: whether nulls are stored in addition to default values.",
        default=True,
    )
    work_dir: str | None = option(
        "workDir", text, "Local folder of the executors.", default=None, shown_default="Spark's"
    )
    report_path: str | None = option(
        "reportPath",
        text,
        "File on the driver's machine for a JSON report of the commit; a stream overwrites it each time.",
        default=None,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        value_ranges(self.range_texts)  # reports an invalid range now
        if self.staging_ttl_s < _LEAST_STAGING_TTL_S:
            raise ConfigError(
                "'stagingTtl' is too short: it would delete staged files of writes in progress",
                expected="1h or longer",
            )
        is_range = self.overwrite_scope is OverwriteScope.TIME_RANGE
        bounds = [bound for bound in (self.overwrite_from, self.overwrite_to) if bound is not None]
        if len(bounds) != (2 if is_range else 0):
            raise ConfigError(
                "'overwriteScope' timeRange, 'overwriteFrom' and 'overwriteTo' must be set together"
            )
        if is_range and bounds[0] >= bounds[1]:
            raise ConfigError("the range from 'overwriteFrom' to 'overwriteTo' is empty")
        if (self.overwrite_scope is OverwriteScope.PARTITIONS) != bool(self.overwrite_partitions):
            raise ConfigError("'overwriteScope' partitions and 'overwritePartitions' must be set together")

    def checks(self, schema: Schema) -> Checks:
        """Return the checks of what is staged.

        Args:
            schema: The table's schema. Spark ignores case in names of options, and so in those of columns.

        Raises:
            ConfigError: A check names a column that the table does not have or that is not a number, or two
                columns.
        """
        ranges = {}
        for name, value_range in value_ranges(self.range_texts).items():
            same = sorted(spec.name for spec in schema.fields if spec.name.lower() == name.lower()) or [name]
            if len(same) > 1:
                raise ConfigError(
                    f"'{RANGE}{same[0]}' could mean {' or '.join(same)}: Spark ignores case in options",
                    remedy="check the values in the DataFrame",
                )
            ranges[same[0]] = value_range
        checks = Checks(self.min_rows, self.max_rows_change, self.may_become_empty, ranges)
        checks.check_schema(schema)
        return checks

    @property
    def overwrite_range(self) -> tuple[int, int] | None:
        """The bounds of ``timeRange``, the end exclusive; None for other scopes."""
        if self.overwrite_from is None or self.overwrite_to is None:
            return None
        return self.overwrite_from, self.overwrite_to
