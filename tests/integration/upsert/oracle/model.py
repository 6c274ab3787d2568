"""What a table must show at each version: records are applied one by one, by the documented rules."""

from __future__ import annotations

from dataclasses import dataclass, fields

from tests.integration.upsert.oracle.history import Ends, Input
from tests.integration.upsert.oracle.keys import Key

__all__ = ["Met", "Model", "Total"]


@dataclass(frozen=True)
class Total:
    """The expected result of ``select count(*), sum(value), sum(account)``."""

    count: int
    values: int
    accounts: int


@dataclass
class Met:
    """How often each case to be tested occurred.

    Attributes:
        equal_times: A record had the same time as the current one of its key, but another offset.
        equal_offsets: It also had the same offset, in another partition.
        late: It was older than the current one of its key.
        late_after_tombstone: It was older than the tombstone of its key.
        deleted: A tombstone deleted a row.
        returned: The key of a record had been deleted and has a row again.
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
        """The cases that did not occur."""
        return [each.name for each in fields(self) if not getattr(self, each.name)]


class Model:
    """The current records of the keys, and the rows that they result in.

    Of the records of a key, the one with the greatest time is kept; if times are equal, the one with the
    greatest offset, then with the greatest partition. It is the key's row unless it is a tombstone.

    Args:
        source: The topic with the records.
    """

    def __init__(self, source: Input) -> None:
        self._input = source
        self._taken: list[int] = []
        self._present: dict[Key, tuple[int, int, int]] = {}
        self._values = self._accounts = 0
        self.rows: dict[Key, int] = {}
        self.met = Met()

    def advance(self, ends: Ends) -> None:
        """Apply the records before these offsets; offsets before the previous ones change nothing."""
        for partition, end in enumerate(ends):
            first = self._taken[partition] if self._taken else 0
            for offset, holder, account, time_ms, value, tombstone in self._input.rows(partition, first, end):
                self._take((holder, account), (time_ms, offset, partition), None if tombstone else value)
        self._taken = [max(pair) for pair in zip(ends, self._taken or ends, strict=True)]

    def total(self) -> Total:
        """Return what queries must see now."""
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
