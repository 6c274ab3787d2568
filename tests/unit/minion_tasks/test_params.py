from __future__ import annotations

from typing import Any

import pytest

from controller_client.errors import ConfigError
from minion_tasks.file_ingestion.params import PARAMETERS, FileIngestionParams, mask_secrets

SEED_SAMPLE = {
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


def test_the_seeds_sample_is_accepted() -> None:
    params = FileIngestionParams.from_configs(SEED_SAMPLE)
    assert params.input_dir_uri == "s3://bucket/folder/"
    assert params.input_format == "json"
    assert params.input_fs == {
        "region": "us-east-1",
        "secretKey": "hidden-secret",
        "accessKey": "hidden-access",
    }
    assert params.schedule == "0 */30 * * * ?"
    assert (params.max_tasks, params.max_files_per_task, params.max_bytes_per_task) == (1000, 100, 2**30)


def test_secrets_show_nowhere() -> None:
    assert "hidden" not in repr(FileIngestionParams.from_configs(SEED_SAMPLE))
    masked = mask_secrets(SEED_SAMPLE)
    assert "hidden" not in str(masked)
    assert masked["input.fs.prop.region"] == "us-east-1"


def _with(**changes: Any) -> dict[str, str]:
    configs = {**SEED_SAMPLE, **{key.replace("__", "."): value for key, value in changes.items()}}
    return {key: value for key, value in configs.items() if value is not None}


@pytest.mark.parametrize(
    ("configs", "said"),
    [
        (_with(inputDirUri="x"), "did you mean 'inputDirURI'"),
        (_with(consistentPushEnable="true"), "did you mean 'consistentPushEnabled'"),
        (_with(includeFilenamePattern="glob:x"), "did you mean 'includeFileNamePattern'"),
        (_with(somethingElse="1"), "known are"),
        (_with(inputDirURI=None), "inputDirURI is missing"),
        (_with(inputFormat=None), "inputFormat is missing"),
        (_with(inputFormat="orc"), "expected one of avro, csv, json, parquet"),
        (_with(consistentPushEnabled="yes"), "expected true or false"),
        (_with(consistentPushEnabled="false"), "consistentPushEnabled is not true"),
        (_with(consistentPushMaxRetries="3"), "consistentPushMaxRetries cannot be used"),
        (_with(tableMaxNumTasks="0"), "tableMaxNumTasks"),
        (_with(tableMaxNumTasks="many"), "tableMaxNumTasks"),
        (_with(taskMaxDataSize="big"), "taskMaxDataSize"),
        (_with(inputDirURI="gs://bucket/x"), "scheme 'gs'"),
        (_with(inputDirURI="s3:///x"), "names no bucket"),
        (_with(inputDirURI="s3://me:hidden@bucket/x"), "inputDirURI carries a password"),
        (_with(inputDirURI="ftp://me:hidden@host/x"), "inputDirURI carries a password"),
        (_with(outputDirURI="s3://me:hidden@bucket/x"), "outputDirURI carries a password"),
        (_with(outputDirURI="s3:///x"), "outputDirURI names no bucket"),
        (_with(input__fs__prop__secretkey="hidden"), "did you mean 'secretKey'"),
        (_with(output__fs__prop__accesKey="hidden", outputDirURI="s3://b/"), "did you mean 'accessKey'"),
        (_with(input__fs__prop__serverSideEncryption="hidden"), "'serverSideEncryption'"),
        (_with(input__fs__prop__endpoint="hidden"), "endpoint as a URL"),
        (_with(input__fs__prop__accessKey=None), "both or neither"),
        (_with(inputDirURI="/local/x"), "does not fit inputDirURI"),
        (_with(outputDirURI="file:///x", output__fs__className="a.S3PinotFS"), "does not fit outputDirURI"),
        (_with(includeFileNamePattern="*.csv"), "includeFileNamePattern"),
        (_with(excludeFileNamePattern="glob:["), "excludeFileNamePattern"),
        (_with(inputDirURI="  "), "it is empty"),
    ],
)
def test_a_wrong_parameter_is_named(configs: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        FileIngestionParams.from_configs(configs)
    assert said in str(caught.value)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"), [("1", 1), ("500M", 500 * 2**20), ("1.5 G", int(1.5 * 2**30)), ("2kb", 2048)]
)
def test_sizes(text: str, expected: int) -> None:
    params = FileIngestionParams.from_configs(_with(taskMaxDataSize=text))
    assert params.max_bytes_per_task == expected


def test_every_parameter_is_documented() -> None:
    assert all(parameter.doc.endswith((".", "…")) for parameter in PARAMETERS)
