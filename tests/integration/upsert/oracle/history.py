"""The content of a table's topics: its records, and the versions that its coordinator completed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import numpy as np
from confluent_kafka import Message
from numpy.typing import NDArray

from controller_client.upsert.update_message import VersionEnd, decode_any
from tests.integration.upsert.oracle.keys import key_in
from tests.support.kafka_topics import read_committed

__all__ = ["Ends", "Input", "Row", "read_ends"]

Ends = Sequence[int]
"""An offset in each partition; only records before it count."""

Row = tuple[int, int, int, int, int, int]
"""Offset, holder, account, time, value, and 1 for a tombstone, else 0."""


class Input:
    """The topic of the records; each record is read once.

    Args:
        bootstrap: Kafka's address.
        topic: Its name.
        partitions: The number of its partitions.
    """

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self._bootstrap = bootstrap
        self._topic = topic
        self._read: list[NDArray[np.int64]] = [np.empty((0, 6), np.int64) for _ in range(partitions)]
        self._ends = [0] * partitions

    def read_on(self) -> Ends:
        """Read the new records; return the ends of the partitions."""
        for partition, first in enumerate(self._ends):
            rows: list[Row] = []

            def take(message: Message, rows: list[Row] = rows) -> None:
                rows.extend(_rows(message))

            self._ends[partition] = read_committed(self._bootstrap, self._topic, partition, take, first)
            new = np.array(rows, np.int64).reshape(-1, 6)
            self._read[partition] = np.concatenate([self._read[partition], new])
        return tuple(self._ends)

    def rows(self, partition: int, first: int, end: int) -> Iterable[Row]:
        """Return the committed, valid records of a partition between two offsets."""
        read = self._read[partition]
        begin, stop = np.searchsorted(read[:, 0], [first, end])
        rows: list[Row] = read[begin:stop].tolist()
        return rows


def read_ends(bootstrap: str, topic: str, partitions: int) -> dict[int, Ends]:
    """Return, for each version that is complete in the updates topic, the offsets that it includes."""
    ends: list[dict[int, int]] = []
    for partition in range(partitions):
        here: dict[int, int] = {}

        def take(message: Message, here: dict[int, int] = here) -> None:
            found = decode_any(message.value() or b"", where=topic)
            if isinstance(found, VersionEnd):
                here.setdefault(found.version, found.end)

        read_committed(bootstrap, topic, partition, take)
        ends.append(here)
    whole = set(ends[0]).intersection(*ends)
    return {version: tuple(here[version] for here in ends) for version in sorted(whole)}


def _rows(message: Message) -> list[Row]:
    offset, value = message.offset() or 0, message.value()
    if value is None:
        return [(offset, *key_in(json.loads(message.key() or b"")), message.timestamp()[1], 0, 1)]
    try:
        document = json.loads(value)
    except ValueError:
        return []
    return [(offset, *key_in(document), document["ts"], document["value"], 0)]
