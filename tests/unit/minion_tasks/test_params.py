from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from controller_client.common.names import TableName
from controller_client.common.redaction import masked
from controller_client.errors import ConfigError
from minion_tasks.file_ingestion.params.parameters import PARAMETERS, PREFIXES
from minion_tasks.file_ingestion.params.registration import offline_table
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.session.model import IngestionMode
from minion_tasks.file_ingestion.session.naming import SegmentNames

SAMPLE = {
    "input.fs.className": "org.apache.pinot.plugin.filesystem.S3PinotFS",
    "input.fs.prop.region": "us-east-1",
    "input.fs.prop.secretKey": "hidden-secret",
    "input.fs.prop.accessKey": "hidden-access",
    "inputDirURI": "s3://bucket/folder/",
    "inputFormat": "json",
    "includeFileNamePattern": "glob:**/*.json.gz",
    "consistentPushEnabled": "true",
    "schedule": "0 */30 * * * ?",
}
INT_MAX = 2**31 - 1
LOCAL = {"input.fs.className": None}


def test_a_typical_configuration_is_accepted() -> None:
    params = FileIngestionParams.from_configs(SAMPLE)
    assert params.input_dir_uri == "s3://bucket/folder/"
    assert params.input_format == "json"
    assert params.input_fs == {
        "region": "us-east-1",
        "secretKey": "hidden-secret",
        "accessKey": "hidden-access",
    }
    assert params.schedule == "0 */30 * * * ?"
    assert (params.mode, params.atomic, params.max_retries) == (IngestionMode.APPEND, True, 0)


def test_defaults() -> None:
    expected = {
        "mode": IngestionMode.APPEND,
        "atomic": False,
        "one_to_one": False,
        "max_retries": 0,
        "clear_state": False,
        "allow_empty": False,
        "skip_unreadable": False,
        "include": None,
        "exclude": None,
        "schedule": None,
        "output_dir_uri": None,
        "push_mode": "METADATA",
        "segment_reader": "auto",
        "names": SegmentNames(),
        "max_tasks": 1000,
        "max_files_per_task": 100,
        "max_bytes_per_task": 2**30,
        "segment_bytes": 500 * 2**20,
        "max_segment_rows": 5_000_000,
        "purge_after_s": 3600,
        "task_timeout_s": 3600,
        "concurrent_per_instance": 2,
        "minion_tag": "pinot_plugins_minion",
        "input_fs": {},
        "output_fs": {},
        "record_reader": {},
    }
    params = FileIngestionParams.from_configs({"inputDirURI": "file:///in", "inputFormat": "csv"})
    assert {name: getattr(params, name) for name in expected} == expected


def test_secrets_show_nowhere() -> None:
    assert "hidden" not in repr(FileIngestionParams.from_configs(SAMPLE))
    shown = masked(SAMPLE)
    assert "hidden" not in str(shown)
    assert shown["input.fs.prop.region"] == "us-east-1"


def _with(**changes: Any) -> dict[str, str]:
    configs = {**SAMPLE, **{key.replace("__", "."): value for key, value in changes.items()}}
    return {key: value for key, value in configs.items() if value is not None}


@pytest.mark.parametrize(
    ("changes", "attribute", "expected"),
    [
        ({"tableMaxNumTasks": "-1"}, "max_tasks", None),
        ({"tableMaxNumTasks": " 7 "}, "max_tasks", 7),
        ({"taskMaxNumFilesPerTask": "3"}, "max_files_per_task", 3),
        ({"consistentPushMaxRetries": str(INT_MAX)}, "max_retries", INT_MAX),
        ({"consistentPushMaxRetries": "0"}, "max_retries", 0),
        ({"clearConsistentPushState": "True"}, "clear_state", True),
        ({"desiredSegmentSize": "2M"}, "segment_bytes", 2 * 2**20),
        ({"maxNumRecordsPerSegment": "9"}, "max_segment_rows", 9),
        ({"skipFileIfFailToInitReader": "true"}, "skip_unreadable", True),
        ({}, "engine", None),
        ({"engine": "Spark"}, "engine", "spark"),
        ({"replacedSegmentsRetentionPeriod": "0s"}, "purge_after_s", 0),
        ({"replacedSegmentsRetentionPeriod": "30m"}, "purge_after_s", 1800),
        ({"replacedSegmentsRetentionPeriod": " 2 D "}, "purge_after_s", 2 * 86400),
        ({"push__mode": "tar"}, "push_mode", "TAR"),
        ({"segmentReader": "PINOT"}, "segment_reader", "pinot"),
        ({"recordReader__prop__delimiter": "|"}, "record_reader", {"delimiter": "|"}),
        ({"segmentNameGenerator__type": "Simple"}, "names", SegmentNames()),
        (
            {
                "segmentNameGenerator__configs__segment__name__prefix": "p",
                "segmentNameGenerator__configs__segment__name__postfix": "q",
            },
            "names",
            SegmentNames("p", "q"),
        ),
    ],
)
def test_a_key_that_is_set(changes: dict[str, str], attribute: str, expected: object) -> None:
    assert getattr(FileIngestionParams.from_configs(_with(**changes)), attribute) == expected


