"""The S3 file store against a real S3 server; no Pinot."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from controller_client.errors import PinotPluginError, SourceError
from controller_client.filestore import FileStore, SourceChangedError, open_store
from tests.support.s3 import S3Access

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

pytestmark = pytest.mark.s3

NAMES = ["a b.csv", "a+b&c=d.csv", "ünïcödé/日本語 🛫.json.gz", "percent%20sign.csv", "hash#and?mark.csv"]


def properties(s3: S3Access, **changes: str) -> dict[str, str]:
    """The file system properties, as in a task configuration."""
    return {
        "region": s3.region,
        "endpoint": s3.endpoint,
        "accessKey": s3.access_key,
        "secretKey": s3.secret_key,
        **changes,
    }


@pytest.fixture
def store(s3: S3Access, s3_bucket: str) -> FileStore:
    return open_store(f"s3://{s3_bucket}/", properties(s3))


@pytest.fixture
def client(s3: S3Access) -> Iterator[S3Client]:
    client = s3.client()
    yield client
    client.close()


def test_more_than_a_page_is_listed_in_order_and_deleted(
    store: FileStore, client: S3Client, s3_bucket: str
) -> None:
    keys = [f"in/{n % 7}/{n:04d}.csv" for n in range(1003)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: client.put_object(Bucket=s3_bucket, Key=key, Body=b"x"), keys))
    client.put_object(Bucket=s3_bucket, Key="inside-not.csv", Body=b"x")
    listed = [file.uri for file in store.list(f"s3://{s3_bucket}/in")]
    assert listed == sorted(f"s3://{s3_bucket}/{key}" for key in keys)
    assert store.delete_tree(f"s3://{s3_bucket}/in") == 1003
    assert [file.uri for file in store.list(f"s3://{s3_bucket}/")] == [f"s3://{s3_bucket}/inside-not.csv"]


def test_any_key_survives_a_round_trip(
    store: FileStore, client: S3Client, s3_bucket: str, tmp_path: Path
) -> None:
    for name in NAMES:
        client.put_object(Bucket=s3_bucket, Key=f"in/{name}", Body=name.encode())
    files = {file.uri: file for file in store.list(f"s3://{s3_bucket}/in/")}
    assert set(files) == {f"s3://{s3_bucket}/in/{name}" for name in NAMES}
    for name in NAMES:
        file = files[f"s3://{s3_bucket}/in/{name}"]
        with store.local_copy(file, tmp_path) as path:
            assert path.read_bytes() == name.encode()
            assert path.name.endswith(".gz") == name.endswith(".gz"), "readers unpack by this ending"
        assert list(tmp_path.iterdir()) == []


def test_any_object_is_moved(store: FileStore, client: S3Client, s3_bucket: str) -> None:
    for name in NAMES:
        client.put_object(Bucket=s3_bucket, Key=f"in/{name}", Body=name.encode())
        assert store.move(f"s3://{s3_bucket}/in/{name}", f"s3://{s3_bucket}/out/{name}")
        assert not store.move(f"s3://{s3_bucket}/in/{name}", f"s3://{s3_bucket}/out/{name}")
        assert store.size_bytes(f"s3://{s3_bucket}/out/{name}") == len(name.encode())
    assert list(store.list(f"s3://{s3_bucket}/in")) == []


def test_a_name_too_long_for_a_file_system_is_read(
    store: FileStore, client: S3Client, s3_bucket: str, tmp_path: Path
) -> None:
    # The server stores objects in files, whose names are limited.
    client.put_object(Bucket=s3_bucket, Key="in/" + "ä" * 125 + ".csv", Body=b"x")
    (file,) = store.list(f"s3://{s3_bucket}/in/")
    with store.local_copy(file, tmp_path) as path:
        assert path.read_bytes() == b"x"


def test_an_object_replaced_after_the_listing_is_not_read(
    store: FileStore, client: S3Client, s3_bucket: str, tmp_path: Path
) -> None:
    client.put_object(Bucket=s3_bucket, Key="in/a.csv", Body=b"before")
    (file,) = store.list(f"s3://{s3_bucket}/in/")
    client.put_object(Bucket=s3_bucket, Key="in/a.csv", Body=b"behind")  # as long as before
    with pytest.raises(SourceChangedError, match=r"in/a\.csv was replaced"), store.local_copy(file, tmp_path):
        pass
    client.delete_object(Bucket=s3_bucket, Key="in/a.csv")
    with pytest.raises(SourceChangedError, match=r"in/a\.csv was removed"), store.local_copy(file, tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_missing_bucket(s3: S3Access, store: FileStore, tmp_path: Path) -> None:
    missing = "s3://there-is-no-such-bucket/in/"
    with pytest.raises(SourceError, match="NoSuchBucket") as caught:
        list(store.list(missing))
    assert missing in str(caught.value)
    assert s3.endpoint in str(caught.value)
    path = tmp_path / "x"
    path.write_bytes(b"x")
    with pytest.raises(SourceError, match="there-is-no-such-bucket"):
        store.upload(path, f"{missing}x")
    with pytest.raises(SourceError, match="there-is-no-such-bucket"):
        store.download(f"{missing}x", path)


@pytest.mark.parametrize("wrong", ["accessKey", "secretKey"])
def test_wrong_credentials_are_rejected_and_not_shown(
    s3: S3Access, s3_bucket: str, tmp_path: Path, wrong: str
) -> None:
    store = open_store(f"s3://{s3_bucket}/", properties(s3, **{wrong: "canary-value"}))
    path = tmp_path / "x"
    path.write_bytes(b"x")
    for call in (
        lambda: list(store.list(f"s3://{s3_bucket}/")),
        lambda: store.upload(path, f"s3://{s3_bucket}/x"),
        lambda: store.download(f"s3://{s3_bucket}/x", tmp_path / "y"),
        lambda: store.delete_tree(f"s3://{s3_bucket}/"),
    ):
        with pytest.raises(PinotPluginError) as caught:
            call()
        text = repr(caught.value) + str(caught.value)
        assert s3_bucket in text
        assert "check accessKey, secretKey" in text
        assert caught.value.__cause__ is None
        for secret in ("canary-value", s3.access_key, s3.secret_key):
            assert secret not in text
