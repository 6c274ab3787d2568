"""The oracle: a reader asks all the time; every answer is the model's at the version it was answered at."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.faults.file_ingestion.expiry import expire_owner
from tests.integration.upsert.oracle.conftest import MakePlace
from tests.integration.upsert.oracle.place import Place
from tests.integration.upsert.oracle.reader import Reader
from tests.support.cluster import PinotCluster
from tests.support.full import FULL
from tests.support.needs import Need, needs
from tests.support.pinot_services import HOSTED_ADDRESSES
from tests.support.summary import SUMMARY

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]

_HOSTED_2 = HOSTED_ADDRESSES["hosted_2"][0]


@dataclass(frozen=True)
class Size:
    """How much is written: so many keys, and so many updates in each fault, and before it or not."""

    keys: int
    chunk: int
    rows_per_segment: int
    before_too: bool


# Flush rows are for all partitions of a server: segments are sealed at a fourth of them.
_REDUCED = Size(keys=5_000, chunk=5_000, rows_per_segment=12_000, before_too=False)
_FULL = Size(keys=500_000, chunk=500_000, rows_per_segment=400_000, before_too=True)


def _size_of(config: pytest.Config) -> Size:
    return _FULL if config.getoption("--full") else _REDUCED


def _line(config: pytest.Config) -> str:
    size = _size_of(config)
    times = len(_FAULTS) * (2 if size.before_too else 1)
    return f"upsert oracle: {size.keys:,} keys, {times} times {size.chunk:,} updates"


SUMMARY.append(_line)


def _undecodable_and_in_transactions(place: Place, size: Size) -> None:
    place.feed.update(size.keys, size.chunk // 2, broken=0.01)
    place.feed.update_in_transactions(size.keys, size.chunk // 2)


def _server_killed(place: Place, size: Size) -> None:
    place.pinot.kill("hosted_1")
    place.feed.update(size.keys, size.chunk)
    place.pinot.start("hosted_1")


def _coordinator_and_broker_killed(place: Place, size: Size) -> None:
    place.kill_coordinator()
    place.pinot.kill("broker")
    place.feed.update(size.keys, size.chunk)
    place.start_coordinator()
    place.pinot.start("broker")


def _session_expired(place: Place, size: Size) -> None:
    (server,) = [name for name in place.store.live_instances() if name.startswith(f"Server_{_HOSTED_2}_")]
    expire_owner(place.pinot.zookeeper_address, f"/{place.pinot.cluster_name}/LIVEINSTANCES/{server}")
    place.feed.update(size.keys, size.chunk)


def _kafka_killed(place: Place, size: Size) -> None:
    place.kafka.kill()
    place.kafka.start()
    place.feed.update(size.keys, size.chunk)


_FAULTS = (
    _undecodable_and_in_transactions,
    _server_killed,
    _coordinator_and_broker_killed,
    _session_expired,
    _kafka_killed,
)


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=FULL)])
def test_every_answer_is_of_one_version(
    make_place: MakePlace, engine: str, pytestconfig: pytest.Config
) -> None:
    size = _size_of(pytestconfig)
    place = make_place(size.rows_per_segment, engine)
    place.feed.insert(size.keys)
    place.wait_answered(size.keys)
    for fault in _FAULTS:
        if size.before_too:
            place.feed.update(size.keys, size.chunk)
        fault(place, size)
        place.wait_answered(size.keys, validating=fault is _kafka_killed)
    place.reader.stop()
    assert place.check(size.keys) > len(_FAULTS)


@needs(Need.PLUG_IN_POINTS)
def test_every_join_is_of_one_version_of_each_table(
    make_place: MakePlace, pinot: PinotCluster, pytestconfig: pytest.Config
) -> None:
    size = _size_of(pytestconfig)
    a, b = places = tuple(make_place(size.rows_per_segment, "local") for _ in range(2))
    for place in places:
        place.feed.insert(size.keys)
    for place in places:
        place.wait_answered(size.keys)
    # All keys are in both tables from now on: at any versions each row has one to be joined with.
    sql = f"select count(*), sum(a.value), sum(b.value) from {a.name} a join {b.name} b on a.id = b.id"
    reader = Reader(pinot, sql, useMultistageEngine=True)
    reader.start()
    try:
        for fault in _FAULTS:
            b.feed.update(size.keys, size.chunk)
            fault(a, size)
            for place in places:
                place.wait_answered(size.keys, validating=fault is _kafka_killed)
    finally:
        reader.stop()
        for place in places:
            place.reader.stop()
    totals_a, totals_b = a.totals(size.keys), b.totals(size.keys)
    for answer in reader.answers:
        at_a, at_b = (answer.versions[place.full_name] for place in places)
        assert answer.numbers == (size.keys, totals_a[at_a].sum, totals_b[at_b].sum), answer
    assert len({tuple(answer.versions.values()) for answer in reader.answers}) > len(_FAULTS)
    for place in places:
        place.check(size.keys)
