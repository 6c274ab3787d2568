import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.errors import DataError
from controller_client.zookeeper import RECORD_LIMIT_BYTES, ZNRecord

# Read from a server's znode of Pinot 0.11.0.
WRITTEN_BY_HELIX = b"""{
  "id" : "Server_127.0.0.1_7003",
  "simpleFields" : {
    "HELIX_ENABLED" : "true",
    "HELIX_PORT" : "7003"
  },
  "mapFields" : {
    "SYSTEM_RESOURCE_INFO" : {
      "numCores" : "2",
      "maxHeapSizeMB" : "256"
    }
  },
  "listFields" : {
    "TAG_LIST" : [ "DefaultTenant_OFFLINE", "DefaultTenant_REALTIME" ]
  }
}"""

# File names that are not UTF-8 contain unpaired surrogates, so these are drawn as well.
texts = st.text(st.characters(), max_size=20)
records = st.builds(
    ZNRecord,
    id=texts,
    simple_fields=st.dictionaries(texts, texts, max_size=5),
    list_fields=st.dictionaries(texts, st.lists(texts, max_size=5), max_size=5),
    map_fields=st.dictionaries(texts, st.dictionaries(texts, texts, max_size=5), max_size=5),
    raw_payload=st.none() | st.just("AAEC"),
)


@given(records, st.sampled_from([None, True, False]))
def test_what_is_written_is_read_back(record: ZNRecord, compress: bool | None) -> None:
    assert ZNRecord.from_bytes(record.to_bytes(compress)) == record


@given(records)
def test_writes_exactly_the_keys_that_helix_accepts(record: ZNRecord) -> None:
    document = json.loads(record.to_bytes(compress=False))
    allowed = {"id", "simpleFields", "mapFields", "listFields"}
    assert set(document) == (allowed | {"rawPayload"} if record.raw_payload else allowed)


def test_reads_a_record_written_by_helix() -> None:
    record = ZNRecord.from_bytes(WRITTEN_BY_HELIX)
    assert record == ZNRecord(
        "Server_127.0.0.1_7003",
        {"HELIX_ENABLED": "true", "HELIX_PORT": "7003"},
        {"TAG_LIST": ["DefaultTenant_OFFLINE", "DefaultTenant_REALTIME"]},
        {"SYSTEM_RESOURCE_INFO": {"numCores": "2", "maxHeapSizeMB": "256"}},
    )
    assert ZNRecord.from_bytes(gzip.compress(WRITTEN_BY_HELIX)) == record


def test_null_values_and_missing_parts_are_read_as_absent() -> None:
    record = ZNRecord.from_bytes(b'{"id":"a","simpleFields":{"x":null,"y":"1"},"mapFields":null}')
    assert record == ZNRecord("a", {"y": "1"})


@pytest.mark.parametrize(
    ("value", "compressed"), [("true", True), ("TRUE", True), ("false", False), ("yes", False), (None, False)]
)
def test_the_field_enable_compression_decides(value: str | None, compressed: bool) -> None:
    fields = {} if value is None else {"enableCompression": value}
    assert ZNRecord("a", fields).to_bytes().startswith(b"\x1f\x8b") is compressed


def test_a_record_over_the_limit_is_compressed_automatically() -> None:
    big = ZNRecord("big", {"x": "a" * (RECORD_LIMIT_BYTES + 1)})
    data = big.to_bytes()
    assert data.startswith(b"\x1f\x8b")
    assert ZNRecord.from_bytes(data) == big


def test_the_same_record_gives_the_same_bytes() -> None:
    # A lost reply is settled by comparing bytes, so the gzip header must not have a timestamp.
    data = ZNRecord("a", {"enableCompression": "true"}).to_bytes()
    assert data[4:8] == bytes(4)


def test_a_record_that_is_too_large_is_refused_before_it_is_sent() -> None:
    big = ZNRecord("big", {"x": "a" * RECORD_LIMIT_BYTES})
    with pytest.raises(DataError, match=r"record big has 1,0\d\d,\d\d\d bytes, not compressed") as caught:
        big.to_bytes(compress=False)
    assert "1,024,000" in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello",
        b"[1]",
        b"{}",
        b'{"id": 1}',
        b'{"id": "a", "simpleFields": {"x": 1}}',
        b'{"id": "a", "simpleFields": ["x"]}',
        b'{"id": "a", "listFields": {"x": 1}}',
        b"\x1f\x8bnot gzip",
        gzip.compress(WRITTEN_BY_HELIX, mtime=0)[:-4],
        gzip.compress(b"\xff", mtime=0),
    ],
)
def test_other_content_is_an_error_that_names_the_znode(data: bytes) -> None:
    with pytest.raises(DataError) as caught:
        ZNRecord.from_bytes(data, where="/SCHEMAS/x")
    assert caught.value.where == "/SCHEMAS/x"