@pytest.mark.parametrize(
    ("push", "swap", "sync", "upload", "expected"),
    [
        (None, None, None, None, (IngestionMode.APPEND, False, False)),
        ("true", None, None, None, (IngestionMode.APPEND, True, False)),
        (None, None, "true", None, (IngestionMode.SYNC, False, True)),
        ("true", None, "true", None, (IngestionMode.SYNC, True, True)),
        (None, None, "true", "true", (IngestionMode.SYNC, True, True)),
        ("false", None, "true", "true", (IngestionMode.SYNC, True, True)),
        (None, "true", None, None, (IngestionMode.SWAP, True, False)),
        ("false", "true", None, None, (IngestionMode.SWAP, True, False)),
        ("true", "true", "true", None, (IngestionMode.SWAP, True, True)),
    ],
)
def test_the_mode(
    push: str | None,
    swap: str | None,
    sync: str | None,
    upload: str | None,
    expected: tuple[IngestionMode, bool, bool],
) -> None:
    params = FileIngestionParams.from_configs(
        _with(
            consistentPushEnabled=push,
            consistentPushSwapEnabled=swap,
            enableSync=sync,
            enableAtomicUpload=upload,
        )
    )
    assert (params.mode, params.atomic, params.one_to_one) == expected


def test_update_mode() -> None:
    given = _with(consistentPushEnabled="true", replaceChangedFiles="true")
    params = FileIngestionParams.from_configs(given)
    assert (params.mode, params.atomic, params.one_to_one) == (IngestionMode.UPDATE, True, False)


