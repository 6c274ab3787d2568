"""The parameters of FileIngestionTask, from a table's ``taskTypeConfigsMap``, parsed and checked once.

``PARAMETERS`` is the one list of keys; parsing, the nearest-name hint of a misspelt key and the table in the
documentation come from it. Names and meaning follow the seed's sample configuration and Pinot's
BatchConfigProperties.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from controller_client.errors import ConfigError
from jvm_bridge.minion import DEFAULT_TAG
from minion_tasks.file_ingestion.patterns import PathMatcher
from minion_tasks.filestore import open_store

TASK_TYPE = "FileIngestionTask"
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


def _text(value: str) -> str:
    if not value.strip():
        raise ValueError("it is empty")
    return value.strip()


def _boolean(value: str) -> bool:
    if value.strip().lower() not in ("true", "false"):
        raise ValueError("expected true or false")
    return value.strip().lower() == "true"


def _count(value: str) -> int:
    if not value.strip().isdecimal() or int(value) < 1:
        raise ValueError("expected a whole number from 1")
    return int(value)


_SIZE_UNITS = {
    "": 1,
    "b": 1,
    "k": 2**10,
    "kb": 2**10,
    "m": 2**20,
    "mb": 2**20,
    "g": 2**30,
    "gb": 2**30,
    "t": 2**40,
    "tb": 2**40,
}


def _size(value: str) -> int:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", value)
    if match is None or match[2].lower() not in _SIZE_UNITS:
        raise ValueError("expected a size such as 500M or 1G")
    size = int(float(match[1]) * _SIZE_UNITS[match[2].lower()])
    if size < 1:
        raise ValueError("expected a size above 0")
    return size


def _one_of(*names: str) -> Callable[[str], str]:
    def parse(value: str) -> str:
        for name in names:
            if value.strip().lower() == name.lower():
                return name
        raise ValueError("expected one of " + ", ".join(names))

    return parse


PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "inputDirURI", _text, None, "The folder to ingest, listed with all its sub-folders.", required=True
    ),
    Parameter(
        "inputFormat",
        _one_of(*_FORMATS),
        None,
        "Format of the files: csv, json (lines), avro or parquet.",
        required=True,
    ),
    Parameter(
        "input.fs.className", _text, None, "PinotFS class of the input; checked against the URI's scheme."
    ),
    Parameter("includeFileNamePattern", _text, None, "Only files whose path matches: glob:… or regex:…"),
    Parameter("excludeFileNamePattern", _text, None, "No file whose path matches: glob:… or regex:…"),
    Parameter(
        "consistentPushEnabled",
        _boolean,
        "false",
        "All new files of a run become queryable in one step, or none.",
    ),
    Parameter(
        "schedule", _text, None, "Quartz cron expression at which `pinotctl scheduler` starts the task."
    ),
    Parameter(
        "outputDirURI",
        _text,
        None,
        "Where segments are staged; by default a folder in the cluster's deep store.",
    ),
    Parameter(
        "output.fs.className", _text, None, "PinotFS class of the staging place; checked against its scheme."
    ),
    Parameter("push.mode", _one_of("METADATA", "TAR"), "METADATA", "How staged segments are handed over."),
    Parameter(
        "tableMaxNumTasks", _count, "1000", "At most so many subtasks in a run; files are spread over them."
    ),
    Parameter("taskMaxNumFilesPerTask", _count, "100", "At most so many files in a subtask."),
    Parameter(
        "taskMaxDataSize",
        _size,
        "1G",
        "A subtask takes files up to this size together (a single file may be larger).",
    ),
    Parameter("taskTimeoutSeconds", _count, "3600", "A subtask that runs longer is ended by Helix."),
    Parameter("numConcurrentTasksPerInstance", _count, "2", "Subtasks that one minion runs side by side."),
    Parameter(
        "minionInstanceTag",
        _text,
        DEFAULT_TAG,
        "Tag of the Python-hosted minions that run the subtasks.",
    ),
    Parameter(
        "segmentReader",
        _one_of("auto", "arrow", "pinot"),
        "auto",
        "How files are read: Arrow where it gives the same, or Pinot's own reader.",
    ),
)

PREFIXES: Mapping[str, str] = {
    "input.fs.prop.": "Properties of the input's file system: region, endpoint, accessKey, secretKey.",
    "output.fs.prop.": "The same for the staging place; by default the input's, on a like store.",
    "recordReader.prop.": "Properties of Pinot's record reader for the format (delimiter, header, ...).",
}

_BY_KEY = {parameter.key: parameter for parameter in PARAMETERS}
_UNSUPPORTED = {
    "consistentPushSwapEnabled": "full swap is not built yet",
    "consistentPushMaxRetries": "retries are not built yet: each run that fails starts from scratch",
    "clearConsistentPushState": "it goes with retries, which are not built yet",
    "enableAtomicUpload": "sync mode is not built yet",
}


@dataclass(frozen=True)
class FileIngestionParams:
    """The checked parameters of one table. File system properties may hold secrets and show in no repr."""

    input_dir_uri: str
    input_format: str
    include: PathMatcher | None
    exclude: PathMatcher | None
    schedule: str | None
    output_dir_uri: str | None
    push_mode: str
    max_tasks: int
    max_files_per_task: int
    max_bytes_per_task: int
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
        if not values["consistentPushEnabled"]:
            raise ConfigError(
                "consistentPushEnabled is not true",
                expected="true: files are ingested by consistent push only",
                remedy="set consistentPushEnabled to true",
            )
        include, exclude = values["includeFileNamePattern"], values["excludeFileNamePattern"]
        return cls(
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
            task_timeout_s=values["taskTimeoutSeconds"],
            concurrent_per_instance=values["numConcurrentTasksPerInstance"],
            minion_tag=values["minionInstanceTag"],
            segment_reader=values["segmentReader"],
            input_fs=input_fs,
            output_fs=output_fs,
            record_reader=_with_prefix(configs, "recordReader.prop."),
        )


def mask_secrets(configs: Mapping[str, str]) -> dict[str, str]:
    """Copy a task's configuration for showing, with all file system secrets masked."""
    hidden = re.compile(r"(secret|password|token|accesskey)", re.IGNORECASE)
    return {key: "***" if hidden.search(key.rpartition(".")[2]) else value for key, value in configs.items()}


def _parse(configs: Mapping[str, str]) -> dict[str, Any]:
    for key in configs:
        if key not in _BY_KEY and not any(key.startswith(prefix) and key != prefix for prefix in PREFIXES):
            raise _unknown(key)
    values: dict[str, Any] = {}
    for parameter in PARAMETERS:
        text = configs.get(parameter.key, parameter.default)
        if text is None:
            if parameter.required:
                raise ConfigError(f"{parameter.key} is missing", expected=parameter.doc)
            values[parameter.key] = None
            continue
        try:
            values[parameter.key] = parameter.parse(text)
        except ValueError as error:
            raise ConfigError(f"{parameter.key} is {text!r}: {error}", expected=parameter.doc) from error
    return values


def _unknown(key: str) -> ConfigError:
    if key in _UNSUPPORTED:
        return ConfigError(f"the parameter {key} cannot be used: {_UNSUPPORTED[key]}", remedy="remove it")
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
