"""A table's input topic, its updates topic, and a model of what the updates topic should contain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from confluent_kafka import Message as KafkaMessage
from confluent_kafka.admin import AdminClient

from controller_client.stream.offsets import topic_partitions
from controller_client.upsert.update_message import VersionEnd, VersionRecord, decode_any
from tests.support.kafka_topics import read_committed

_TIMEOUT_S = 300.0

Place = tuple[int, int]
"""Partition and offset of a record."""


@dataclass(frozen=True)
class Message:
    """One message of a topic."""

    partition: int
    offset: int
    time_ms: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True)
class Record:
    """A valid message.

    Attributes:
        key: Any value that distinguishes keys.
        rank: Of two records with the same key, the one with the greater rank is kept.
        tombstone: Whether it deletes its key.
    """

    place: Place
    key: object
    rank: int
    tombstone: bool = False


def read_topic(bootstrap: str, topic: str) -> list[Message]:
    """Read all committed messages of a topic."""
    found: list[Message] = []

    def take(message: KafkaMessage) -> None:
        partition, offset, time_ms = message.partition() or 0, message.offset() or 0, message.timestamp()[1]
        found.append(Message(partition, offset, time_ms, message.key(), message.value()))

    client = AdminClient({"bootstrap.servers": bootstrap})
    for partition in topic_partitions(client, topic, _TIMEOUT_S):
        read_committed(bootstrap, topic, partition, take)
    return found


@dataclass
class Replay:
    """The state that servers and brokers derive from an updates topic.

    Attributes:
        valid_from: By row, the version that inserted it.
        valid_until: By row, the version that deleted it.
        ends: Ends of versions, by version, then by partition.
        partitions: The number of partitions of the topic.
    """

    valid_from: dict[Place, int] = field(default_factory=dict)
    valid_until: dict[Place, int] = field(default_factory=dict)
    ends: dict[int, dict[int, VersionEnd]] = field(default_factory=dict)
    partitions: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, messages: Iterable[Message]) -> Replay:
        """Apply messages in order; if an event is repeated, the first one counts."""
        replay = cls()
        ended: dict[int, int] = {}
        for message in messages:
            replay.partitions.add(message.partition)
            newest = ended.get(message.partition, -1)
            found = decode_any(message.value or b"", where="updates")
            if isinstance(found, VersionRecord):
                continue
            if isinstance(found, VersionEnd):
                assert found.begin <= found.end
                ended[message.partition] = max(newest, found.version)
                replay.ends.setdefault(found.version, {}).setdefault(message.partition, found)
                continue
            for offset, deleted in zip(found.offsets.tolist(), found.deleted.tolist(), strict=True):
                place = message.partition, offset
                target = replay.valid_until if deleted else replay.valid_from
                if place not in target:
                    assert found.version > newest, f"{place} changes in {found.version}, after {newest} ended"
                    target[place] = found.version
        return replay

    def whole_versions(self) -> list[int]:
        """Versions whose end is in all partitions that the topic had at the time."""
        found, had = [], 0
        for version in sorted(self.ends):
            there = len(self.ends[version])
            if there >= had and set(self.ends[version]) == set(range(there)):
                had = there
                found.append(version)
        return found

    def visible(self, version: int) -> set[Place]:
        """The rows that a query at a version sees."""
        return {
            place
            for place, begin in self.valid_from.items()
            if begin <= version and not self.valid_until.get(place, version + 1) <= version
        }

    def offsets(self, version: int) -> dict[int, int]:
        """The offsets where the input of a version ends, by partition."""
        return {partition: end.end for partition, end in self.ends[version].items()}


def check_versions(replay: Replay, records: Iterable[Record]) -> int:
    """Compare the visible rows of each complete version with a model; return the number of versions."""
    by_place = sorted(records, key=lambda record: record.place)
    versions = replay.whole_versions()
    for version in versions:
        ends = replay.offsets(version)
        newest: dict[object, tuple[int, int, int]] = {}
        gone: dict[object, bool] = {}
        for record in by_place:
            partition, offset = record.place
            order = (record.rank, offset, partition)
            if offset < ends.get(partition, 0) and order > newest.get(record.key, (-(2**63), 0, 0)):
                newest[record.key], gone[record.key] = order, record.tombstone
        expected = {(partition, offset) for _, offset, partition in _rows(newest, gone)}
        seen = replay.visible(version)
        assert seen == expected, (
            f"version {version}: seen are {sorted(seen - expected)[:5]}, not {sorted(expected - seen)[:5]}"
        )
    return len(versions)


def _rows(
    newest: Mapping[object, tuple[int, int, int]], gone: Mapping[object, bool]
) -> Iterable[tuple[int, int, int]]:
    return (order for key, order in newest.items() if not gone[key])


def records_of(messages: Iterable[Message], understand: Callable[[Message], Record | None]) -> list[Record]:
    """Return the records of the valid messages."""
    return [record for message in messages if (record := understand(message)) is not None]