@pytest.mark.parametrize(
    ("configs", "expected"),
    [
        (_with(inputDirUri="x"), "did you mean 'inputDirURI'"),
        (_with(consistentPushEnable="true"), "did you mean 'consistentPushEnabled'"),
        (_with(includeFilenamePattern="glob:x"), "did you mean 'includeFileNamePattern'"),
        (_with(somethingElse="1"), "known parameters: "),
        (_with(retryCount="1"), "retryCount is read-only"),
        (_with(state="DONE"), "state is read-only"),
        (_with(inputDirURI=None), "inputDirURI is missing"),
        (_with(inputFormat=None), "inputFormat is missing"),
        (_with(inputFormat="xml"), "expected one of avro, csv, delta, iceberg, json, orc, parquet"),
        (_with(inputFormat="orc", recordReader__prop__delimiter="|"), "does not apply to orc files"),
        (
            _with(inputFormat="csv", recordReader__prop__header="a,,b"),
            "header is not a list of names: 'a,,b'",
        ),
        (_with(consistentPushEnabled="yes"), "expected true or false"),
        (_with(consistentPushSwapEnabled="1"), "consistentPushSwapEnabled is '1': expected true or false"),
        (_with(clearConsistentPushState=""), "clearConsistentPushState is '': expected true or false"),
        (_with(enableSync="on"), "enableSync is 'on'"),
        (_with(enableSync="true", enableAtomicUpload="-"), "enableAtomicUpload is '-'"),
        (_with(engine="flink"), "engine is 'flink': expected one of minion, spark"),
        (_with(skipFileIfFailToInitReader="no"), "skipFileIfFailToInitReader is 'no'"),
        (_with(consistentPushMaxRetries=str(INT_MAX + 1)), f"from 0 to {INT_MAX}"),
        (_with(consistentPushMaxRetries="-1"), f"from 0 to {INT_MAX}"),
        (_with(consistentPushMaxRetries="1.5"), f"from 0 to {INT_MAX}"),
        (_with(tableMaxNumTasks="0"), "tableMaxNumTasks"),
        (_with(tableMaxNumTasks="-2"), "tableMaxNumTasks"),
        (_with(tableMaxNumTasks="many"), "tableMaxNumTasks"),
        (_with(taskMaxNumFilesPerTask="-1"), "taskMaxNumFilesPerTask is '-1'"),
        (_with(taskMaxDataSize="big"), "taskMaxDataSize"),
        (_with(taskMaxDataSize="0"), "expected a size greater than 0"),
        (_with(desiredSegmentSize="5 apples"), "desiredSegmentSize"),
        (_with(desiredSegmentSize="-5M"), "desiredSegmentSize"),
        (_with(maxNumRecordsPerSegment="0"), "maxNumRecordsPerSegment"),
        (_with(replacedSegmentsRetentionPeriod="60"), "replacedSegmentsRetentionPeriod is '60'"),
        (_with(replacedSegmentsRetentionPeriod="1w"), "replacedSegmentsRetentionPeriod is '1w'"),
        (_with(taskTimeoutSeconds="0"), "taskTimeoutSeconds"),
        (_with(numConcurrentTasksPerInstance="0"), "numConcurrentTasksPerInstance"),
        (_with(push__mode="URI"), "push.mode is 'URI': expected one of METADATA, BATCH, TAR"),
        (_with(minionInstanceTag=" "), "minionInstanceTag is ' ': it is empty"),
        (_with(segmentReader="java"), "segmentReader is 'java'"),
        (_with(inputDirURI="oss://bucket/x"), "scheme 'oss'"),
        (_with(inputDirURI="s3:///x"), "does not name a bucket"),
        (_with(inputDirURI="s3://me:hidden@bucket/x"), "inputDirURI contains a password"),
        (_with(inputDirURI="ftp://me:hidden@host/x"), "inputDirURI contains a password"),
        (_with(outputDirURI="s3://me:hidden@bucket/x"), "outputDirURI contains a password"),
        (_with(outputDirURI="s3:///x"), "outputDirURI does not name a bucket"),
        (_with(input__fs__prop__secretkey="hidden"), "did you mean secretKey"),
        (_with(output__fs__prop__accesKey="hidden", outputDirURI="s3://b/"), "did you mean accessKey"),
        (_with(input__fs__prop__serverSideEncryption="hidden"), "'serverSideEncryption'"),
        (_with(input__fs__prop__endpoint="hidden"), "an endpoint with http://"),
        (_with(input__fs__prop__accessKey=None), "both or neither"),
        (_with(inputDirURI="/local/x"), "does not match inputDirURI"),
        (_with(outputDirURI="file:///x", output__fs__className="a.S3PinotFS"), "does not match outputDirURI"),
        (_with(inputDirURI="data/in", input__fs__className=None), "inputDirURI is a relative path: data/in"),
        (_with(inputDirURI="file:in", input__fs__className=None), "inputDirURI is a relative path: file:in"),
        (_with(outputDirURI="staging"), "outputDirURI is a relative path: staging"),
        (_with(inputDirURI="file://host/in", input__fs__className=None), "contains the host 'host'"),
        (_with(inputDirURI="file://[in"), "inputDirURI is not a valid URI"),
        (_with(includeFileNamePattern="*.csv"), "includeFileNamePattern"),
        (_with(includeFileNamePattern="glob:*.csv"), "did you mean 'glob:**/*.csv'"),
        (_with(excludeFileNamePattern="glob:s3://bucket/folder/*"), "cannot match any file in s3:/bucket/"),
        (_with(excludeFileNamePattern="glob:["), "excludeFileNamePattern"),
        (_with(inputDirURI="  "), "it is empty"),
        (_with(segmentNameGenerator__type="inputFile"), "segmentNameGenerator.type is 'inputFile'"),
        (_with(segmentNameGenerator__configs__x="1"), "'segmentNameGenerator.configs.x'"),
        (_with(segmentNameGenerator__configs__segment__name__prefix="a/b"), "segment.name.prefix is 'a/b'"),
        (_with(segmentNameGenerator__configs__segment__name__postfix=""), "segment.name.postfix is ''"),
        # Keys that conflict with each other.
        (_with(replaceChangedFiles="true", consistentPushEnabled=None), "set consistentPushEnabled to true"),
        (_with(replaceChangedFiles="true", enableSync="true"), "replace changed files anyway"),
        (_with(enableAtomicUpload="true"), "enableAtomicUpload requires sync mode"),
        (_with(consistentPushEnabled=None, keepVersions="2"), "keepVersions requires that a run changes"),
        (_with(keepVersions="2", clearConsistentPushState="true"), "deletes the sessions that versions need"),
        (_with(keepVersions="0"), "keepVersions is '0'"),
        (
            _with(consistentPushEnabled=None, consistentPushMaxRetries="3"),
            "consistentPushMaxRetries requires consistent push",
        ),
        (
            _with(consistentPushEnabled="false", consistentPushMaxRetries="0"),
            "consistentPushMaxRetries requires consistent push",
        ),
        (
            _with(
                consistentPushEnabled=None,
                enableSync="true",
                enableAtomicUpload="true",
                consistentPushMaxRetries="3",
            ),
            "consistentPushMaxRetries requires consistent push",
        ),
        (_with(allowEmptySource="true"), "allowEmptySource has no effect in append and update mode"),
        (_with(timeZone="Europe/Berln"), "did you mean Europe/Berlin?"),
        (_with(timeZone="+01:00"), "expected a time zone"),
        (_with(timeZone="../etc/passwd"), "expected a time zone"),
        (_with(enableSync="true", desiredSegmentSize="1M"), "desiredSegmentSize does not apply to sync mode"),
        (
            _with(enableSync="true", maxNumRecordsPerSegment="1"),
            "maxNumRecordsPerSegment does not apply to sync mode",
        ),
    ],
)
def test_an_invalid_parameter_is_named(configs: dict[str, str], expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        FileIngestionParams.from_configs(configs)
    assert expected in str(caught.value)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"consistentPushMaxRetries": "3"},
        {"consistentPushEnabled": None, "consistentPushSwapEnabled": "true", "consistentPushMaxRetries": "3"},
        {"enableSync": "true", "consistentPushMaxRetries": "3"},
        {"consistentPushSwapEnabled": "true", "desiredSegmentSize": "1M"},
        {"enableSync": "false", "maxNumRecordsPerSegment": "1"},
        {"enableAtomicUpload": "false"},
        {"enableSync": "true", "allowEmptySource": "true"},
        {"consistentPushSwapEnabled": "true", "allowEmptySource": "false"},
        {"includeFileNamePattern": "glob:s3:/bucket/folder/*", "inputDirURI": "S3://bucket/folder"},
        {"includeFileNamePattern": "glob:/my in/*", "inputDirURI": "file:///my%20in", **LOCAL},
        {"includeFileNamePattern": "glob:/my%20in/*", "inputDirURI": "/my%20in/", **LOCAL},
    ],
)
def test_keys_that_can_be_combined(changes: dict[str, str | None]) -> None:
    FileIngestionParams.from_configs(_with(**changes))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1", 1), ("500M", 500 * 2**20), ("1.5 G", int(1.5 * 2**30)), ("2kb", 2048), ("3B", 3), ("1t", 2**40)],
)
def test_sizes(text: str, expected: int) -> None:
    params = FileIngestionParams.from_configs(_with(taskMaxDataSize=text))
    assert params.max_bytes_per_task == expected


