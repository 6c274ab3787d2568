"""The store's side: where a tar lies, what a listing says, which crc a tar has."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.deepstore import RateLimit, StoreLayout, open_deep_store
from controller_client.deepstore.judge import StoredState
from controller_client.deepstore.listing import StoreListing
from controller_client.deepstore.tar_crc import tar_crc
from controller_client.errors import ConfigError, DataError
from tests.unit.deepstore.samples import TABLE, folder_layout, write_tar
from tests.unit.fake_clock import FakeClock

S3 = StoreLayout("s3://bucket/segments", "http://controller:9000")


@given(st.text(st.characters(codec="utf-8", exclude_characters="/\x00"), min_size=1))
def test_the_url_that_is_written_leads_to_the_object_that_is_written(name: str) -> None:
    for layout in (S3, StoreLayout("file:///data", "http://controller:9000")):
        assert layout.object_of(layout.url(TABLE, name)) == layout.object_uri(TABLE, name)


def test_urls_as_pinot_writes_them() -> None:
    assert S3.url(TABLE, "t__0__1__x") == "s3://bucket/segments/t/t__0__1__x"
    folder = StoreLayout("file:///data", "http://controller:9000")
    assert folder.url(TABLE, "t__0") == "http://controller:9000/segments/t/t__0"
    assert folder.object_of("http://other:1/segments/t/t__0") == "file:///data/t/t__0"
    assert folder.object_of("file:/data/t/a%20b") == "file:///data/t/a b"
    assert S3.object_of("http://controller:9000/segments/t/t__0") is None


def test_a_listing_tells_sizes_and_what_is_missing(tmp_path: Path) -> None:
    size = write_tar(tmp_path / "t" / "there", crc=7)
    layout = folder_layout(tmp_path)
    listing = StoreListing(layout, open_deep_store)
    there = listing.look(layout.url(TABLE, "there"))
    assert (there.state, there.size_bytes) == (StoredState.PRESENT, size)
    assert listing.look(layout.url(TABLE, "gone")).state is StoredState.ABSENT
    assert listing.look(layout.url("other_OFFLINE", "gone")).state is StoredState.ABSENT
    assert listing.read(layout.url(TABLE, "there"), there, tmp_path / "work").crc == 7
    assert not (tmp_path / "work").exists()


def test_what_cannot_be_looked_at_is_not_called_missing(tmp_path: Path) -> None:
    unseen = folder_layout(tmp_path / "not-here")
    assert StoreListing(unseen, open_deep_store).look(unseen.url(TABLE, "s")).state is StoredState.UNKNOWN
    hdfs = StoreLayout("hdfs://name/segments", "http://c:1")
    assert StoreListing(hdfs, open_deep_store).look("hdfs://name/segments/t/s").state is StoredState.UNKNOWN
    assert StoreListing(S3, open_deep_store).look("http://c:1/segments/t/s").state is StoredState.UNKNOWN


def test_a_tar_that_is_cut_short_or_something_else_has_no_crc(tmp_path: Path) -> None:
    tar = tmp_path / "s.tar.gz"
    write_tar(tar, crc=-5, padding=100_000)
    assert tar_crc(tar) == -5
    whole = tar.read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"no tar", whole[:5]):
        tar.write_bytes(content)
        with pytest.raises(DataError):
            tar_crc(tar)


def test_requests_are_spread(tmp_path: Path) -> None:
    clock = FakeClock()
    limit = RateLimit(10, clock)
    start = clock.monotonic()
    for _ in range(11):
        limit.wait()
    assert clock.monotonic() - start == pytest.approx(1.0)
    with pytest.raises(ConfigError):
        RateLimit(0)
