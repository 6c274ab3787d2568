"""Segments are pushed to a real cluster in four ways, read back and deleted."""

from __future__ import annotations

import shutil
import tarfile
import uuid
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.errors import (
    ConflictError,
    NotFoundError,
    QueryError,
    RejectedError,
    UnsupportedError,
    WaitTimeoutError,
)
from controller_client.rest.capabilities import Capability
from controller_client.segment_tar.writer import BatchEntry, write_batch_tar
from tests.integration.controller_client.conftest import Content, Filled, content_of
from tests.support.cluster import PinotCluster
from tests.support.needs import needs
from tests.support.segments import BuiltSegment
from tests.support.tiers import FULL

pytestmark = pytest.mark.cluster


def put_into_deep_store(pinot: PinotCluster, tar: Path) -> str:
    """Put a tar in the deep store outside of the controller's folder; return its URI."""
    place = f"{pinot.deep_store_uri.rstrip('/')}/staged-{uuid.uuid4().hex}/{tar.name}"
    parts = urlsplit(place)
    if parts.scheme == "file":
        Path(parts.path).parent.mkdir(parents=True)
        shutil.copy(tar, parts.path)
    else:
        s3 = pinot.s3.client()
        s3.put_object(Bucket=parts.netloc, Key=parts.path.lstrip("/"), Body=tar.read_bytes())
        s3.close()
    return place


def test_a_tar_is_pushed_read_back_and_deleted(
    client: ControllerClient, table: str, content: Content, built: list[BuiltSegment], tmp_path: Path
) -> None:
    segment = built[0]
    client.segments.upload_tar(table, segment.tar)
    client.segments.wait_online(table, [segment.name], 300)
    content.wait([segment])
    assert client.segments.list(table) == [segment.name]

    metadata = client.segments.metadata(table, segment.name)
    assert metadata.crc == segment.crc
    assert metadata.total_docs == len(segment.rows)
    assert metadata.custom_map["input.data.file.uri"] == f"file:///{segment.name}.json"
    assert metadata.start_time == segment.rows[0]["ts"]
    assert metadata.end_time == segment.rows[-1]["ts"]
    assert metadata.time_unit == "MILLISECONDS"

    fetched = tmp_path / "fetched.tar.gz"
    assert client.segments.download(table, segment.name, fetched) == segment.tar.stat().st_size
    assert fetched.read_bytes() == segment.tar.read_bytes()

    client.segments.delete(table, [segment.name])
    client.segments.wait_gone(table, [segment.name], 300)
    content.wait([])
    assert client.segments.list(table, exclude_replaced=False) == []
    with pytest.raises(NotFoundError, match=segment.name):
        client.segments.metadata(table, segment.name)
    # The name can be reused at once.
    client.segments.upload_tar(table, segment.tar, allow_refresh=False)


@pytest.mark.parametrize("copy", [True, pytest.param(False, marks=FULL)])
def test_a_metadata_push(
    pinot: PinotCluster,
    client: ControllerClient,
    table: str,
    content: Content,
    built: list[BuiltSegment],
    copy: bool,
) -> None:
    segment = built[1]
    staged = put_into_deep_store(pinot, segment.tar)
    client.segments.push_metadata(table, segment.metadata_tar, staged, copy_to_deep_store=copy)
    client.segments.wait_online(table, [segment.name], 300)
    content.wait([segment])
    metadata = client.segments.metadata(table, segment.name)
    assert (metadata.download_url == staged) is not copy
    assert metadata.crc == segment.crc


@needs(Capability.PUSH_IN_BATCHES, raises=UnsupportedError, match="lacks metadata pushes in batches")
def test_a_batch_of_metadata_pushes(
    pinot: PinotCluster,
    client: ControllerClient,
    table: str,
    content: Content,
    built: list[BuiltSegment],
    tmp_path: Path,
) -> None:
    batch = tmp_path / "batch.tar.gz"
    staged = {segment.name: put_into_deep_store(pinot, segment.tar) for segment in built}
    entries = [BatchEntry(segment.name, staged[segment.name], segment.metadata_tar) for segment in built]
    write_batch_tar(batch, entries)
    client.segments.push_batch(table, batch)
    client.segments.wait_online(table, staged, 300)
    content.wait(built)
    for segment in built:
        metadata = client.segments.metadata(table, segment.name)
        assert metadata.crc == segment.crc
        assert metadata.download_url not in (None, staged[segment.name]), "the controller copies it"
    # The same again is a refresh, which changes nothing.
    client.segments.push_batch(table, batch)
    content.wait(built)
    with pytest.raises(NotFoundError, match="nope"):
        client.segments.push_batch(f"{table.removesuffix('_OFFLINE')}_nope_OFFLINE", batch)


