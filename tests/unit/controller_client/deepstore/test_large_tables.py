"""Audits of tables with many segments, of which only the faulty ones are kept."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller_client.deepstore.audit import Auditor
from controller_client.deepstore.rate import RateLimit
from controller_client.filestore import FileInfo
from controller_client.filestore.local import LocalStore
from controller_client.rest.capabilities import PinotVersion
from controller_client.zookeeper import ZNRecord, segment_path
from tests.unit.controller_client.deepstore.samples import TABLE
from tests.unit.controller_client.deepstore.world import World
from tests.unit.fake_clock import FakeClock

_SEGMENTS = 3_000
_FAULTY = frozenset({0, 1_500, 2_999})
_MAX_BYTES = 1_000
"""Per segment, of the audit alone; a record of Pinot has about twice as many."""


class Listed(LocalStore):
    """A store of which only a listing exists."""

    def __init__(self, root: str) -> None:
        super().__init__()
        self.root = root

    def list(self, directory_uri: str) -> Iterator[FileInfo]:
        for number in range(_SEGMENTS):
            if number not in _FAULTY:
                yield FileInfo(f"{directory_uri}/{name_of(number)}", 10, 0)


def name_of(number: int) -> str:
    return f"flights__{number % 8}__{number}__20261128T1200Z"


@pytest.fixture
def auditor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Auditor]:
    world = World(tmp_path)
    names = [name_of(number) for number in range(_SEGMENTS)]
    for number, name in enumerate(names):
        fields = {f"flush.threshold.{at}": "x" * 40 for at in range(20)}
        fields |= {"segment.crc": str(number), "segment.download.url": world.layout.url(TABLE, name)}
        fields |= {"segment.size.in.bytes": "10"}
        world.properties.create(segment_path(TABLE, name), ZNRecord(name, simple_fields=fields))
    view = {name: {"a": "ONLINE"} for name in names}
    crcs = {name: number for number, name in enumerate(names)}
    monkeypatch.setattr(world.client.tables, "external_view", lambda _table: view)
    monkeypatch.setattr(world.servers, "crcs", lambda _server, _table: crcs)
    monkeypatch.setattr("controller_client.deepstore.segment_record._PAGE", 50)
    monkeypatch.setattr(world.client.cluster, "version", lambda: PinotVersion(0, 11))
    (tmp_path / "store" / "t").mkdir()
    store = Listed(world.layout.root)
    rate = RateLimit(1e9, FakeClock())
    yield Auditor(
        world.client, world.properties, world.layout, world.servers, rate, open_store=lambda _uri: store
    )
    world.client.close()


def test_an_audit_keeps_only_the_faulty_segments(auditor: Auditor) -> None:
    judged: list[int] = []
    tracemalloc.start()
    try:
        found = auditor.audit(TABLE, judged.append)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (found.segments, sum(judged)) == (_SEGMENTS, _SEGMENTS)
    assert {each.record.segment for each in found.faulty} == {name_of(number) for number in _FAULTY}
    assert peak_bytes < _MAX_BYTES * _SEGMENTS


def test_what_is_kept_of_all_segments_is_small(auditor: Auditor) -> None:
    tracemalloc.start()
    try:
        judged, _ = auditor.judge(TABLE)
        kept_bytes = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert [each.record.segment for each in judged] == sorted(map(name_of, range(_SEGMENTS)))
    assert kept_bytes < _MAX_BYTES * _SEGMENTS
