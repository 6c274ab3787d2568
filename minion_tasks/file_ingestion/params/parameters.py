"""The list of FileIngestionTask's keys in a table's ``taskTypeConfigsMap``.

Parsing, the hint for a misspelt key and the table in the documentation are derived from it. Names and
meanings follow Pinot's BatchConfigProperties.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

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
from controller_client.publishing.checks.rules import RANGE, column_names, percentage
from controller_client.publishing.pushing import PushMode
from jvm_bridge.input_rules import FileFormat, MissingLimit, text_encoding, time_zone
from jvm_bridge.minion import DEFAULT_TAG
from minion_tasks.file_ingestion.params.stores import LAKEHOUSES
from minion_tasks.file_ingestion.session import naming
from minion_tasks.sources.base import VersionPin

__all__ = ["ENGINES", "PARAMETERS", "PREFIXES", "Parameter"]


_INT_MAX = 2**31 - 1


def count_or_no_bound(value: str) -> int | None:
    """Parse a whole number of at least 1, or -1 for None."""
    return None if value.strip() == "-1" else count(value)


def retries(value: str) -> int:
    """Parse a whole number up to Java's INT_MAX."""
    number = whole_number(value.strip())
    if number is None or number > _INT_MAX:
        raise ValueError(f"expected a whole number from 0 to {_INT_MAX}")
    return number


def encoding(value: str) -> str:
    """Check the name of a text encoding."""
    text_encoding(value)
    return value.strip()


ENGINES = ("minion", "spark")


@dataclass(frozen=True)
class Parameter:
    """One key: how its text is parsed, its default, and one line for the documentation."""

    key: str
    parse: Callable[[str], Any]
    default: str | None
    doc: str
    required: bool = False


PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "inputDirURI",
        text,
        None,
        "The folder to ingest, including its subfolders; or a Delta table's folder, or"
        " `iceberg://CATALOG/NAMESPACE.TABLE`.",
        required=True,
    ),
    Parameter(
        "inputFormat",
        one_of(*sorted([*(file_format.lower() for file_format in FileFormat), *LAKEHOUSES])),
        None,
        "Format of the files: csv, json (lines or one array), avro, parquet or orc; or of the table: delta or"
        " iceberg.",
        required=True,
    ),
    Parameter(
        "sourceVersion",
        VersionPin.parse,
        None,
        "Of a Delta or Iceberg table: read this version instead of the current one: `id:NUMBER`,"
        " `time:2026-11-29T08:00:00Z`; of an Iceberg table also `branch:NAME` or `tag:NAME`.",
    ),
    Parameter(
        "input.fs.className", text, None, "PinotFS class of the input; must match the scheme of the URI."
    ),
    Parameter(
        "includeFileNamePattern", text, None, "Ingest only files whose path matches: glob:… or regex:…"
    ),
    Parameter("excludeFileNamePattern", text, None, "Skip files whose path matches: glob:… or regex:…"),
    Parameter(
        "consistentPushEnabled",
        boolean,
        "false",
        "Everything that a run ingests becomes queryable in one step, or nothing does.",
    ),
    Parameter(
        "consistentPushSwapEnabled",
        boolean,
        "false",
        "Replace the table's entire content with the content of the source in one step. Overrides "
        "`consistentPushEnabled`.",
    ),
    Parameter(
        "consistentPushMaxRetries",
        retries,
        "0",
        "How many later triggers resume a session in which files failed; 0: it is discarded.",
    ),
    Parameter(
        "clearConsistentPushState",
        boolean,
        "false",
        "Clear all sessions of the table at the start of each run; set it for one run, then remove it.",
    ),
    Parameter(
        "enableSync",
        boolean,
        "false",
        "Sync mode: one segment per file; the segments of changed files are replaced, those of deleted files"
        " removed.",
    ),
    Parameter(
        "replaceChangedFiles",
        boolean,
        "false",
        "Update mode: like append mode, and the segments of changed files are replaced. Needs"
        " `consistentPushEnabled`.",
    ),
    Parameter(
        "enableAtomicUpload",
        boolean,
        "false",
        "In sync mode: like `consistentPushEnabled`, but without retries.",
    ),
    Parameter(
        "allowEmptySource",
        boolean,
        "false",
        "Sync and swap: a source without matching files empties the table. Otherwise such a source is an"
        " error.",
    ),
    Parameter(
        "schedule", text, None, "Quartz cron expression by which `pinotctl scheduler` triggers the task."
    ),
    Parameter(
        "cronSchedule",
        text,
        None,
        "Same as `schedule`. `pinotctl task register` writes this key if Pinot 1.3 or later rejects "
        "`schedule` because no minion has the task's tag.",
    ),
    Parameter(
        "outputDirURI",
        text,
        None,
        "Folder in which segments are staged. Default: a folder in the cluster's deep store.",
    ),
    Parameter(
        "output.fs.className", text, None, "PinotFS class of the staging folder; must match its scheme."
    ),
    Parameter("push.mode", one_of(*PushMode), "METADATA", "How staged segments are uploaded."),
    Parameter(
        "minServingReplicas",
        count_or_all,
        "all",
        "Replicas of each new segment that must be online before a run continues. With a number, a dead"
        " server does not block the run.",
    ),
    Parameter(
        "tableMaxNumTasks",
        count_or_no_bound,
        "1000",
        "Maximum number of subtasks in a run; all files are distributed among them. -1: no limit.",
    ),
    Parameter("taskMaxNumFilesPerTask", count, "100", "Maximum number of files in a subtask."),
    Parameter(
        "taskMaxDataSize",
        size_bytes,
        "1G",
        "Maximum total size of the files in a subtask (a single file may be larger).",
    ),
    Parameter(
        "desiredSegmentSize",
        size_bytes,
        "500M",
        "Not in sync mode: the files of a subtask are combined into segments of about this size.",
    ),
    Parameter(
        "maxNumRecordsPerSegment",
        count,
        "5000000",
        "Not in sync mode: maximum number of rows in a segment; a larger file becomes several segments.",
    ),
    Parameter(
        "skipFileIfFailToInitReader",
        boolean,
        "false",
        "Skip a file that its reader cannot open (wrong format, no header, truncated).",
    ),
    Parameter(
        "replacedSegmentsRetentionPeriod",
        period_s,
        "1h",
        "How long replaced segments are kept before a run purges them: 30m, 4h, 1d. Since Pinot 1.6, only"
        " Pinot deletes them, segmentsConfig.replacedSegmentsRetentionPeriod after the switch.",
    ),
    Parameter(
        "keepVersions",
        count,
        "1",
        "How many versions of the table `pinotctl task rollback` can return to, including the current one."
        " Needs a consistent push.",
    ),
    Parameter(
        "engine",
        one_of(*ENGINES),
        None,
        "What runs the subtasks: Python-hosted minions (`minion`) or one Spark job (`spark`). Default: what"
        " `PINOT_PLUGINS_ENGINE` or the profile says, else `minion`.",
    ),
    Parameter("taskTimeoutSeconds", count, "3600", "A subtask that runs longer than this is stopped."),
    Parameter(
        "numConcurrentTasksPerInstance",
        count,
        "2",
        "Engine minion: number of subtasks that one minion runs in parallel.",
    ),
    Parameter(
        "minionInstanceTag",
        text,
        DEFAULT_TAG,
        "Engine minion: tag of the minions that run the subtasks.",
    ),
    Parameter(
        "minionWait",
        period_s,
        "1m",
        "Engine minion: how long a run waits while no minion with the tag is live. Increase it if minions are"
        " scaled from zero.",
    ),
    Parameter(
        "inputEncoding",
        encoding,
        "UTF-8",
        "Encoding of CSV and JSON files; a file with invalid bytes is an error.",
    ),
    Parameter(
        "timeZone",
        time_zone,
        "UTC",
        "Time zone of dates without an offset in columns of type TIMESTAMP, such as `Europe/Berlin`.",
    ),
    Parameter(
        "maxMissingColumns",
        MissingLimit.parse,
        None,
        "How many of the table's columns a file may lack: a number such as `3` or a share such as `25%`."
        " Default: half of them; for JSON lines, whose rows may omit keys, all but one.",
    ),
    Parameter(
        "failOnUnknownColumns",
        boolean,
        "false",
        "Reject files with columns that are not in the table. Otherwise such columns are only reported.",
    ),
    Parameter(
        "hivePartitioning",
        boolean,
        "true",
        "Read columns from names of folders below `inputDirURI`, such as `dt=2024-01-01/`.",
    ),
    Parameter(
        "checks.minRows",
        count,
        None,
        "A run that would leave the table with fewer rows is rejected before its switch.",
    ),
    Parameter(
        "checks.maxRowsChange",
        percentage,
        None,
        "The same for a run that would change the number of the table's rows by more, such as `20%`.",
    ),
    Parameter(
        "checks.mayBecomeEmpty",
        column_names,
        None,
        "Names of columns that may lose all of their values, or `*`. A run is rejected if any other column"
        " with values in the table has none in the new rows.",
    ),
    Parameter(
        "segmentReader",
        one_of("auto", "arrow", "pinot"),
        "auto",
        "How files are read: by columns with Arrow, row by row (`pinot`), or by columns where both agree.",
    ),
)

RECORD_READER = "recordReader.prop."

PREFIXES: Mapping[str, str] = {
    "input.fs.prop.": "Input file system properties, e.g. region, endpoint, accessKey, secretKey for S3; or"
    " those of an Iceberg catalog: `type`, `uri`, `warehouse`, `s3.access-key-id` ...",
    "output.fs.prop.": "The same for the staging folder. Default: those of the input, if on the same scheme.",
    RECORD_READER: "Properties of Pinot's record reader for the format (delimiter, header, ...).",
    RANGE: "The range of a column's values, such as `0..100` or `0..`; a run with others is rejected.",
    naming.PREFIX: "Segment names: `type` (simple), `configs.segment.name.prefix` and `...postfix`.",
}
