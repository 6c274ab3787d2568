"""Late uploads: moved to their final URI and registered if the segment needs them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller_client.common.names import TableName
from controller_client.zookeeper import PropertyStore, ZNRecord, segment_path
from server_hooks.commit_upload.registering import (
    LateUpload,
    Registered,
    is_needed,
    move_to_final_uri,
    register,
)
from tests.unit.controller_client.deepstore.samples import crc_of
from tests.unit.memory_zookeeper import memory_store
from tests.unit.server_hooks.commit_upload.fake_store import FakeStore

NAME = "t__0__0__x"
CRC = crc_of(7, NAME)
HOME = f"s3://b/c/t/{NAME}"
FIRST = f"{HOME}.tmp.1"
LATE = LateUpload("t", NAME, HOME, HOME, 10, CRC)


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
    store, _ = memory_store()
    path = segment_path(TableName("t_REALTIME"), LATE.segment)
    if fields is not None:
        store.create(path, ZNRecord(LATE.segment, {"segment.realtime.status": "DONE", **fields}))
    assert register(store, LATE) == outcome
    assert _url(store, path) == url


def test_a_concurrent_change_is_kept() -> None:
    store, zookeeper = memory_store()
    path = segment_path(TableName("t_REALTIME"), LATE.segment)
    record = ZNRecord(LATE.segment, {"segment.realtime.status": "DONE", "segment.crc": str(CRC)})
    store.create(path, record)
    once = iter([True])

    def other_writer(_path: str) -> None:
        if next(once, False):
            found = store.get(path)
            assert found is not None
            store.set(path, replace(record, simple_fields={**record.simple_fields, "x": "1"}), found.version)

    zookeeper.before_set = other_writer
    assert register(store, LATE) == Registered.DONE
    found = store.get(path)
    assert found is not None
    assert found.record.simple_fields["x"] == "1"
    assert _url(store, path) == LATE.uri


def _url(store: PropertyStore, path: str) -> str | None:
    found = store.get(path)
    return found.record.simple_fields.get("segment.download.url") if found else None


@pytest.mark.parametrize(("size", "expected"), [({}, "10"), ({"segment.size.in.bytes": "700"}, "700")])
def test_an_existing_size_is_kept_and_a_missing_one_is_set_from_the_tar(
    size: dict[str, str], expected: str
) -> None:
    store, _ = memory_store()
    path = segment_path(TableName("t_REALTIME"), NAME)
    fields = {"segment.realtime.status": "DONE", "segment.crc": str(CRC), **size}
    store.create(path, ZNRecord(NAME, fields))
    assert register(store, LATE) == Registered.DONE
    found = store.get(path)
    assert found is not None
    assert found.record.simple_fields["segment.size.in.bytes"] == expected


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
    store = FakeStore()
    records, _ = memory_store()
    path = segment_path(TableName("t_REALTIME"), NAME)
    if fields is not None:
        records.create(path, ZNRecord(NAME, {"segment.realtime.status": "DONE", **fields}))
    store.taken[FIRST] = b"late"
    late = replace(LATE, uri=FIRST)
    moved = outcome is Registered.DONE
    found = move_to_final_uri(records, store, late, _content_of)
    assert found == (LATE if moved else late, outcome)
    assert store.taken == {found[0].uri: b"late"}
    assert move_to_final_uri(records, store, found[0], _content_of) == found
    assert is_needed(records, late) == (outcome in (Registered.DONE, Registered.NOT_YET))


def _content_of(_uri: str) -> int | None:
    return 1


def test_a_different_object_at_the_final_uri_stays_and_nothing_is_registered() -> None:
    store = FakeStore()
    records, _ = memory_store()
    path = segment_path(TableName("t_REALTIME"), NAME)
    records.create(path, ZNRecord(NAME, {"segment.realtime.status": "DONE", "segment.crc": str(CRC)}))
    store.taken.update({HOME: b"of a repair", FIRST: b"late"})
    late = replace(LATE, uri=FIRST)
    assert move_to_final_uri(records, store, late, _content_of) == (late, Registered.TAKEN)
    assert store.taken == {HOME: b"of a repair", FIRST: b"late"}
    assert _url(records, path) is None


def test_an_existing_object_with_the_same_content_counts_as_the_upload() -> None:
    """As after a kill between the move and the registration, or during a repair of the same segment."""
    store = FakeStore()
    records, _ = memory_store()
    path = segment_path(TableName("t_REALTIME"), NAME)
    records.create(path, ZNRecord(NAME, {"segment.realtime.status": "DONE", "segment.crc": str(CRC)}))
    store.taken.update({HOME: b"moved before", FIRST: b"late"})
    found = move_to_final_uri(records, store, replace(LATE, uri=FIRST), {HOME: CRC}.get)
    assert found == (LATE, Registered.DONE)
    assert store.taken == {HOME: b"moved before"}
