"""Ingestion from S3 with a typical configuration: rows exactly once, staging empty, secrets hidden."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.params.registration import register_task
from tests.integration.file_ingestion.ingestion import IngestionTable, Ran, ended, start_pinotctl
from tests.integration.file_ingestion.secrecy import SECRETS, assert_hidden
from tests.support.cluster import PinotCluster
from tests.support.s3 import S3Access
from tests.support.staging import staging_folder
from tests.support.tiers import FULL

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

pytestmark = [pytest.mark.cluster, pytest.mark.s3]

ROWS = 100
KEYS = ["plain", "with space", "ünïcödé 日本語", "sub folder/a+b&c=d", "percent%20sign", "a#1?x=2"]


@pytest.fixture
def client(s3: S3Access) -> Iterator[S3Client]:
    client = s3.client()
    yield client
    client.close()


class Source:
    """JSON lines in ``in/`` of a bucket, and the task that ingests them."""

    def __init__(self, s3: S3Access, client: S3Client, bucket: str, table: IngestionTable) -> None:
        self.bucket = bucket
        self.table = table
        self.rows = 0
        self._s3 = s3
        self._client = client

    def put(self, name: str) -> None:
        ids = range(self.rows, self.rows + ROWS)
        lines = (json.dumps({"id": n, "word": f"w {n % 7} ü", "amount": n / 4}) + "\n" for n in ids)
        body = gzip.compress("".join(lines).encode())
        self._client.put_object(Bucket=self.bucket, Key=f"in/{name}.json.gz", Body=body)
        self.rows += ROWS

    def register(self, **changes: str) -> None:
        """A typical configuration, with the endpoint of this server."""
        self.table.configs = {
            "input.fs.className": "org.apache.pinot.plugin.filesystem.S3PinotFS",
            **self._s3.task_parameters,
            "inputDirURI": f"s3://{self.bucket}/in/",
            "inputFormat": "json",
            "includeFileNamePattern": "glob:**/*.json.gz",
            "consistentPushEnabled": "true",
            "schedule": "0 0 0 1 1 ? 2099",  # never due: schedulers of other tests see it
            "desiredSegmentSize": "1",  # a segment for each file
            **{key.replace("__", "."): value for key, value in changes.items()},
        }
        register_task(self.table.client.tables, self.table.with_type, self.table.configs)

    def keys(self, bucket: str, prefix: str = "") -> list[str]:
        answer = self._client.list_objects_v2(Bucket=bucket, Prefix=prefix)
        assert not answer["IsTruncated"]
        return [item["Key"] for item in answer.get("Contents", [])]

    def assert_served_once(self, pinot: PinotCluster, segments: int) -> None:
        """Check that every row is there once and every segment is in the controller's deep store."""
        self.table.wait_count(self.rows)
        assert self.table.value("select distinctcount(id) from {t}") == self.rows
        assert self.table.value("select sum(id) from {t}") == sum(range(self.rows))
        uris = download_urls(pinot, self.table)
        assert len(uris) == segments
        for name, uri in uris.items():
            assert uri.startswith(f"{pinot.deep_store_uri}/{self.table.name}/{name}"), uri
        stored = self.keys("deep-store", f"segments/{self.table.name}/")
        assert len(stored) == segments
        staging = staging_folder(pinot, self.table.with_type)
        assert self.keys("deep-store", f"segments/{staging}/") == []


def download_urls(pinot: PinotCluster, table: IngestionTable) -> Mapping[str, str]:
    names = table.segments()
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        found = store.get_many([f"/SEGMENTS/{table.with_type}/{name}" for name in names])
    urls = {}
    for name, versioned in zip(names, found, strict=True):
        assert versioned is not None
        urls[name] = versioned.record.simple_fields["segment.download.url"]
    return urls


@pytest.fixture
def source(s3: S3Access, client: S3Client, s3_bucket: str, ingestion_table: IngestionTable) -> Source:
    return Source(s3, client, s3_bucket, ingestion_table.create())


def test_a_typical_configuration(pinot: PinotCluster, source: Source, s3: S3Access) -> None:
    for key in KEYS:
        source.put(key)
    source.register()
    first = source.table.run()
    assert first.report["rows"] == len(KEYS) * ROWS
    source.assert_served_once(pinot, len(KEYS))
    source.put("added later")
    second = source.table.run()
    assert (second.report["files"], second.report["rows"]) == (1, ROWS)
    source.assert_served_once(pinot, len(KEYS) + 1)
    assert source.keys(source.bucket) == sorted(source.keys(source.bucket, "in/"))
    refused = _bad_access(source)
    source.assert_served_once(pinot, len(KEYS) + 1)
    assert_hidden(pinot, source.table, [first, second, *refused], [*SECRETS.values(), s3.secret_key])


def _bad_access(source: Source) -> list[Ran]:
    """Check that wrong credentials and a missing bucket are named; return the runs."""
    source.register(**SECRETS)
    refused = ended(start_pinotctl(source.table.controller_url, "-vv", "task", "run", source.table.name))
    assert refused.code == 1, refused
    for text in (f"s3://{source.bucket}/in/", "refused to list", "check accessKey, secretKey"):
        assert text in refused.err
    source.register(inputDirURI="s3://there-is-no-such-bucket/in/")
    missing = source.table.run()
    assert missing.code == 1, missing
    for text in ("s3://there-is-no-such-bucket/in/", "NoSuchBucket", "create the bucket"):
        assert text in missing.err
    return [refused, missing]


@FULL
def test_staging_in_another_bucket(pinot: PinotCluster, source: Source, client: S3Client) -> None:
    staging = f"{source.bucket}-staging"
    client.create_bucket(Bucket=staging)
    try:
        for number, folder in enumerate(["staging/", "a folder/ü"], start=1):
            source.put(f"{number}")
            source.register(outputDirURI=f"s3://{staging}/{folder}")
            ran = source.table.run()
            assert ran.report["rows"] == ROWS
            assert "uploaded through the controller" not in ran.err
            source.assert_served_once(pinot, number)
            assert source.keys(staging) == []
    finally:
        client.delete_bucket(Bucket=staging)


def test_staging_in_a_local_folder(pinot: PinotCluster, source: Source, tmp_path: Path) -> None:
    source.put("a")
    source.put("b")
    staging = tmp_path / "staging"
    source.register(outputDirURI=f"file://{staging}")
    ran = source.table.run()
    assert ran.report["rows"] == 2 * ROWS
    assert "uploaded through the controller" in ran.err
    source.assert_served_once(pinot, 2)
    assert [path for path in staging.rglob("*") if path.is_file()] == []
