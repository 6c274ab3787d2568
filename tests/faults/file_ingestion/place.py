"""A Pinot table for the rows of the fault table, with proxies for the controller and the S3 server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.faults.file_ingestion.watched import WatchedTable
from tests.support.faulty_http import FaultyHttp
from tests.support.faulty_s3 import FaultyS3
from tests.support.staging import staging_folder

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@dataclass(frozen=True)
class S3Source:
    """A folder in a bucket, which the task accesses through the proxy."""

    client: S3Client
    bucket: str
    folder: str
    proxy: FaultyS3

    @property
    def configs(self) -> Mapping[str, str]:
        uri = f"s3://{self.bucket}/{self.folder}/"
        return {**self.proxy.access.task_parameters, "inputDirURI": uri}

    def put(self, name: str, content: str) -> None:
        self.client.put_object(Bucket=self.bucket, Key=f"{self.folder}/{name}", Body=content.encode())

    def delete(self, name: str) -> None:
        self.client.delete_object(Bucket=self.bucket, Key=f"{self.folder}/{name}")


@dataclass
class Place(WatchedTable):
    """The table and its source, behind proxies.

    Attributes:
        controller: The proxy in front of the controller.
        s3: The proxy in front of the S3 server, used by the task's runs and subtasks.
    """

    controller: FaultyHttp
    s3: FaultyS3
    bucket: str

    @property
    def prefix(self) -> str:
        """The location of the source files, as the S3 proxy names it."""
        return f"{self.bucket}/{self.table.name}"

    @property
    def staging(self) -> str:
        """The location of the table's staged segments, as the S3 proxy names it."""
        folder = staging_folder(self.pinot, self.name)
        return f"{self.pinot.deep_store_uri.removeprefix('s3://')}/{folder}"
