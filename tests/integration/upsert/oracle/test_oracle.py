"""The oracle: a reader queries continuously; every answer equals the model's at the answer's version."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pytest

from tests.integration.upsert.oracle.conftest import MakePlace
from tests.integration.upsert.oracle.model import Model
from tests.integration.upsert.oracle.place import Place
from tests.integration.upsert.oracle.reader import Reader
from tests.integration.upsert.server.upsert_table import cut_logs
from tests.support.cluster import PinotCluster
from tests.support.expiry import expire_owner
from tests.support.needs import Need, inside
from tests.support.pinot_services import HOSTED_ADDRESSES
from tests.support.scheduling import DISTURBS
from tests.support.summary import SUMMARY
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]

_TIMEOUT_S = 300.0
_HOSTED_2 = HOSTED_ADDRESSES["hosted_2"][0]


@dataclass(frozen=True)
class Size:
    """How much is written: the number of keys, of updates during each fault, and whether also before it."""

    keys: int
    chunk: int
    rows_per_segment: int
    before_too: bool


# Flush rows count for all partitions of a server: segments are sealed at a fourth of them.
_REDUCED = Size(keys=2_000, chunk=3_000, rows_per_segment=6_000, before_too=False)
_FULL = Size(keys=500_000, chunk=500_000, rows_per_segment=400_000, before_too=True)
# Faults that disturb other tests run alone, when most of the machine is idle.
_ALONE = Size(keys=100_000, chunk=100_000, rows_per_segment=80_000, before_too=True)
_SMALL = os.environ.get("PINOT_TEST_ORACLE_REDUCED") == "1"
"""Whether a run with ``--full`` uses the reduced size, for all engines."""

_lines: list[str] = []


def _size_of(config: pytest.Config, faults: Sequence[_Fault]) -> Size:
    if _SMALL or not config.getoption("--full"):
        return _REDUCED
    return _ALONE if faults is _MORE_FAULTS else _FULL


SUMMARY.append(lambda _config: "\n".join(_lines))


def _add_line(what: str, size: Size, faults: Sequence[_Fault], rest: str) -> None:
    times = len(faults) * (2 if size.before_too else 1)
    names = ", ".join(fault.__name__.strip("_").replace("_", " ") for fault in faults)
    _lines.append(
        f"upsert oracle, {what}: {size.keys:,} keys, {times} times {size.chunk:,} updates; {names}; {rest}"
    )


_Fault = Callable[[Place, Size], None]


def _undecodable_and_in_transactions(place: Place, size: Size) -> None:
    place.feed.update(size.keys, size.chunk // 2, broken=0.01)
    place.feed.update_in_transactions(size.keys, size.chunk // 2)


def _server_killed_and_its_log_cut(place: Place, size: Size) -> None:
    place.pinot.kill("hosted_1")
    cut_logs(place, "hosted_1", random.Random(place.seed))
    place.feed.update(size.keys, size.chunk)
    place.pinot.start("hosted_1")


def _coordinator_killed(place: Place, size: Size) -> None:
    place.kill_coordinator()
    place.feed.update(size.keys, size.chunk)
    place.start()


def _session_expired(place: Place, size: Size) -> None:
    (server,) = [name for name in place.store.live_instances() if name.startswith(f"Server_{_HOSTED_2}_")]
    expire_owner(place.pinot.zookeeper_address, f"/{place.pinot.cluster_name}/LIVEINSTANCES/{server}")
    place.feed.update(size.keys, size.chunk)


def _server_killed_and_its_disk_lost(place: Place, size: Size) -> None:
    place.pinot.kill("hosted_2")
    place.pinot.lose_disk("hosted_2")
    place.feed.update(size.keys, size.chunk)
    place.pinot.start("hosted_2")


def _coordinator_and_broker_killed(place: Place, size: Size) -> None:
    place.pinot.kill("broker")
    _coordinator_killed(place, size)
    place.pinot.start("broker")


def _kafka_killed(place: Place, size: Size) -> None:
    place.kafka.kill()
    place.kafka.start()
    place.feed.update(size.keys, size.chunk)


def _standby_takes_over_twice(place: Place, size: Size) -> None:
    if place.engine != "local":  # the only one that has standbys
        return
    for number in (1, 2):
        place.start_standby(f"standby-{number}")
        place.feed.update(size.keys, size.chunk // 4)
        place.kill_coordinator()
        place.feed.update(size.keys, size.chunk // 4)
        place.wait_lock(place.runs[0])
    assert place.record().generation == 1, "the standbys' states belong to the generation"


_FAULTS: tuple[_Fault, ...] = (
    _undecodable_and_in_transactions,
    _server_killed_and_its_log_cut,
    _coordinator_killed,
    _session_expired,
)
_MORE_FAULTS: tuple[_Fault, ...] = (
    _server_killed_and_its_disk_lost,
    _coordinator_and_broker_killed,
    _kafka_killed,
    _standby_takes_over_twice,
)
_with_faults = pytest.mark.parametrize(
    "faults",
    [
        pytest.param(_FAULTS, id="faults"),
        pytest.param(_MORE_FAULTS, id="more faults", marks=[FULL, DISTURBS]),
    ],
)


@_with_faults
@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=FULL)])
def test_every_answer_is_of_one_version(
    make_place: MakePlace, engine: str, faults: Sequence[_Fault], pytestconfig: pytest.Config
) -> None:
    size = _size_of(pytestconfig, faults)
    place = make_place(size.rows_per_segment, engine)
    place.feed.insert(size.keys)
    place.wait_answered()
    for fault in faults:
        if size.before_too:
            place.feed.update(size.keys, size.chunk)
        fault(place, size)
        place.wait_answered(validating=fault is _kafka_killed)
    place.reader.stop()
    versions, met = place.check()
    assert versions > len(faults)
    assert not met.missing(), f"seed {place.seed}: {met}"
    answers = len(place.reader.answers)
    _add_line(
        f"{engine}, seed {place.seed}", size, faults, f"{answers:,} answers of {versions:,} versions; {met}"
    )


@_with_faults
@inside(Need.PLUG_IN_POINTS)
def test_every_join_is_of_one_version_of_each_table(
    make_place: MakePlace, pinot: PinotCluster, faults: Sequence[_Fault], pytestconfig: pytest.Config
) -> None:
    size = _size_of(pytestconfig, faults)
    a, b = places = tuple(make_place(size.rows_per_segment, "local") for _ in range(2))
    for place in places:
        place.feed.insert(size.keys)
    for place in places:
        place.wait_answered()
    sql = (
        f"select count(*), sum(a.value), sum(b.value) from {a.name} a"
        f" join {b.name} b on a.holder = b.holder and a.account = b.account"
    )
    reader = Reader(pinot, sql, useMultistageEngine=True)
    reader.start()
    try:
        _wait_joined(reader, places)
        for fault in faults:
            b.feed.update(size.keys, size.chunk)
            fault(a, size)
            for place in places:
                place.wait_answered(validating=fault is _kafka_killed)
            _wait_joined(reader, places)
    finally:
        reader.stop()
        for place in places:
            place.reader.stop()
    for place in places:
        place.check()
    answers = [
        ((answer.versions[a.full_name], answer.versions[b.full_name]), answer.numbers)
        for answer in reader.answers
    ]
    expected = _joins(a, b, {pair for pair, _ in answers})
    wrong = [(*answer, expected[answer[0]]) for answer in answers if expected[answer[0]] != answer[1]]
    assert not wrong, f"{len(wrong)} of {len(answers)} joins are wrong, seed {a.seed}, first: {wrong[:5]}"
    assert len(expected) > len(faults)
    rest = f"{len(answers):,} answers of {len(expected):,} pairs of versions"
    _add_line(f"joins, seed {a.seed}", size, faults, rest)


def _wait_joined(reader: Reader, places: Sequence[Place]) -> None:
    """Wait until a join has versions that the tables' readers have seen, so each fault has an answer."""
    seen = [place.reader.newest() for place in places]
    versions = {name: version for answer in seen if answer for name, version in answer.versions.items()}

    def joined() -> bool:
        newest = reader.newest()
        return newest is not None and all(
            newest.versions[name] >= version for name, version in versions.items()
        )

    wait_for(joined, f"a join at {versions}", _TIMEOUT_S)


def _joins(a: Place, b: Place, pairs: set[tuple[int, int]]) -> Mapping[tuple[int, int], tuple[int, ...]]:
    """The expected answers at pairs of versions: a reader sees neither table go back."""
    models = Model(a.input), Model(b.input)
    ends = a.versions(), b.versions()
    found = {}
    for pair in sorted(pairs):
        for model, known, version in zip(models, ends, pair, strict=True):
            model.advance(known[version])
        left, right = (model.rows for model in models)
        both = left.keys() & right.keys()
        found[pair] = len(both), sum(left[key] for key in both), sum(right[key] for key in both)
    return found