@pytest.mark.parametrize("name", ["UTC", " Europe/Berlin ", "America/Argentina/Ushuaia", "Etc/GMT+5"])
def test_time_zones(name: str) -> None:
    assert FileIngestionParams.from_configs(_with(timeZone=name)).rules.time_zone == name.strip()
    assert FileIngestionParams.from_configs(_with()).rules.time_zone == "UTC"


def test_a_realtime_table_is_refused() -> None:
    realtime = TableName("t_REALTIME")
    client: Any = SimpleNamespace(tables=SimpleNamespace(exists=lambda name: name == realtime))
    for name in ("t", "t_REALTIME"):
        with pytest.raises(ConfigError, match=f"{name} is a realtime table"):
            offline_table(client, name)


def test_every_parameter_is_documented() -> None:
    assert all(parameter.doc.endswith((".", "…")) for parameter in PARAMETERS)


def test_a_schedule_has_two_keys_of_which_one_may_be_set() -> None:
    assert (
        FileIngestionParams.from_configs(_with(schedule=None, cronSchedule="0 0 * * * ?")).schedule
        == "0 0 * * * ?"
    )
    with pytest.raises(ConfigError, match="schedule and cronSchedule are the same parameter"):
        FileIngestionParams.from_configs(_with(cronSchedule="0 0 * * * ?"))


DOCUMENT = Path(__file__).parents[3] / "docs" / "file-ingestion.md"


def _rows() -> list[str]:
    rows = []
    for parameter in PARAMETERS:
        default = "required" if parameter.required else f"`{parameter.default}`" if parameter.default else ""
        rows.append(f"| `{parameter.key}` | {default} | {parameter.doc} |")
    rows.extend(f"| `{prefix}*` |  | {doc} |" for prefix, doc in PREFIXES.items())
    return rows


def test_the_table_of_parameters_matches_the_code() -> None:
    lines = DOCUMENT.read_text(encoding="utf-8").splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("<!-- parameters:"))
    end = lines.index("<!-- end of parameters -->")
    assert lines[start + 3 : end] == _rows(), "update the page with these lines:\n" + "\n".join(_rows())
