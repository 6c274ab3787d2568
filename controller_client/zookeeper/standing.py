"""Lists the holders of a cluster's leases and locks, and the processes in line for them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from controller_client.common.text import WordEnum
from controller_client.errors import DataError, FormatVersionError
from controller_client.zookeeper.connection import ZooKeeperConnection
from controller_client.zookeeper.holder import LockHolder
from controller_client.zookeeper.lease import leases_path
from controller_client.zookeeper.line import in_order
from controller_client.zookeeper.lock import locks_path
from controller_client.zookeeper.property_store import PropertyStore

__all__ = ["Standing", "StandingKind", "StandingState", "read_standing"]


_ENTRY = re.compile(r"[0-9a-f]{32}(-|__lock__)[0-9]{10}")
"""The name of an entry in line, of a lease or of kazoo's lock."""


class StandingKind(WordEnum):
    """What a process is in line for."""

    LEASE = "lease"
    LOCK = "lock"


class StandingState(WordEnum):
    """Whether a process is first in line."""

    HOLDS = "holds"
    STANDS_BY = "stands_by"


@dataclass(frozen=True)
class Standing:
    """A process in a line.

    Attributes:
        kind: Lease or lock.
        name: Name of the lease or lock.
        state: Whether the process is first in line.
        holder: The process; None if it is of a later release or unnamed.
        number: ZooKeeper's number of its entry; greater than those of all before it.
    """

    kind: StandingKind
    name: str
    state: StandingState
    holder: LockHolder | None
    number: int


def read_standing(store: PropertyStore) -> list[Standing]:
    """Return the processes in line, line by line, the holder first.

    Raises:
        UnreachableError: ZooKeeper does not answer.
    """
    processes = []
    for kind, root in ((StandingKind.LEASE, leases_path(store)), (StandingKind.LOCK, locks_path(store))):
        for name, entries in _lines(store.connection, root):
            state = StandingState.HOLDS
            for entry in entries:
                read = store.connection.get(entry)
                number = store.connection.creation_order(entry)
                if read is None or number is None:
                    continue  # it has left the line in the meantime
                processes.append(Standing(kind, name, state, _holder(read[0], entry), number))
                state = StandingState.STANDS_BY
    return processes


def _lines(connection: ZooKeeperConnection, root: str, name: str = "") -> list[tuple[str, list[str]]]:
    """Return the lines at and below a path, each with the paths of its entries in order."""
    path = f"{root}/{name}" if name else root
    names = connection.children(path) or []
    entries = [child for child in names if _ENTRY.fullmatch(child)]
    lines = [(name, [f"{path}/{entry}" for entry in in_order(entries)])] if entries else []
    for child in names:
        if child not in entries:
            lines += _lines(connection, root, f"{name}/{child}" if name else child)
    return lines


def _holder(content: bytes, where: str) -> LockHolder | None:
    try:
        return LockHolder.from_json(content, where)
    except (FormatVersionError, DataError):
        return None
