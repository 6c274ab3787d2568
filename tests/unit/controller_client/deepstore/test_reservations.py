"""Two people who stop servers at the same time: the later one counts the servers of the first one as down."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from controller_client.deepstore.judge import Replica, judge
from controller_client.deepstore.reservations import Reservation, Reservations
from controller_client.deepstore.safe_to_stop import Safety, judge_servers
from controller_client.errors import ConfigError, ConflictError, DataError, FormatVersionError
from controller_client.zookeeper import ZNRecord
from tests.unit.controller_client.deepstore.samples import record
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import CLUSTER, MemoryPropertyStore, MemoryZooKeeper, memory_store

PATH = "/PINOT_PLUGINS/stopping_servers"


class Cluster:
    """A segment on servers ``a`` and ``b``, and the people who want to stop one of them."""

    def __init__(self) -> None:
        self.store: MemoryPropertyStore
        self.zookeeper: MemoryZooKeeper
        self.store, self.zookeeper = memory_store()
        self.clock = FakeClock()
        self.reservations = Reservations(self.store, self.clock)
        self.asked: list[list[str]] = []

    def runs(self, server: str, process: str | None) -> None:
        """Let a server run as a process, in a new session; None: it is stopped."""
        path = f"/{CLUSTER}/LIVEINSTANCES/{server}"
        if path in self.zookeeper.znodes:
            self.zookeeper.delete(path)
        if process is not None:
            fields = {"LIVE_INSTANCE": process} if process else {}
            self.zookeeper.create(path, ZNRecord(server, simple_fields=fields).to_bytes())

    def check(self, server: str, during: Callable[[], object] = lambda: None) -> Callable[..., Safety]:
        def check(others: Sequence[Reservation]) -> Safety:
            self.asked.append([each.server for each in others])
            during()
            replicas = tuple(Replica(name, "ONLINE", 7) for name in "ab")
            risk = judge_servers(judge(record(crc=7), replicas, None, 2), {server, *self.asked[-1]})
            return Safety((server,), 1, () if risk is None else (risk,))

        return check

    def stop(self, server: str, minutes: int = 30, during: Callable[[], object] = lambda: None) -> bool:
        """Ask, as a person, and reserve; return whether the answer is safe."""
        return self.reservations.check_reserved(
            [server], minutes, f"who stops {server}", self.check(server, during)
        ).safe

    def reserved(self) -> list[str]:
        return [each.server for each in self.reservations.active()]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_only_one_of_two_servers_is_safe(cluster: Cluster) -> None:
    assert cluster.stop("a")
    assert not cluster.stop("b")
    assert cluster.asked == [[], ["a"]]
    # The refused one has reserved nothing, and the same one may ask again.
    assert cluster.reserved() == ["a"]
    assert cluster.stop("a")
    (mine,) = cluster.reservations.active()
    assert mine == Reservation("a", "who stops a", int((cluster.clock.now() + 1800) * 1000))


def test_of_two_people_who_ask_at_the_same_time_one_is_refused(cluster: Cluster) -> None:
    answers: list[bool] = []
    assert cluster.stop("a", during=lambda: answers.append(cluster.stop("b")))
    assert answers == [False]
    # Also if the other one writes between this one's read and its write.
    both = Cluster()
    first = iter([True])

    def overtake(_path: str) -> None:
        if next(first, False):
            answers.append(both.stop("b"))

    both.store.create(PATH, ZNRecord("x", simple_fields={"format": "1"}))
    both.zookeeper.before_set = overtake
    assert not both.stop("a")
    assert answers == [False, True]


@pytest.mark.parametrize(
    ("before", "after", "is_over"),
    [
        ("1@a", None, False),  # it is stopped
        ("1@a", "2@a", True),
        ("1@a", "1@a", False),  # a new session of the same process, or a container
        (None, "2@a", True),
        (None, None, False),
        ("", "", False),
    ],
)
def test_a_reservation_ends_when_the_server_runs_again(
    cluster: Cluster, before: str | None, after: str | None, is_over: bool
) -> None:
    cluster.runs("a", before)
    assert cluster.stop("a")
    cluster.runs("a", after)
    assert cluster.reserved() == ([] if is_over else ["a"])
    assert cluster.stop("b") == is_over


@pytest.mark.parametrize(("passed_s", "is_over"), [(1799, False), (1859, False), (1861, True)])
def test_a_reservation_ends_by_itself_a_minute_later_for_others(
    cluster: Cluster, passed_s: float, is_over: bool
) -> None:
    assert cluster.stop("a")
    cluster.clock.advance(passed_s)
    assert cluster.stop("b") == is_over
    assert cluster.reserved() == (["b"] if is_over else ["a"])


def test_a_reservation_is_released(cluster: Cluster) -> None:
    assert cluster.reservations.release(["a"]) == []
    assert cluster.stop("a")
    assert [each.server for each in cluster.reservations.release(["a", "c"])] == ["a"]
    assert cluster.reserved() == []
    assert cluster.stop("b")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), DataError("x")])
def test_a_check_that_fails_reserves_nothing(cluster: Cluster, error: BaseException) -> None:
    def fail() -> None:
        raise error

    with pytest.raises(type(error)):
        cluster.stop("a", during=fail)
    assert cluster.reserved() == []


def test_an_earlier_reservation_of_the_same_server_stays_if_it_is_no_longer_safe(cluster: Cluster) -> None:
    assert cluster.stop("a", 600)
    before = cluster.reservations.active()
    cluster.reservations.reserve(["b"], 30, "who does not check", "t")
    assert not cluster.stop("a")
    assert cluster.reservations.active() == [*before, *cluster.reservations.active()[1:]]
    cluster.reservations.release(["b"])
    assert cluster.stop("a", 1)
    assert cluster.reservations.active()[0].until_ms == before[0].until_ms, "it is never shortened"


def test_a_check_that_takes_longer_than_the_reservation_is_no_answer(cluster: Cluster) -> None:
    with pytest.raises(ConflictError, match="longer than 30 minutes"):
        cluster.stop("a", during=lambda: cluster.clock.advance(1800))
    assert cluster.reserved() == []
    # The time counts from the end of the check.
    assert cluster.stop("a", during=lambda: cluster.clock.advance(1700))
    assert cluster.reservations.active()[0].until_ms == int((cluster.clock.now() + 1800) * 1000)


def test_a_reservation_that_somebody_ends_during_the_check_is_no_answer(cluster: Cluster) -> None:
    with pytest.raises(ConflictError, match="reserved or released"):
        cluster.stop("a", during=lambda: cluster.reservations.release(["a"]))
    assert cluster.reserved() == []


@pytest.mark.parametrize("until", ["", "x", "²", "1e400", "-1", "9" * 40])
def test_a_damaged_record_is_not_taken_for_none(cluster: Cluster, until: str) -> None:
    record = ZNRecord("x", simple_fields={"format": "1"}, map_fields={"../a": {"untilMs": until}})
    cluster.store.create(PATH, record)
    for act in (cluster.reserved, lambda: cluster.stop("b"), lambda: cluster.reservations.release(["a"])):
        with pytest.raises(DataError, match="has no end"):
            act()


def test_the_record_of_a_later_release_is_refused(cluster: Cluster) -> None:
    cluster.store.create(PATH, ZNRecord("x", simple_fields={"format": "2"}))
    for act in (cluster.reserved, lambda: cluster.stop("b"), lambda: cluster.reservations.release(["a"])):
        with pytest.raises(FormatVersionError):
            act()


def test_what_is_no_reservation_is_refused(cluster: Cluster) -> None:
    for minutes in (0, -1, 100_000):
        with pytest.raises(ConfigError, match="minutes"):
            cluster.stop("a", minutes)
    with pytest.raises(ConfigError, match="no name of an instance"):
        cluster.stop("../a")
    assert cluster.store.get(PATH) is None