def test_a_push_by_address(
    client: ControllerClient, table: str, content: Content, built: list[BuiltSegment], pinot: PinotCluster
) -> None:
    segment = built[2]
    client.segments.upload_tar(table, segment.tar)
    client.segments.wait_online(table, [segment.name], 300)
    address = f"{pinot.controller_url}/segments/{table.removesuffix('_OFFLINE')}/{segment.name}"
    # The same bytes again; the controller fetches them from its own address.
    client.segments.upload_uri(table, address)
    content.wait([segment])
    assert client.segments.metadata(table, segment.name).crc == segment.crc


def test_what_the_controller_refuses(
    client: ControllerClient, table: str, unique_table: str, built: list[BuiltSegment], tmp_path: Path
) -> None:
    tar = built[0].tar
    with pytest.raises(NotFoundError, match=f"{unique_table}_nope_OFFLINE"):
        client.segments.upload_tar(f"{unique_table}_nope_OFFLINE", tar)
    broken = tmp_path / "broken.tar.gz"
    broken.write_bytes(b"no tar")
    with pytest.raises(RejectedError):
        client.segments.upload_tar(table, broken)
    empty = tmp_path / "empty.tar.gz"
    with tarfile.open(empty, "w:gz"):
        pass
    with pytest.raises(RejectedError):
        client.segments.upload_tar(table, empty)
    client.segments.upload_tar(table, tar)
    with pytest.raises(ConflictError, match="already exists"):
        client.segments.upload_tar(table, tar, allow_refresh=False)
    client.segments.delete(table, ["no_such_segment"])
    with pytest.raises(NotFoundError):
        client.segments.download(table, "no_such_segment", tmp_path / "x")


def test_a_segment_whose_tar_is_missing_is_named(
    pinot: PinotCluster, client: ControllerClient, table: str, built: list[BuiltSegment]
) -> None:
    segment = built[3]
    nowhere = f"{pinot.deep_store_uri.rstrip('/')}/nowhere/{segment.name}.tar.gz"
    client.segments.push_metadata(table, segment.metadata_tar, nowhere, copy_to_deep_store=False)
    with pytest.raises(WaitTimeoutError, match=rf"{segment.name} (ERROR|OFFLINE|absent) on Server_"):
        client.segments.wait_online(table, [segment.name], 3)


def test_queries(pinot: PinotCluster, broker: BrokerClient, filled: Filled) -> None:
    name = filled.table.raw

    # Values are read back exactly.
    result = broker.query(f"select city, tags, n, x, price from {name} order by n limit 100")
    types = [column.data_type for column in result.columns]
    assert types == ["STRING", "STRING_ARRAY", "LONG", "DOUBLE", "BIG_DECIMAL"]
    expected = [row for segment in filled.old for row in segment.rows]
    assert len(result.rows) == len(expected)
    for (city, tags, n, x, price), row in zip(result.rows, expected, strict=True):
        # Without null handling, Pinot returns a column's default for null.
        assert city == (row["city"] or "null")
        assert (tags, n, x) == (row["tags"], row["n"], row["x"])
        assert price == Decimal(row["price"])
    assert result.stats.total_docs == content_of(filled.old)[0]

    # Some fail.
    with pytest.raises(QueryError, match="150 SQLParsingError"):
        broker.query("selec 1")
    with pytest.raises(QueryError, match="190 there is no such table"):
        broker.query("select * from no_such_table")
    with pytest.raises(QueryError, match="no_such_column"):
        broker.query(f"select no_such_column from {name}")
    assert broker.query(f"select count(*) from {name}", options={"timeoutMs": 60_000}).scalar() == 20

    # Those that leave segments out are whole.
    for sql, rows in (
        (f"select * from {name} limit 1", 1),
        (f"select * from {name} limit 0", 0),
        (f"select n from {name} where x > 0 limit 1", 1),
        (f"select n from {name} where n = 5", 1),
        (f"select n from {name} order by n limit 2", 2),
        (f"select city, count(*) from {name} group by city limit 3", 3),
    ):
        assert len(broker.query(sql).rows) == rows, sql
    assert broker.query(f"explain plan for select n from {name}").rows

    # A dead broker is passed over.
    for urls in (("http://127.0.0.1:9", pinot.broker_url), (pinot.broker_url, "http://127.0.0.1:9")):
        with BrokerClient(urls) as either:
            assert either.query(f"select count(*) from {name}").scalar() == 20
