"""Addresses and ports of one test session, so that sessions on one machine do not collide.

Every role has its own loopback address, as it has its own host in a real cluster. It also has its own ports,
because Pinot opens some of them on all addresses; a session takes a slot of ports, and a folder with it.
"""

from __future__ import annotations

import fcntl
import socket
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import IO

from jvm_bridge.jars import cache_folder

_FIRST_PORT = 21300
_PORTS_PER_SLOT = 32
_SLOTS = 5


class Port(IntEnum):
    """Offsets of the ports in a slot; a server has five in a row."""

    ZOOKEEPER = 0
    CONTROLLER = 1
    BROKER = 2
    BROKER_RUNNER = 3
    SERVER_1 = 4
    SERVER_2 = 9
    MINION = 14
    S3 = 15
    KAFKA = 16
    KAFKA_CONTROLLER = 17
    HOSTED_1 = 18
    HOSTED_2 = 23
    HOSTED_BROKER = 28
    HOSTED_BROKER_RUNNER = 29
    HOSTED_STORE = 30
    SECOND_CONTROLLER = 31


@dataclass(frozen=True)
class Slot:
    """A range of ports and a folder, which one session uses at a time.

    Attributes:
        number: Number of the slot.
    """

    number: int

    @property
    def folder(self) -> Path:
        """Folder of the slot, which outlives the session."""
        return cache_folder() / "test-sessions" / str(self.number)

    @property
    def services(self) -> Path:
        """Folder of the session's services."""
        return self.folder / "services"

    @property
    def kept(self) -> Path:
        """File that describes the services that a run has left for the next; it exists only with them."""
        return self.folder / "kept.json"

    def port(self, offset: int) -> int:
        """Return the port at an offset of :class:`Port`."""
        return _FIRST_PORT + self.number * _PORTS_PER_SLOT + offset

    def is_free(self) -> bool:
        """Return whether nothing listens at its ports."""
        return all(_is_free(self.port(offset)) for offset in range(_PORTS_PER_SLOT))

    def lock(self) -> IO[str] | None:
        """Take the slot until the returned file is closed or this process ends; None: another has it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = (self.folder / "lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return None
        return lock


def slots() -> list[Slot]:
    """Return all slots, those with kept services first."""
    return sorted(map(Slot, range(_SLOTS)), key=lambda slot: not slot.kept.exists())


def no_slot() -> RuntimeError:
    """Return the error for a machine without a free slot."""
    last = _FIRST_PORT + _SLOTS * _PORTS_PER_SLOT - 1
    return RuntimeError(
        f"no ports for a test session: {_SLOTS} sessions run already (locks in {Slot(0).folder.parent}), "
        f"or other programs listen between {_FIRST_PORT} and {last}"
    )


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # Connections that ended a moment ago do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
