"""Late uploads: moved to their final URI and registered if the segment needs them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from controller_client.common.names import TableName
from controller_client.zookeeper import ZNRecord, segment_path
from server_hooks.commit_upload.registering import (
    LateUpload,
    Registered,
    is_needed,
    move_to_final_uri,
    register,
)
from tests.unit.controller_client.deepstore.samples import crc_of
from tests.unit.memory_zookeeper import MemoryPropertyStore, memory_store
from tests.unit.server_hooks.commit_upload.fake_store import FakeStore

NAME = "t__0__0__x"
CRC = crc_of(7, NAME)
HOME = f"s3://b/c/t/{NAME}"
FIRST = f"{HOME}.tmp.1"
LATE = LateUpload("t", NAME, HOME, HOME, 10, CRC)


def records_with(fields: dict[str, str] | None) -> tuple[MemoryPropertyStore, Callable[[str], str | None]]:
    """Return a store with the segment's record, unless it is None, and a function that reads its fields."""
    records, _ = memory_store()
    path = segment_path(TableName("t_REALTIME"), NAME)
    if fields is not None:
        records.create(path, ZNRecord(NAME, {"segment.realtime.status": "DONE", **fields}))

    def field(name: str) -> str | None:
        found = records.get(path)
        return found.record.simple_fields.get(name) if found else None

    return records, field


@pytest.mark.parametrize(
    ("fields", "outcome", "url"),
    [
        ({"segment.realtime.status": "IN_PROGRESS"}, Registered.NOT_YET, None),
        ({"segment.realtime.status": "COMMITTING"}, Registered.NOT_YET, None),
        ({"segment.crc": str(CRC), "segment.download.url": ""}, Registered.DONE, LATE.uri),
        ({"segment.crc": str(CRC), "segment.download.url": LATE.uri}, Registered.DONE, LATE.uri),
        ({"segment.crc": str(CRC), "segment.download.url": "s3://o"}, Registered.OTHER, "s3://o"),
        ({"segment.crc": "1", "segment.download.url": ""}, Registered.OTHER, ""),
        (None, Registered.GONE, None),
    ],
)
def test_the_url_is_written_only_to_a_record_with_the_same_content(
    fields: dict[str, str] | None, outcome: Registered, url: str | None
) -> None:
    records, field = records_with(fields)
    assert register(records, LATE) == outcome
    assert field("segment.download.url") == url


def test_a_concurrent_change_is_kept() -> None:
    records, field = records_with({"segment.crc": str(CRC)})
    once = iter([True])

    def with_x(record: ZNRecord | None) -> ZNRecord:
        assert record is not None
        return replace(record, simple_fields={**record.simple_fields, "x": "1"})

    def other_writer(_path: str) -> None:
        if next(once, False):
            records.change(segment_path(TableName("t_REALTIME"), NAME), with_x)

    records.zookeeper.before_set = other_writer
    assert register(records, LATE) == Registered.DONE
    assert (field("x"), field("segment.download.url")) == ("1", LATE.uri)


@pytest.mark.parametrize(("size", "expected"), [({}, "10"), ({"segment.size.in.bytes": "700"}, "700")])
def test_an_existing_size_is_kept_and_a_missing_one_is_set_from_the_tar(
    size: dict[str, str], expected: str
) -> None:
    records, field = records_with({"segment.crc": str(CRC), **size})
    assert register(records, LATE) == Registered.DONE
    assert field("segment.size.in.bytes") == expected


@pytest.mark.parametrize(
    ("fields", "outcome"),
    [
        ({"segment.crc": str(CRC)}, Registered.DONE),
        ({"segment.crc": str(CRC), "segment.realtime.status": "COMMITTING"}, Registered.NOT_YET),
        ({"segment.crc": str(CRC), "segment.download.url": "s3://o"}, Registered.OTHER),
        ({"segment.crc": "1"}, Registered.OTHER),
        (None, Registered.GONE),
    ],
)
def test_a_late_upload_is_moved_to_its_final_uri_if_the_segment_needs_it(
    fields: dict[str, str] | None, outcome: Registered
) -> None:
    records, _ = records_with(fields)
    store = FakeStore()
    store.taken[FIRST] = b"late"
    late = replace(LATE, uri=FIRST)
    moved = outcome is Registered.DONE
    found = move_to_final_uri(records, store, late, lambda _uri: 1)
    assert found == (LATE if moved else late, outcome)
    assert store.taken == {found[0].uri: b"late"}
    assert move_to_final_uri(records, store, found[0], lambda _uri: 1) == found
    assert is_needed(records, late) == (outcome in (Registered.DONE, Registered.NOT_YET))


@pytest.mark.parametrize("same", [True, False])
def test_an_object_at_the_final_uri_counts_as_the_upload_only_if_it_has_the_same_content(same: bool) -> None:
    """As after a kill between the move and the registration, or after a repair of the same segment."""
    records, field = records_with({"segment.crc": str(CRC)})
    store, late = FakeStore(), replace(LATE, uri=FIRST)
    store.taken.update({HOME: b"there before", FIRST: b"late"})
    found = move_to_final_uri(records, store, late, {HOME: CRC if same else 1}.get)
    assert found == ((LATE, Registered.DONE) if same else (late, Registered.TAKEN))
    assert store.taken == {HOME: b"there before", **({} if same else {FIRST: b"late"})}
    assert field("segment.download.url") is None, "it is registered later"
