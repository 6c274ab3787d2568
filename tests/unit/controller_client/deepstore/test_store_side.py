"""The store's side: where a tar is, and what a listing shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.common.names import TableName
from controller_client.deepstore.judge import StoredState
from controller_client.deepstore.layout import StoreLayout, shown
from controller_client.deepstore.listing import StoreListing, open_deep_store
from controller_client.deepstore.rate import RateLimit
from controller_client.errors import ConfigError, DataError
from controller_client.segment_tar import TarLimits
from tests.unit.controller_client.deepstore.samples import TABLE, crc_of, folder_layout, record, write_tar
from tests.unit.fake_clock import FakeClock

S3 = StoreLayout("s3://bucket/segments", "http://controller:9000")


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="/\x00"), min_size=1).filter(
        lambda name: name not in (".", "..")
    )
)
def test_the_written_url_points_to_the_written_object(name: str) -> None:
    for layout in (S3, StoreLayout("file:///data", "http://controller:9000")):
        assert layout.object_of(layout.url(TABLE, name)) == layout.object_uri(TABLE, name)


def test_urls_as_pinot_writes_them() -> None:
    assert S3.url(TABLE, "t__0__1__x") == "s3://bucket/segments/t/t__0__1__x"
    folder = StoreLayout("file:///data", "http://controller:9000")
    assert folder.url(TABLE, "t__0") == "http://controller:9000/segments/t/t__0"
    assert folder.object_of("http://other:1/segments/t/t__0") == "file:///data/t/t__0"
    assert folder.object_of("http://other:1/segments/t/t__0?x=/segments/../y") == "file:///data/t/t__0"
    assert folder.object_of("file:/data/t/a%20b") == "file:///data/t/a b"
    assert S3.object_of("http://controller:9000/segments/t/t__0") is None


def test_a_listing_shows_sizes_and_missing_objects(tmp_path: Path) -> None:
    size = write_tar(tmp_path / "t" / "there", name="there")
    layout = folder_layout(tmp_path)
    listing = StoreListing(layout, open_deep_store)
    there = listing.inspect(layout.url(TABLE, "there"))
    assert (there.state, there.size_bytes) == (StoredState.PRESENT, size)
    assert listing.inspect(layout.url(TABLE, "gone")).state is StoredState.ABSENT
    assert listing.inspect(layout.url(TableName("other_OFFLINE"), "gone")).state is StoredState.ABSENT
    url = layout.url(TABLE, "there")
    limits = TarLimits()
    assert not there.proven
    read = listing.read(record("there", url=url), there, tmp_path / "work", limits)
    assert read == replace(there, proven=True)
    other = listing.read(record("there", content=8, url=url), there, tmp_path / "work", limits)
    wanted = f"its tar has crc {crc_of(7, 'there')}, not {crc_of(8, 'there')}"
    assert (other.unproven, other.proven) == (wanted, False)
    small = listing.read(
        record("there", url=url), there, tmp_path / "work", TarLimits(max_tar_bytes=size - 1)
    )
    assert small.unproven is not None
    assert not (tmp_path / "work").exists()


def test_what_cannot_be_checked_is_not_called_missing(tmp_path: Path) -> None:
    unseen = folder_layout(tmp_path / "not-here")
    assert StoreListing(unseen, open_deep_store).inspect(unseen.url(TABLE, "s")).state is StoredState.UNKNOWN
    hdfs = StoreLayout("hdfs://name/segments", "http://c:1")
    assert (
        StoreListing(hdfs, open_deep_store).inspect("hdfs://name/segments/t/s").state is StoredState.UNKNOWN
    )
    assert StoreListing(S3, open_deep_store).inspect("http://c:1/segments/t/s").state is StoredState.UNKNOWN


def test_a_name_that_leaves_its_folder_is_refused() -> None:
    folder = StoreLayout("file:///data", "http://controller:9000")
    for layout in (S3, folder):
        for name in ("../x", "..", "", "a/b", "."):
            with pytest.raises(DataError):
                layout.object_uri(TABLE, name)
    assert folder.object_of("http://c:1/segments/../../etc/passwd") is None
    assert folder.object_of("http://c:1/segments/t/..%2f..%2fetc%2fpasswd") is None
    assert S3.object_of("s3://bucket/segments/../other") is None
    assert StoreListing(S3, open_deep_store).inspect("s3://bucket/a/../b").state is StoredState.UNKNOWN


@pytest.mark.parametrize(
    "url", ["http://[", "https:", "s3://[", "//[", "x y", "http://me:secret@[/a", "file:///a/.."]
)
def test_an_invalid_url_points_to_no_object(tmp_path: Path, url: str) -> None:
    for layout in (S3, StoreLayout(f"file://{tmp_path}", "http://controller:9000")):
        found = StoreListing(layout, open_deep_store).inspect(url)
        assert found.state is not StoredState.PRESENT
    assert "secret" not in record(url=url).shown_url


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://me:secret@host:1/a/b?sign=secret", "https://host:1/a/b?..."),
        ("http://host/a", "http://host/a"),
        ("s3://bucket/a", "s3://bucket/a"),
        ("", ""),
    ],
)
def test_a_url_is_shown_without_its_secrets(url: str, expected: str) -> None:
    assert shown(url) == expected
    segment = record(url=url)
    assert segment.shown_url == expected
    assert "secret" not in repr(segment)


def test_requests_are_spread_over_time(tmp_path: Path) -> None:
    clock = FakeClock()
    limit = RateLimit(10, clock)
    start = clock.monotonic()
    for _ in range(11):
        limit.wait()
    assert clock.monotonic() - start == pytest.approx(1.0)
    with pytest.raises(ConfigError):
        RateLimit(0)
