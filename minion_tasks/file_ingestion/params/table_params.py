"""The parameters of one table's FileIngestionTask, parsed and checked once, including their combinations."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from controller_client.common.references import has_reference
from controller_client.errors import ConfigError
from controller_client.publishing.checks.rules import RANGE, Checks, value_ranges
from controller_client.publishing.targets import FILE_INGESTION
from jvm_bridge.input_rules import FileFormat, InputRules, csv_header
from minion_tasks.file_ingestion.params.parameters import PARAMETERS, PREFIXES, RECORD_READER
from minion_tasks.file_ingestion.params.patterns import PathMatcher, listed_forms
from minion_tasks.file_ingestion.params.stores import (
    ICEBERG,
    INPUT_FS,
    LAKEHOUSES,
    OUTPUT_FS,
    TaskStores,
)
from minion_tasks.file_ingestion.session import naming
from minion_tasks.file_ingestion.session.model import IngestionMode
from minion_tasks.file_ingestion.session.naming import SegmentNames
from minion_tasks.sources.base import PinKind

TASK_TYPE = FILE_INGESTION
"""Name of the task type in table configs and of its queue in Helix."""

SCHEDULE, CRON_SCHEDULE = "schedule", "cronSchedule"
"""Two keys for one parameter; Pinot itself validates the first."""


_BY_KEY = {parameter.key: parameter for parameter in PARAMETERS}
_APPEND_ONLY = ("desiredSegmentSize", "maxNumRecordsPerSegment")
_FILES_ONLY = (
    "includeFileNamePattern",
    "excludeFileNamePattern",
    "hivePartitioning",
    "input.fs.className",
    "skipFileIfFailToInitReader",
)


@dataclass(frozen=True)
class FileIngestionParams:
    """The checked parameters of one table.

    File system properties contain unresolved references, which `stores` resolves on use. They may contain
    secrets, so no repr shows them.

    Attributes:
        mode: How a run changes the table.
        atomic: Whether the changes become visible in one step.
        one_to_one: Whether each file is one segment.
        max_retries: How many triggers may resume a session after its first.
        allow_empty: Whether a source without files may empty the table.
        keep_versions: How many versions of the table are kept, including the current one.
        min_replicas: How many replicas of a new segment must be online; None: all.
        max_tasks: Maximum number of subtasks; None: no limit.
        engine: One of `ENGINES`; None: the default of the process that runs the task.
        hive_partitioning: Whether names of folders have columns.
        rules: The rules that input files must follow.
        checks: The checks of what is staged.
        stores: The stores of the source and the staging folders.
    """

    mode: IngestionMode
    atomic: bool
    one_to_one: bool
    max_retries: int
    clear_state: bool
    allow_empty: bool
    input_dir_uri: str
    input_format: str
    include: PathMatcher | None
    exclude: PathMatcher | None
    schedule: str | None
    output_dir_uri: str | None
    push_mode: str
    min_replicas: int | None
    max_tasks: int | None
    max_files_per_task: int
    max_bytes_per_task: int
    segment_bytes: int
    max_segment_rows: int
    skip_unreadable: bool
    purge_after_s: int
    keep_versions: int
    names: SegmentNames
    engine: str | None
    task_timeout_s: int
    minion_wait_s: float
    concurrent_per_instance: int
    minion_tag: str
    hive_partitioning: bool
    segment_reader: Literal["auto", "arrow", "pinot"]
    rules: InputRules
    checks: Checks
    input_fs: Mapping[str, str] = field(repr=False)
    output_fs: Mapping[str, str] = field(repr=False)
    record_reader: Mapping[str, str] = field(repr=False)
    stores: TaskStores = field(repr=False, compare=False)

    @property
    def is_lakehouse(self) -> bool:
        """Whether the source is a version of a table, not a folder of files."""
        return self.input_format in LAKEHOUSES

    @property
    def file_format(self) -> FileFormat:
        """The format of the local copies from which segments are built."""
        return FileFormat.PARQUET if self.is_lakehouse else FileFormat.parse(self.input_format)

    @classmethod
    def from_configs(cls, configs: Mapping[str, str]) -> FileIngestionParams:
        """Parse and check the task's configuration map.

        Raises:
            ConfigError: A key is unknown, missing, malformed or conflicts with another; the message names it.
        """
        _check_references(configs)
        values = _parse(configs)
        input_uri = values["inputDirURI"]
        input_fs = _with_prefix(configs, INPUT_FS)
        output_fs = _with_prefix(configs, OUTPUT_FS)
        output_uri = values["outputDirURI"]
        # First, since other errors show the URI.
        _check_uri("inputDirURI", input_uri)
        if output_uri is not None:
            _check_uri("outputDirURI", output_uri)
        stores = TaskStores(
            input_uri,
            input_fs,
            output_fs,
            input_format=values["inputFormat"],
            pin=values["sourceVersion"],
            input_class=values["input.fs.className"],
            output_class=values["output.fs.className"],
        )
        if output_uri is not None:
            stores.check_output(output_uri)
        _check_together(configs, values)
        swap, sync = values["consistentPushSwapEnabled"], values["enableSync"]
        added = IngestionMode.UPDATE if values["replaceChangedFiles"] else IngestionMode.APPEND
        return cls(
            mode=IngestionMode.SWAP if swap else IngestionMode.SYNC if sync else added,
            atomic=swap or values["consistentPushEnabled"] or values["enableAtomicUpload"],
            one_to_one=sync,
            max_retries=values["consistentPushMaxRetries"],
            clear_state=values["clearConsistentPushState"],
            allow_empty=values["allowEmptySource"],
            input_dir_uri=input_uri,
            input_format=values["inputFormat"],
            include=_pattern("includeFileNamePattern", values),
            exclude=_pattern("excludeFileNamePattern", values),
            schedule=values[SCHEDULE] or values[CRON_SCHEDULE],
            output_dir_uri=output_uri,
            push_mode=values["push.mode"],
            min_replicas=values["minServingReplicas"],
            max_tasks=values["tableMaxNumTasks"],
            max_files_per_task=values["taskMaxNumFilesPerTask"],
            max_bytes_per_task=values["taskMaxDataSize"],
            segment_bytes=values["desiredSegmentSize"],
            max_segment_rows=values["maxNumRecordsPerSegment"],
            skip_unreadable=values["skipFileIfFailToInitReader"],
            purge_after_s=values["replacedSegmentsRetentionPeriod"],
            keep_versions=values["keepVersions"],
            names=SegmentNames.from_configs(_with_prefix(configs, naming.PREFIX)),
            engine=values["engine"],
            task_timeout_s=values["taskTimeoutSeconds"],
            minion_wait_s=values["minionWait"],
            concurrent_per_instance=values["numConcurrentTasksPerInstance"],
            minion_tag=values["minionInstanceTag"],
            # Paths of a lakehouse table's files mean nothing: its metadata has the values.
            hive_partitioning=values["hivePartitioning"] and values["inputFormat"] not in LAKEHOUSES,
            segment_reader=values["segmentReader"],
            rules=InputRules(
                values["inputEncoding"],
                values["maxMissingColumns"],
                values["failOnUnknownColumns"],
                values["timeZone"],
            ),
            checks=Checks(
                values["checks.minRows"],
                values["checks.maxRowsChange"],
                values["checks.mayBecomeEmpty"] or frozenset(),
                value_ranges(_with_prefix(configs, RANGE)),
            ),
            input_fs=input_fs,
            output_fs=output_fs,
            stores=stores,
            record_reader=_with_prefix(configs, RECORD_READER),
        )


def _check_references(configs: Mapping[str, str]) -> None:
    """Reject references where their values would be stored in clear text."""
    for key, value in configs.items():
        if has_reference(value) and not key.startswith((INPUT_FS, OUTPUT_FS)):
            raise ConfigError(
                f"{key} contains a reference, whose value would appear in sessions and segments",
                expected=f"references only in {INPUT_FS}* and {OUTPUT_FS}*",
                remedy="write the value itself",
            )


def _check_together(configs: Mapping[str, str], values: Mapping[str, Any]) -> None:
    """Reject keys that conflict with each other."""
    swap, sync, push = (
        values[key] for key in ("consistentPushSwapEnabled", "enableSync", "consistentPushEnabled")
    )
    if values[SCHEDULE] and values[CRON_SCHEDULE]:
        raise ConfigError(
            f"{SCHEDULE} and {CRON_SCHEDULE} are the same parameter", remedy="remove one of them"
        )
    if values["enableAtomicUpload"] and not sync:
        raise ConfigError(
            "enableAtomicUpload requires sync mode, but enableSync is not true",
            remedy="set consistentPushEnabled instead, or set enableSync as well",
        )
    if values["replaceChangedFiles"] and (swap or sync or not push):
        raise ConfigError(
            "replaceChangedFiles applies to consistent pushes that neither sync nor swap",
            expected="consistentPushEnabled set to true, without enableSync and consistentPushSwapEnabled",
            remedy="sync and swap replace changed files anyway: remove replaceChangedFiles"
            if swap or sync
            else "set consistentPushEnabled to true",
        )
    if "consistentPushMaxRetries" in configs and not (swap or push):
        raise ConfigError(
            "consistentPushMaxRetries requires consistent push",
            expected="consistentPushEnabled or consistentPushSwapEnabled set to true",
        )
    if "allowEmptySource" in configs and not (swap or sync):
        raise ConfigError(
            "allowEmptySource has no effect in append and update mode, which never remove rows",
            expected="enableSync or consistentPushSwapEnabled set to true",
        )
    if values["keepVersions"] > 1:
        _check_versions(values, is_atomic=swap or push or values["enableAtomicUpload"])
    if "inputEncoding" in configs and values["inputFormat"] not in ("csv", "json"):
        raise ConfigError(
            f"inputEncoding does not apply to {values['inputFormat']} files, whose text is always UTF-8",
            remedy="remove it",
        )
    _check_lakehouse(configs, values)
    if values["inputFormat"] == "csv":
        csv_header(_with_prefix(configs, RECORD_READER))
    if values["inputFormat"] == "orc" and _with_prefix(configs, RECORD_READER):
        raise ConfigError(
            "recordReader.prop.* does not apply to orc files, which are not read by Pinot's reader",
            remedy="remove it",
        )
    for key in _APPEND_ONLY:
        if sync and key in configs:
            raise ConfigError(
                f"{key} does not apply to sync mode, in which each file becomes one segment",
                remedy="remove it, or set enableSync to false",
            )


def _check_versions(values: Mapping[str, Any], *, is_atomic: bool) -> None:
    if not is_atomic:
        raise ConfigError(
            "keepVersions requires that a run changes the table in one step",
            expected="consistentPushEnabled or consistentPushSwapEnabled set to true",
        )
    if values["clearConsistentPushState"]:
        raise ConfigError(
            "clearConsistentPushState deletes the sessions that versions need",
            remedy="remove it, or keepVersions",
        )


def _check_lakehouse(configs: Mapping[str, str], values: Mapping[str, Any]) -> None:
    """Reject keys about files for tables, and a key about tables for files."""
    file_format, pin = values["inputFormat"], values["sourceVersion"]
    if file_format not in LAKEHOUSES:
        if pin is not None:
            raise ConfigError(
                f"sourceVersion does not apply to {file_format} files, which have no versions",
                expected="inputFormat " + " or ".join(LAKEHOUSES),
            )
        return
    for key in configs:
        if key in _FILES_ONLY or key.startswith(RECORD_READER):
            raise ConfigError(
                f"{key} does not apply to a table of the format {file_format}, which knows its files",
                remedy="remove it",
            )
    if pin is not None and file_format != ICEBERG and pin.kind in (PinKind.BRANCH, PinKind.TAG):
        raise ConfigError(
            f"sourceVersion is {pin}, and a Delta table has no {pin.kind}",
            expected="id:NUMBER or time:2026-11-29T08:00:00Z",
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
            f"{key} is read-only; see it with 'pinotctl task session show'", remedy="remove it"
        )
    names = [*_BY_KEY, *(prefix + "…" for prefix in PREFIXES)]
    folded = {name.lower(): name for name in names}
    near = difflib.get_close_matches(key.lower(), folded, n=1, cutoff=0.6)
    return ConfigError(
        f"unknown parameter {key!r} of {TASK_TYPE}",
        remedy=f"did you mean {folded[near[0]]!r}?" if near else "known parameters: " + ", ".join(names),
    )


def _with_prefix(configs: Mapping[str, str], prefix: str) -> Mapping[str, str]:
    return {key[len(prefix) :]: value for key, value in configs.items() if key.startswith(prefix)}


def _pattern(key: str, values: Mapping[str, Any]) -> PathMatcher | None:
    if values[key] is None:
        return None
    matcher = PathMatcher(values[key], key=key)
    matcher.check_reaches(listed_forms(values["inputDirURI"]))
    return matcher


def _check_uri(key: str, uri: str) -> None:
    try:
        parts = urlsplit(uri)
    except ValueError as error:  # a bracket in place of a host
        raise ConfigError(
            f"{key} is not a valid URI: {error}", expected="file:///folder or s3://bucket/folder/"
        ) from None
    if parts.scheme == "s3" and not parts.netloc:
        raise ConfigError(f"{key} does not name a bucket: {uri}", expected="s3://bucket/folder/")
    if parts.password:
        raise ConfigError(f"{key} contains a password", remedy="set credentials in input.fs.prop.* instead")
