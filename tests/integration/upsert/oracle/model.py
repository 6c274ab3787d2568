"""What a table is to show at each version: one record after the other, as the documentation says it."""

from __future__ import annotations

from dataclasses import dataclass, fields

from tests.integration.upsert.oracle.history import Ends, Input
from tests.integration.upsert.oracle.keys import Key

__all__ = ["Met", "Model", "Total"]


@dataclass(frozen=True)
class Total:
    """What ``select count(*), sum(value), sum(account)`` is to answer."""

    count: int
    values: int
    accounts: int


@dataclass
class Met:
    """How often each thing that is to be tested was there.

    Attributes:
        equal_times: A record had the time of its key's present one, and another offset.
        equal_offsets: It had the same offset too, in another partition.
        late: It was older than its key's present one.
        late_after_tombstone: It was older than the tombstone of its key.
        deleted: A tombstone took a row away.
        returned: A record's key had been deleted, and has a row again.
    """

    equal_times: int = 0
    equal_offsets: int = 0
    late: int = 0
    late_after_tombstone: int = 0
    deleted: int = 0
    returned: int = 0

    def __str__(self) -> str:
        counts = (f"{getattr(self, each.name):,} {each.name.replace('_', ' ')}" for each in fields(self))
        return ", ".join(counts)

    def missing(self) -> list[str]:
        """What was not there."""
        return [each.name for each in fields(self) if not getattr(self, each.name)]


class Model:
    """The keys' records, and the rows that they make.

    Of the records of a key the one with the greatest time stays, then with the greatest offset, then with the
    greatest partition. It is the key's row, but for a tombstone.

    Args:
        source: Where the records are.
    """

    def __init__(self, source: Input) -> None:
        self._input = source
        self._taken: list[int] = []
        self._present: dict[Key, tuple[int, int, int]] = {}
        self._values = self._accounts = 0
        self.rows: dict[Key, int] = {}
        self.met = Met()

    def advance(self, ends: Ends) -> None:
        """Take the records before these offsets; earlier offsets than the former ones change nothing."""
        for partition, end in enumerate(ends):
            first = self._taken[partition] if self._taken else 0
            for offset, holder, account, time_ms, value, tombstone in self._input.rows(partition, first, end):
                self._take((holder, account), (time_ms, offset, partition), None if tombstone else value)
        self._taken = [max(pair) for pair in zip(ends, self._taken or ends, strict=True)]

    def total(self) -> Total:
        """Return what is to be seen now."""
        return Total(len(self.rows), self._values, self._accounts)

    def _take(self, key: Key, rank: tuple[int, int, int], value: int | None) -> None:
        present = self._present.get(key)
        if present is not None:
            self._count(key, present, rank, value)
            if rank < present:
                return
        self._present[key] = rank
        if key in self.rows:
            self._values -= self.rows.pop(key)
            self._accounts -= key[1]
        if value is not None:
            self.rows[key] = value
            self._values += value
            self._accounts += key[1]

    def _count(
        self, key: Key, present: tuple[int, int, int], rank: tuple[int, int, int], value: int | None
    ) -> None:
        met, seen = self.met, key in self.rows
        if rank[:2] == present[:2]:
            met.equal_offsets += 1
        elif rank[0] == present[0]:
            met.equal_times += 1
        elif rank < present:
            met.late += 1
            met.late_after_tombstone += not seen
        if rank > present:
            met.deleted += seen and value is None
            met.returned += not seen and value is not None
