"""The S3 server of the session and a client for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from tests.support.service import HOME, Program, Service
from tests.support.slot import Port, Slot

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

# An address, not a name: Pinot's S3 client addresses buckets by path only if the host is an address.
ADDRESS = "127.0.0.41"


@dataclass(frozen=True)
class S3Access:
    """How to reach the S3 server.

    Attributes:
        endpoint: URL.
        access_key: Access key of the only user.
        secret_key: Secret key of the only user.
        region: The region in signatures.
    """

    endpoint: str
    access_key: str = "pinot-tests"
    secret_key: str = field(default="pinot-tests-secret", repr=False)
    region: str = "us-east-1"

    @property
    def task_parameters(self) -> dict[str, str]:
        """The parameters with which FileIngestionTask reads from it."""
        return {
            "input.fs.prop.region": self.region,
            "input.fs.prop.endpoint": self.endpoint,
            "input.fs.prop.accessKey": self.access_key,
            "input.fs.prop.secretKey": self.secret_key,
        }

    def client(self, *, secret_key: str | None = None) -> S3Client:
        """Return a boto3 client; the caller closes it.

        Args:
            secret_key: A secret key to use instead of the correct one.
        """
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            aws_access_key_id=self.access_key,
            aws_secret_access_key=secret_key or self.secret_key,
            region_name=self.region,
            config=Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 2}),
        )


def s3_access(slot: Slot) -> S3Access:
    """Return the access to this session's server."""
    return S3Access(f"http://{ADDRESS}:{slot.port(Port.S3)}")


def s3_service(slot: Slot) -> Service:
    """Return the server to start."""
    access = s3_access(slot)
    return Service(
        name="s3",
        program=Program.S3,
        arguments=(
            "--port",
            f"{ADDRESS}:{slot.port(Port.S3)}",
            "--region",
            access.region,
            "posix",
            f"{HOME}/data",
        ),
        is_ready=lambda: _answers(access),
        environment={"ROOT_ACCESS_KEY": access.access_key, "ROOT_SECRET_KEY": access.secret_key},
        # The folder must exist: a file in it creates it.
        files={"data/.keep": ""},
    )


def _answers(access: S3Access) -> bool:
    client = access.client()
    try:
        client.list_buckets()
    except (BotoCoreError, ClientError):
        return False
    finally:
        client.close()
    return True
