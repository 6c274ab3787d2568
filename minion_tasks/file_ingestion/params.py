"""The parameters of FileIngestionTask, from a table's ``taskTypeConfigsMap``, parsed and checked once.

``PARAMETERS`` is the one list of keys; parsing, the nearest-name hint of a misspelt key and the table in the
documentation come from it. Names and meaning follow the seed's sample configuration and Pinot's
BatchConfigProperties.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from controller_client.errors import ConfigError
from controller_client.filestore import open_store
from jvm_bridge.minion import DEFAULT_TAG
from minion_tasks.file_ingestion import naming
from minion_tasks.file_ingestion.naming import SegmentNames
from minion_tasks.file_ingestion.param_values import (
    boolean,
    count,
    count_or_no_bound,
    one_of,
    period_s,
    retries,
    size_bytes,
    text,
)
from minion_tasks.file_ingestion.patterns import PathMatcher
from minion_tasks.file_ingestion.session import IngestionMode

TASK_TYPE = "FileIngestionTask"
ENGINES = ("minion", "spark")
_FORMATS = ("avro", "csv", "json", "parquet")


@dataclass(frozen=True)
class Parameter:
    """One key: how its text is read, what holds without it, and one line for the documentation."""

    key: str
    parse: Callable[[str], Any]
    default: str | None
    doc: str
    required: bool = False
    secret: bool = False


PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "inputDirURI", text, None, "The folder to ingest, listed with all its sub-folders.", required=True
    ),
    Parameter(
        "inputFormat",
        one_of(*_FORMATS),
        None,
        "Format of the files: csv, json (lines), avro or parquet.",
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
        "How many later triggers go on with a session whose files failed; 0 throws it away.",
    ),
    Parameter(
        "clearConsistentPushState",
        boolean,
        "false",
        "Each run first clears all sessions of the table away: for one run, after which it is to be removed.",
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
        "schedule", text, None, "Quartz cron expression at which `pinotctl scheduler` starts the task."
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
        "tableMaxNumTasks",
        count_or_no_bound,
        "1000",
        "At most so many subtasks in a run, over which all files are spread; -1 for no bound.",
    ),
    Parameter("taskMaxNumFilesPerTask", count, "100", "At most so many files in a subtask."),
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
        "Append mode: a segment has at most so many rows; a larger file becomes several.",
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
        "segmentReader",
        one_of("auto", "arrow", "pinot"),
        "auto",
        "How files are read: Arrow where it gives the same, or Pinot's own reader.",
    ),
)

PREFIXES: Mapping[str, str] = {
    "input.fs.prop.": "Properties of the input's file system: region, endpoint, accessKey, secretKey.",
    "output.fs.prop.": "The same for the staging place; by default the input's, on a like store.",
    "recordReader.prop.": "Properties of Pinot's record reader for the format (delimiter, header, ...).",
    naming.PREFIX: "Of the segments' names: `type` (simple), `configs.segment.name.prefix` and `...postfix`.",
}

_BY_KEY = {parameter.key: parameter for parameter in PARAMETERS}
_APPEND_ONLY = ("desiredSegmentSize", "maxNumRecordsPerSegment")


@dataclass(frozen=True)
class FileIngestionParams:
    """The checked parameters of one table. File system properties may hold secrets and show in no repr.

    Attributes:
        mode: What a run brings the table to.
        atomic: Whether it becomes visible in one step.
        one_to_one: Whether each file is one segment.
        max_retries: Triggers that go on with a session after its first.
        max_tasks: None for no bound.
        engine: One of `ENGINES`.
    """

    mode: IngestionMode
    atomic: bool
    one_to_one: bool
    max_retries: int
    clear_state: bool
    input_dir_uri: str
    input_format: str
    include: PathMatcher | None
    exclude: PathMatcher | None
    schedule: str | None
    output_dir_uri: str | None
    push_mode: str
    max_tasks: int | None
    max_files_per_task: int
    max_bytes_per_task: int
    segment_bytes: int
    max_segment_rows: int
    skip_unreadable: bool
    purge_after_s: int
    names: SegmentNames
    engine: str
    task_timeout_s: int
    concurrent_per_instance: int
    minion_tag: str
    segment_reader: Literal["auto", "arrow", "pinot"]
    input_fs: Mapping[str, str] = field(repr=False)
    output_fs: Mapping[str, str] = field(repr=False)
    record_reader: Mapping[str, str] = field(repr=False)

    @classmethod
    def from_configs(cls, configs: Mapping[str, str]) -> FileIngestionParams:
        """Parse and check the task's configuration map.

        Raises:
            ConfigError: A key is unknown, missing, malformed or does not go with another; the message names
                it.
        """
        values = _parse(configs)
        input_uri = values["inputDirURI"]
        input_fs = _with_prefix(configs, "input.fs.prop.")
        output_fs = _with_prefix(configs, "output.fs.prop.")
        output_uri = values["outputDirURI"]
        # First of all, since other errors show the URI.
        _check_uri("inputDirURI", input_uri)
        if output_uri is not None:
            _check_uri("outputDirURI", output_uri)
        # Opening a store checks scheme, class and property names; nothing is contacted.
        open_store(input_uri, input_fs, class_name=values["input.fs.className"], key="inputDirURI")
        if output_uri is not None:
            open_store(output_uri, output_fs, class_name=values["output.fs.className"], key="outputDirURI")
        _check_together(configs, values)
        include, exclude = values["includeFileNamePattern"], values["excludeFileNamePattern"]
        swap, sync = values["consistentPushSwapEnabled"], values["enableSync"]
        return cls(
            mode=IngestionMode.SWAP if swap else IngestionMode.SYNC if sync else IngestionMode.APPEND,
            atomic=swap or values["consistentPushEnabled"] or values["enableAtomicUpload"],
            one_to_one=sync,
            max_retries=values["consistentPushMaxRetries"],
            clear_state=values["clearConsistentPushState"],
            input_dir_uri=input_uri,
            input_format=values["inputFormat"],
            include=PathMatcher(include, key="includeFileNamePattern") if include else None,
            exclude=PathMatcher(exclude, key="excludeFileNamePattern") if exclude else None,
            schedule=values["schedule"],
            output_dir_uri=output_uri,
            push_mode=values["push.mode"],
            max_tasks=values["tableMaxNumTasks"],
            max_files_per_task=values["taskMaxNumFilesPerTask"],
            max_bytes_per_task=values["taskMaxDataSize"],
            segment_bytes=values["desiredSegmentSize"],
            max_segment_rows=values["maxNumRecordsPerSegment"],
            skip_unreadable=values["skipFileIfFailToInitReader"],
            purge_after_s=values["replacedSegmentsRetentionPeriod"],
            names=SegmentNames.from_configs(_with_prefix(configs, naming.PREFIX)),
            engine=values["engine"],
            task_timeout_s=values["taskTimeoutSeconds"],
            concurrent_per_instance=values["numConcurrentTasksPerInstance"],
            minion_tag=values["minionInstanceTag"],
            segment_reader=values["segmentReader"],
            input_fs=input_fs,
            output_fs=output_fs,
            record_reader=_with_prefix(configs, "recordReader.prop."),
        )


def _check_together(configs: Mapping[str, str], values: Mapping[str, Any]) -> None:
    """Refuse keys that do not go with each other."""
    swap, sync, push = (
        values[key] for key in ("consistentPushSwapEnabled", "enableSync", "consistentPushEnabled")
    )
    if values["enableAtomicUpload"] and not sync:
        raise ConfigError(
            "enableAtomicUpload is of sync mode, and enableSync is not true",
            remedy="set consistentPushEnabled instead, or enableSync as well",
        )
    if "consistentPushMaxRetries" in configs and not (swap or push):
        raise ConfigError(
            "consistentPushMaxRetries goes with consistent push only",
            expected="consistentPushEnabled or consistentPushSwapEnabled set to true",
        )
    for key in _APPEND_ONLY:
        if sync and key in configs:
            raise ConfigError(
                f"{key} does not go with enableSync", expected="in sync mode, each file is one segment"
            )


def _parse(configs: Mapping[str, str]) -> dict[str, Any]:
    for key in configs:
        if key not in _BY_KEY and not any(key.startswith(prefix) and key != prefix for prefix in PREFIXES):
            raise _unknown(key)
    values: dict[str, Any] = {}
    for parameter in PARAMETERS:
        given = configs.get(parameter.key, parameter.default)
        if given is None:
            if parameter.required:
                raise ConfigError(f"{parameter.key} is missing", expected=parameter.doc)
            values[parameter.key] = None
            continue
        try:
            values[parameter.key] = parameter.parse(given)
        except ValueError as error:
            raise ConfigError(f"{parameter.key} is {given!r}: {error}", expected=parameter.doc) from error
    return values


def _unknown(key: str) -> ConfigError:
    if key in ("retryCount", "state"):
        return ConfigError(
            f"{key} is read-only: it is told by 'pinotctl task session show'", remedy="remove it"
        )
    names = [*_BY_KEY, *(prefix + "…" for prefix in PREFIXES)]
    folded = {name.lower(): name for name in names}
    near = difflib.get_close_matches(key.lower(), folded, n=1, cutoff=0.6)
    return ConfigError(
        f"unknown parameter {key!r} of {TASK_TYPE}",
        remedy=f"did you mean {folded[near[0]]!r}?" if near else "known are: " + ", ".join(names),
    )


def _with_prefix(configs: Mapping[str, str], prefix: str) -> Mapping[str, str]:
    return {key[len(prefix) :]: value for key, value in configs.items() if key.startswith(prefix)}


def _check_uri(key: str, uri: str) -> None:
    parts = urlsplit(uri)
    if parts.scheme == "s3" and not parts.netloc:
        raise ConfigError(f"{key} names no bucket: {uri}", expected="s3://bucket/folder/")
    if parts.password:
        raise ConfigError(f"{key} carries a password", remedy="put credentials into input.fs.prop.*")
