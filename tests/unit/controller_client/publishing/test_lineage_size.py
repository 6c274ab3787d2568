"""A lineage without room for another entry is detected before anything is uploaded."""

from __future__ import annotations

import hashlib
import secrets

import pytest

from controller_client.common.names import TableName
from controller_client.errors import DataError
from controller_client.publishing.lineage_size import LineageFullError, check_lineage_size, lineage_path
from controller_client.zookeeper import RECORD_LIMIT_BYTES, ZNRecord
from tests.unit.memory_zookeeper import MemoryPropertyStore, memory_store

TABLE = TableName("t_OFFLINE")


def _names(kind: str, count: int) -> list[str]:
    return [f"{kind}_{hashlib.sha256(f'{kind}{n}'.encode()).hexdigest()}" for n in range(count)]


def _lineage(*entries: list[str]) -> tuple[MemoryPropertyStore, ZNRecord]:
    store, _ = memory_store()
    lists = {
        secrets.token_hex(16): [",".join(old), ",".join(old), "COMPLETED", "1700000000000"] for old in entries
    }
    record = ZNRecord(TABLE, list_fields=lists)
    store.create(lineage_path(TABLE), record)
    return store, record


def test_an_entry_that_fits_is_accepted() -> None:
    store, _ = memory_store()
    check_lineage_size(store, TABLE, (), _names("new", 10))
    check_lineage_size(store, TABLE, _names("old", 5000), _names("new", 5000))


def test_the_limit_applies_to_the_written_bytes_not_the_text() -> None:
    """With names that differ only in a number, the text is far over the limit, but not its gzip."""
    store, _ = memory_store()
    old, new = ([f"flights_20260101T000000000-abcdef_{kind}{n:06d}" for n in range(20_000)] for kind in "on")
    assert len(",".join(old)) + len(",".join(new)) > RECORD_LIMIT_BYTES * 1.5
    check_lineage_size(store, TABLE, old, new)


def test_an_entry_that_does_not_fit_is_refused_with_sizes_and_a_remedy() -> None:
    store, record = _lineage(_names("a", 10_000))
    old, new = _names("old", 8000), _names("new", 9000)
    with pytest.raises(LineageFullError) as caught:
        check_lineage_size(store, TABLE, old, new)
    entry = [",".join(old), ",".join(new), "IN_PROGRESS", "1700000000000"]
    both = ZNRecord(TABLE, list_fields={**record.list_fields, "e" * 36: entry})
    with pytest.raises(DataError):
        both.to_bytes()
    text = str(caught.value)
    for part in (lineage_path(TABLE), "1,024,000", "8,000 segments by 9,000", "in 1 entries", "task purge"):
        assert part in text
    said = int(caught.value.message.split("would have ")[1].split(" bytes")[0].replace(",", ""))
    assert abs(said - both.written_bytes()) < 200


def test_a_table_without_a_lineage_has_room_up_to_the_limit() -> None:
    store, _ = memory_store()
    with pytest.raises(LineageFullError):
        check_lineage_size(store, TABLE, _names("old", 100), _names("new", 100), limit_bytes=5000)
    check_lineage_size(store, TABLE, _names("old", 100), _names("new", 100), limit_bytes=50_000)


def test_the_written_size_is_that_of_the_bytes() -> None:
    small = ZNRecord(TABLE, list_fields={"e": ["a", "b", "COMPLETED", "1"]})
    assert small.written_bytes() == len(small.to_bytes())
    large = ZNRecord(TABLE, list_fields={"e": [",".join(_names("x", 20_000))]})
    assert len(large.to_bytes()) <= large.written_bytes() <= 1.02 * len(large.to_bytes())
