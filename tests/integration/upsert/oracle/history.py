"""What a topic of records holds, and what a table of it is to hold at each version: the model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from confluent_kafka import Message
from numpy.typing import NDArray

from controller_client.upsert.update_message import VersionEnd, decode_any
from tests.support.kafka_topics import read_committed


@dataclass(frozen=True)
class Records:
    """Committed records of a partition that can be understood, in the order of their offsets; arrays of
    int64.

    Attributes:
        end: The offset after the partition's last message, whatever that is.
    """

    offsets: NDArray[np.int64]
    keys: NDArray[np.int64]
    times: NDArray[np.int64]
    values: NDArray[np.int64]
    end: int


@dataclass(frozen=True)
class Total:
    """What ``select count(*), sum(value)`` is to answer at a version."""

    count: int
    sum: int


def read_records(bootstrap: str, topic: str, partitions: int) -> list[Records]:
    """Read a topic of ``{"id": .., "value": .., "ts": ..}``; aborted transactions are left out."""
    found = []
    for partition in range(partitions):
        rows: list[tuple[int, int, int, int]] = []

        def take(message: Message, rows: list[tuple[int, int, int, int]] = rows) -> None:
            rows.extend(_row(message.offset() or 0, message.value() or b""))

        end = read_committed(bootstrap, topic, partition, take)
        columns = np.array(rows, dtype=np.int64).reshape(-1, 4)
        found.append(Records(columns[:, 0], columns[:, 1], columns[:, 2], columns[:, 3], end))
    return found


def read_ends(bootstrap: str, topic: str, partitions: int) -> dict[int, tuple[int, ...]]:
    """Return by version the offsets that it ends before, one of each partition; versions that are whole."""
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


class Model:
    """The winners of all keys, version by version.

    Args:
        records: By partition.
        keys: The keys are 0 to this one, without it.
    """

    def __init__(self, records: Sequence[Records], keys: int) -> None:
        self._records = records
        self._known = np.zeros(keys, dtype=np.bool_)
        self._rank = np.zeros((keys, 3), dtype=np.int64)
        self._values = np.zeros(keys, dtype=np.int64)
        self._taken = [0] * len(records)

    def totals(self, ends: Mapping[int, Sequence[int]]) -> dict[int, Total]:
        """Return what is to be seen at each version, given the offsets that it ends before."""
        found = {}
        for version in sorted(ends):
            self._take(ends[version])
            found[version] = Total(int(self._known.sum()), int(self._values[self._known].sum()))
        return found

    def _take(self, ends: Sequence[int]) -> None:
        parts = []
        for partition, (records, end) in enumerate(zip(self._records, ends, strict=True)):
            first, last = self._taken[partition], int(np.searchsorted(records.offsets, end))
            self._taken[partition] = max(first, last)
            here = slice(first, last)
            rows = (records.keys[here], records.times[here], records.offsets[here])
            parts.append(np.stack([*rows, np.full(len(rows[0]), partition), records.values[here]], axis=1))
        new = np.concatenate(parts)
        # The last of each key in this order is the greatest of the new ones.
        new = new[np.lexsort((new[:, 3], new[:, 2], new[:, 1], new[:, 0]))]
        new = new[np.flatnonzero(np.append(new[1:, 0] != new[:-1, 0], True))] if len(new) else new
        keys, ranks = new[:, 0], new[:, 1:4]
        old = self._rank[keys]
        wins = ~self._known[keys] | _greater(ranks, old)
        self._rank[keys[wins]] = ranks[wins]
        self._values[keys[wins]] = new[wins, 4]
        self._known[keys] = True


def _greater(left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Compare rows, the first column first."""
    found: NDArray[np.bool_] = left[:, 2] > right[:, 2]
    for column in (1, 0):
        same = left[:, column] == right[:, column]
        found = (left[:, column] > right[:, column]) | (same & found)
    return found


def _row(offset: int, value: bytes) -> list[tuple[int, int, int, int]]:
    try:
        document = json.loads(value)
        return [(offset, document["id"], document["ts"], document["value"])]
    except (ValueError, KeyError, TypeError):
        return []
