"""Who holds the leases and locks of a cluster, and who stands in line for them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from controller_client.common.word_enum import WordEnum
from controller_client.errors import DataError, FormatVersionError
from controller_client.zookeeper.connection import ZooKeeperConnection
from controller_client.zookeeper.holder import LockHolder
from controller_client.zookeeper.lease import leases_path
from controller_client.zookeeper.line import in_order
from controller_client.zookeeper.lock import locks_path
from controller_client.zookeeper.property_store import PropertyStore

__all__ = ["Standing", "StandingKind", "StandingState", "read_standing"]


_PLACE = re.compile(r"[0-9a-f]{32}(-|__lock__)[0-9]{10}")
"""The name of a place: of a lease, of kazoo's lock."""


class StandingKind(WordEnum):
    """What a process stands in line for."""

    LEASE = "lease"
    LOCK = "lock"


class StandingState(WordEnum):
    """Whether it is the first."""

    HOLDS = "holds"
    STANDS_BY = "stands_by"


@dataclass(frozen=True)
class Standing:
    """One process that stands in one line.

    Attributes:
        kind: For a lease or a lock.
        name: Of that, below where all of its kind are.
        state: Whether it is the first.
        holder: Who it is; None: its process is of a later release, or does not say.
        number: ZooKeeper's number of its place: greater than those of all before it.
    """

    kind: StandingKind
    name: str
    state: StandingState
    holder: LockHolder | None
    number: int


def read_standing(store: PropertyStore) -> list[Standing]:
    """Read who stands in line, line by line, the holder first.

    Raises:
        UnreachableError: ZooKeeper does not answer.
    """
    found = []
    for kind, root in ((StandingKind.LEASE, leases_path(store)), (StandingKind.LOCK, locks_path(store))):
        for name, entries in _lines(store.connection, root):
            state = StandingState.HOLDS
            for entry in entries:
                read = store.connection.get(entry)
                number = store.connection.creation_order(entry)
                if read is None or number is None:
                    continue  # it has left the line meanwhile
                found.append(Standing(kind, name, state, _holder(read[0], entry), number))
                state = StandingState.STANDS_BY
    return found


def _lines(connection: ZooKeeperConnection, root: str, name: str = "") -> list[tuple[str, list[str]]]:
    """The lines at and below a path, each with the paths of its places in their order."""
    path = f"{root}/{name}" if name else root
    names = connection.children(path) or []
    places = [each for each in names if _PLACE.fullmatch(each)]
    lines = [(name, [f"{path}/{each}" for each in in_order(places)])] if places else []
    for each in names:
        if each not in places:
            lines += _lines(connection, root, f"{name}/{each}" if name else each)
    return lines


def _holder(content: bytes, where: str) -> LockHolder | None:
    try:
        return LockHolder.from_json(content, where)
    except (FormatVersionError, DataError):
        return None
