"""The keys of FileIngestionTask in a table's ``taskTypeConfigsMap``: one list of them.

Parsing, the nearest-name hint of a misspelt key and the table in the documentation come from it. Names and
meaning follow the seed's sample configuration and Pinot's BatchConfigProperties.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from controller_client.common.parsing import boolean, count, count_or_all, one_of, period_s, size_bytes, text
from jvm_bridge.input_rules import MissingLimit
from jvm_bridge.minion import DEFAULT_TAG
from minion_tasks.file_ingestion.params.values import count_or_no_bound, encoding, retries
from minion_tasks.file_ingestion.session import naming

__all__ = ["ENGINES", "PARAMETERS", "PREFIXES", "Parameter"]

ENGINES = ("minion", "spark")
_FORMATS = ("avro", "csv", "json", "orc", "parquet")


@dataclass(frozen=True)
class Parameter:
    """One key: how its text is read, what holds without it, and one line for the documentation."""

    key: str
    parse: Callable[[str], Any]
    default: str | None
    doc: str
    required: bool = False


PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "inputDirURI", text, None, "The folder to ingest, listed with all its sub-folders.", required=True
    ),
    Parameter(
        "inputFormat",
        one_of(*_FORMATS),
        None,
        "Format of the files: csv, json (lines, or one array), avro, parquet or orc.",
        required=True,
    ),
    Parameter(
        "input.fs.className", text, None, "PinotFS class of the input; checked against the URI's scheme."
    ),
    Parameter("includeFileNamePattern", text, None, "Only files whose path matches: glob:… or regex:…"),
    Parameter("excludeFileNamePattern", text, None, "No file whose path matches: glob:… or regex:…"),
    Parameter(
        "consistentPushEnabled",
        boolean,
        "false",
        "All that a run brings becomes queryable in one step, or nothing does.",
    ),
    Parameter(
        "consistentPushSwapEnabled",
        boolean,
        "false",
        "The table's whole content is replaced by what the source holds, in one step. Overrides "
        "`consistentPushEnabled`.",
    ),
    Parameter(
        "consistentPushMaxRetries",
        retries,
        "0",
        "How many later triggers resume a session whose files failed; 0 discards it.",
    ),
    Parameter(
        "clearConsistentPushState",
        boolean,
        "false",
        "Each run first clears all sessions of the table; set it for one run, then remove it.",
    ),
    Parameter(
        "enableSync",
        boolean,
        "false",
        "Sync mode: a segment for each file; changed files are replaced and deleted ones removed.",
    ),
    Parameter(
        "enableAtomicUpload",
        boolean,
        "false",
        "In sync mode: as `consistentPushEnabled`, without retries.",
    ),
    Parameter(
        "allowEmptySource",
        boolean,
        "false",
        "Sync and swap: a source without a file that matches empties the table; otherwise it is refused.",
    ),
    Parameter(
        "schedule", text, None, "Quartz cron expression at which `pinotctl scheduler` starts the task."
    ),
    Parameter(
        "cronSchedule",
        text,
        None,
        "As `schedule`, and what `pinotctl task register` makes of it where Pinot 1.3 or later refuses a "
        "schedule for want of a minion.",
    ),
    Parameter(
        "outputDirURI",
        text,
        None,
        "Where segments are staged; by default a folder in the cluster's deep store.",
    ),
    Parameter(
        "output.fs.className", text, None, "PinotFS class of the staging place; checked against its scheme."
    ),
    Parameter("push.mode", one_of("METADATA", "TAR"), "METADATA", "How staged segments are handed over."),
    Parameter(
        "minServingReplicas",
        count_or_all,
        "all",
        "How many replicas of each new segment have to serve before a run goes on: with a number, a dead"
        " server does not keep it.",
    ),
    Parameter(
        "tableMaxNumTasks",
        count_or_no_bound,
        "1000",
        "Most subtasks in a run, over which all files are spread; -1 for no limit.",
    ),
    Parameter("taskMaxNumFilesPerTask", count, "100", "Most files in a subtask."),
    Parameter(
        "taskMaxDataSize",
        size_bytes,
        "1G",
        "A subtask takes files up to this size together (a single file may be larger).",
    ),
    Parameter(
        "desiredSegmentSize",
        size_bytes,
        "500M",
        "Append mode: a subtask's files are put together into segments of about this size.",
    ),
    Parameter(
        "maxNumRecordsPerSegment",
        count,
        "5000000",
        "Append mode: most rows in a segment; a larger file becomes several.",
    ),
    Parameter(
        "skipFileIfFailToInitReader",
        boolean,
        "false",
        "Go on without a file that its reader cannot open (not of the format, no header, cut short).",
    ),
    Parameter(
        "replacedSegmentsRetentionPeriod",
        period_s,
        "1h",
        "How long replaced segments are kept before a run purges them: 30m, 4h, 1d.",
    ),
    Parameter(
        "engine",
        one_of(*ENGINES),
        "minion",
        "What runs the subtasks: Python-hosted minions (`minion`), or one Spark job (`spark`).",
    ),
    Parameter("taskTimeoutSeconds", count, "3600", "A subtask that runs longer is ended."),
    Parameter(
        "numConcurrentTasksPerInstance",
        count,
        "2",
        "Engine minion: subtasks that one minion runs side by side.",
    ),
    Parameter(
        "minionInstanceTag",
        text,
        DEFAULT_TAG,
        "Engine minion: tag of the Python-hosted minions that run the subtasks.",
    ),
    Parameter(
        "minionWait",
        period_s,
        "1m",
        "Engine minion: how long a run goes on waiting while no minion of the tag is live; longer where"
        " minions are scaled from zero.",
    ),
    Parameter("inputEncoding", encoding, "UTF-8", "Encoding of CSV and JSON files; other bytes are refused."),
    Parameter(
        "maxMissingColumns",
        MissingLimit.parse,
        None,
        "How many of the table's columns a file may lack: `3`, or a share: `25%`. By default half of them; of"
        " JSON lines, whose rows leave keys out, all but one.",
    ),
    Parameter(
        "failOnUnknownColumns",
        boolean,
        "false",
        "Refuse files with columns that the table does not read; otherwise they are reported.",
    ),
    Parameter(
        "segmentReader",
        one_of("auto", "arrow", "pinot"),
        "auto",
        "How files are read: Arrow where it gives the same, or Pinot's own reader.",
    ),
)

PREFIXES: Mapping[str, str] = {
    "input.fs.prop.": "Of the input's file system, e.g. region, endpoint, accessKey, secretKey of S3.",
    "output.fs.prop.": "The same for the staging place; by default the input's, on a like store.",
    "recordReader.prop.": "Properties of Pinot's record reader for the format (delimiter, header, ...).",
    naming.PREFIX: "Of the segments' names: `type` (simple), `configs.segment.name.prefix` and `...postfix`.",
}
