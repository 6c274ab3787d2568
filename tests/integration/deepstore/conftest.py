from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from controller_client.zookeeper import PropertyStore
from pinotctl.root import cli
from tests.integration.deepstore.peer_table import PeerTable
from tests.support.cluster import PinotCluster
from tests.support.faulty_s3 import faulty_s3
from tests.support.kafka import Kafka
from tests.support.s3 import S3Access

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

__all__ = ["Audit", "MakeTable", "Run", "faulty_s3"]

MakeTable = Callable[..., PeerTable]
Run = Callable[..., Result]
Audit = Callable[..., dict[str, set[str]]]


@pytest.fixture
def run(pinot: PinotCluster) -> Run:
    """Runs pinotctl in this process, and checks that its output does not contain the store's secret.

    The exit code must be ``code``; None for 0 or 1.
    """

    def invoke(*arguments: object, code: int | None = 0) -> Result:
        env = {"PINOT_CONTROLLER_URL": pinot.controller_url, "PINOTCTL_CONFIG": "/no/such/file"}
        result = CliRunner().invoke(cli, [str(each) for each in arguments], env=env)
        assert result.exit_code in ((0, 1) if code is None else (code,)), result.output
        assert pinot.s3.secret_key not in result.output
        return result

    return invoke


@pytest.fixture
def audit(run: Run) -> Audit:
    """Runs the command that audits a table; returns the segments with each fault.

    Commits by servers have no size of the tar in most versions of Pinot, so their tars must be read.
    """

    def run_audit(table: str, *options: str, read_tars: bool = True) -> dict[str, set[str]]:
        reading = ["--read-tars"] if read_tars else []
        answer = run("deepstore", "audit", table, "--output", "json", *reading, *options, code=None)
        document: dict[str, Any] = json.loads(answer.stdout)
        found: dict[str, set[str]] = {}
        for each in document["tables"][0]["faulty"]:
            for finding in each["findings"]:
                found.setdefault(finding["fault"], set()).add(each["segment"])
        assert answer.exit_code == bool(found), answer.output
        return found

    return run_audit


@pytest.fixture
def store(pinot: PinotCluster) -> Iterator[PropertyStore]:
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        yield store


@pytest.fixture
def s3_client(s3: S3Access) -> Iterator[S3Client]:
    with closing(s3.client()) as client:
        yield client


@pytest.fixture
def make_table(
    pinot: PinotCluster, kafka: Kafka, s3_client: S3Client, store: PropertyStore
) -> Iterator[MakeTable]:
    """Makes realtime tables on both servers, dropped after the test."""
    with ExitStack() as at_end:
        client = at_end.enter_context(pinot.client())
        broker = at_end.enter_context(pinot.broker())

        def make(*, partitions: int, peers: bool = True, closed: bool = True) -> PeerTable:
            table = PeerTable(pinot, kafka, client, broker, store, partitions)
            table.s3, table.peers = s3_client, peers
            at_end.callback(table.drop)
            if closed:
                table.close_store()
                at_end.callback(table.open_store)
            # Pinot divides the number of rows by the number of partitions.
            table.create(replicas=2, rows_per_segment=10 * partitions)
            return table

        yield make
