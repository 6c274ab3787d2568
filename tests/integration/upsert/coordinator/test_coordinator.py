"""The key coordinator on real Kafka, with each engine; a model checks every complete version."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import uuid

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]  # public by its docs

from controller_client.upsert.generation import read_request
from controller_client.upsert.update_message import Events, VersionEnd, VersionRecord, decode_any
from controller_client.zookeeper import process_name
from tests.integration.upsert.coordinator.conftest import CheckedTable, MakeTable
from tests.integration.upsert.coordinator.topics import (
    Message,
    Record,
    check_versions,
    read_topic,
    records_of,
)
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]

_TIMEOUT_S = 300.0
_KEYS = 400
_FIRST_MS = 1_700_000_000_000


class Feed:
    """Writes records with the key (user, account): any key in any partition, with times in any order."""

    def __init__(self, table: CheckedTable, seed: int) -> None:
        self._random = random.Random(seed)
        self._topic = table.name
        self._bootstrap = table.kafka.bootstrap

    def write(self, count: int, partitions: int) -> None:
        """Write records; one in a hundred is invalid, some are tombstones."""
        producer = Producer({"bootstrap.servers": self._bootstrap, "acks": "all", "linger.ms": 5})

        def known() -> bool:
            found = producer.list_topics(self._topic, timeout=_TIMEOUT_S).topics[self._topic]
            return len(found.partitions) >= partitions

        wait_for(known, f"{partitions} partitions of {self._topic}")
        for _ in range(count):
            self._one(producer, self._random.randrange(partitions))
        assert producer.flush(_TIMEOUT_S) == 0

    def write_transactions(self, count: int, partitions: int) -> None:
        """Write records in transactions of 50; every third transaction is aborted."""
        settings = {"bootstrap.servers": self._bootstrap, "transactional.id": uuid.uuid4().hex}
        producer = Producer(settings)
        producer.init_transactions(_TIMEOUT_S)
        for number in range(count // 50):
            producer.begin_transaction()
            for _ in range(50):
                self._one(producer, self._random.randrange(partitions))
            if number % 3 == 2:
                producer.flush(_TIMEOUT_S)
                producer.abort_transaction(_TIMEOUT_S)
            else:
                producer.commit_transaction(_TIMEOUT_S)

    def _one(self, producer: Producer, partition: int) -> None:
        user, account = f"user-{self._random.randrange(_KEYS // 4)}", self._random.randrange(4)
        kind = self._random.random()
        key: str | None = None
        time_ms = _FIRST_MS + self._random.randrange(100_000)
        document: dict[str, object] = {"user": user, "account": account, "ts": time_ms, "text": "é" * 9}
        if kind < 0.01:
            broken = [
                b"{",
                b"\xff\xfe",
                b"[]",
                b'{"user": "a", "account"',
                json.dumps({"user": user}).encode(),
            ]
            producer.produce(self._topic, self._random.choice(broken), partition=partition)
            return
        if kind < 0.06:
            # A tombstone is ranked by Kafka's timestamp, which is in the middle of the records' times.
            key = json.dumps({"account": account, "user": user})
            producer.produce(self._topic, None, key=key, partition=partition, timestamp=time_ms)
            return
        if kind < 0.3:
            document["account"] = str(account) if kind < 0.2 else float(account)  # the same value for Pinot
        producer.produce(self._topic, json.dumps(document).encode(), partition=partition)
        producer.poll(0)


def understand(message: Message) -> Record | None:
    """As Pinot would."""
    place = message.partition, message.offset
    try:
        document = json.loads(message.value if message.value is not None else message.key or b"")
        key = document["user"], int(document["account"])
        if message.value is None:
            return Record(place, key, message.time_ms, tombstone=True)
        return Record(place, key, document["ts"])
    except (ValueError, KeyError, TypeError):
        return None


_COLUMNS = {"user": "STRING", "account": "LONG", "text": "STRING"}
_KEY = ["user", "account"]


def _check(table: CheckedTable) -> int:
    """Compare all versions with the model; return their number."""
    return check_versions(table.replay(), records_of(table.input(), understand))


# The oracle kills the local one by default.
@pytest.mark.parametrize("engine", [pytest.param("local", marks=FULL), "spark"])
def test_every_version_is_right_through_kills_new_partitions_and_a_rebuild(
    make_table: MakeTable, engine: str, full: bool
) -> None:
    table = make_table(_COLUMNS, _KEY, 4)
    table.engine = engine
    feed = Feed(table, seed=11)
    feed.write(14_000 if full else 2_000, 4)
    rows = 900 if engine == "spark" else 100
    options = ("--partitions=2", f"--max-rows-per-version={rows}", "--version-interval=0")
    process = table.start(*options)
    kills = random.Random(17)
    # By default, Spark's JVM is started only once.
    for number in range(4 if full else 2 if engine == "local" else 0):
        # At a random moment of a version: while it sends events, between its ends, or before its commit.
        table.wait_version(2 + 4 * number, process)
        if engine == "local":
            feed.write(2_000, 4)
        _passes(kills.random() * (2 if engine == "spark" else 0.5))
        table.end(process, signal.SIGKILL)
        process = table.start(*options)
    table.wait_lock(process)
    feed.write_transactions(1_000, 4)
    table.wait_passed(table.ends_of_input(), process)
    if engine == "local" or full:
        _check_a_second_one_is_refused(table, process)

    admin = AdminClient({"bootstrap.servers": table.kafka.bootstrap})
    admin.create_partitions([NewPartitions(table.name, 6)])[table.name].result(_TIMEOUT_S)
    feed.write(1_000, 6)
    table.wait_passed(table.ends_of_input(), process)

    before = table.record()
    _pinotctl(table, "rebuild", table.name, "--partitions=3", "--yes")
    feed.write(1_000, 6)
    table.wait_passed(table.ends_of_input(), process)
    assert table.end(process) == 0

    after = table.record()
    assert (before.generation, after.generation) == (1, 2)
    assert after.base > before.version
    assert after.details["engine"] == engine
    assert after.details.get("partitions") == ("3" if engine == "spark" else None)
    assert _check(table) > 5
    messages, replay = table.input(), table.replay()
    records = records_of(messages, understand)
    last = replay.offsets(replay.whole_versions()[-1])
    assert last.keys() == set(range(6))
    assert after.keys == len({record.key for record in records})
    assert int(after.details["unread"]) == len(messages) - len(records) > 20
    if engine == "spark":
        # The rebuild sent no end before it had passed the position of the previous generation.
        first = min(version for version in replay.ends if version >= after.base)
        former = replay.offsets(before.version)
        assert all(replay.offsets(first)[partition] >= offset for partition, offset in former.items())


def _passes(seconds: float) -> None:
    """Wait for a fraction of a second."""
    import time

    until = time.monotonic() + seconds
    wait_for(lambda: time.monotonic() >= until, "a moment", interval_s=0.01)


def _pinotctl(table: CheckedTable, *words: str) -> str:
    """Run a command about upsert tables; return its messages."""
    done = subprocess.run(
        table.command("upsert", *words), check=True, capture_output=True, text=True, timeout=_TIMEOUT_S
    )
    return done.stderr


def _check_a_second_one_is_refused(table: CheckedTable, process: subprocess.Popen[bytes]) -> None:
    assert table.start().wait(_TIMEOUT_S) == 1
    assert f"is held by {process_name().rpartition(':')[0]}:{process.pid}" in table.log()
    assert "generation 2 of" in _pinotctl(table, "rebuild", table.name, "--partitions=3", "--dry-run")
    assert read_request(table.store, table.full_name) is None


@FULL
def test_versions_continue_while_a_new_state_is_built(make_table: MakeTable) -> None:
    table = make_table(_COLUMNS, _KEY, 2)
    feed = Feed(table, seed=22)
    feed.write(120_000, 2)
    process = table.start("--version-interval=0.05")
    table.wait_passed(table.ends_of_input(), process)
    before = table.record()
    _pinotctl(table, "rebuild", table.name, "--yes")

    def rebuilt() -> bool:
        feed.write(5, 2)
        return table.record().generation == 2

    wait_for(rebuilt, "the new generation", _TIMEOUT_S, interval_s=0.02)
    feed.write(100, 2)
    table.wait_passed(table.ends_of_input(), process)
    assert table.end(process) == 0
    assert _check(table) > 5
    assert _versions_with_old_and_new_rows(table, before.version) > 0


def _versions_with_old_and_new_rows(table: CheckedTable, after: int) -> int:
    """Versions of the first generation that resend what the rebuild has read, and end with new rows."""
    sent: dict[int, set[int]] = {}
    new: dict[int, bool] = {}
    first_generation = set()
    seen: set[tuple[int, int]] = set()
    for message in read_topic(table.kafka.bootstrap, table.updates_topic):
        found = decode_any(message.value or b"", where="updates")
        if isinstance(found, VersionRecord):
            if found.generation == 1:
                first_generation.add(found.version)
        elif isinstance(found, VersionEnd):
            new[found.version] = new.get(found.version, False) or found.end > found.begin
        elif isinstance(found, Events):
            places = {(message.partition, int(offset)) for offset in found.offsets[~found.deleted]}
            if places & seen:
                sent.setdefault(found.version, set()).add(message.partition)
            seen |= places
    return sum(version > after and new.get(version, False) for version in sent.keys() & first_generation)
