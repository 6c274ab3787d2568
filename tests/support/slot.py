"""Addresses and ports of one test session, so that sessions on one machine do not collide.

Every role has its own loopback address, as it has its own host in a real cluster. It also has its own ports,
because Pinot opens some of them on all addresses; a session takes a slot of ports.
"""

from __future__ import annotations

import fcntl
import socket
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import IO

from jvm_bridge.jars import cache_folder
from tests.support.processes import end_recorded

_FIRST_PORT = 21300
_PORTS_PER_SLOT = 30
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


@dataclass(frozen=True)
class Slot:
    """A range of ports that this process has until the slot is released.

    Attributes:
        number: Number of the slot.
        folder: Folder of the slot, which outlives the session.
    """

    number: int
    folder: Path
    _lock: IO[str] = field(repr=False)

    @property
    def processes(self) -> Path:
        """The record of the session's processes."""
        return self.folder / "processes"

    def port(self, offset: int) -> int:
        """Return the port at an offset of :class:`Port`."""
        return _FIRST_PORT + self.number * _PORTS_PER_SLOT + offset

    def release(self) -> None:
        """Release the slot for other sessions."""
        self._lock.close()


def take_slot() -> Slot:
    """Take a free slot, and end the processes that a killed session left in it.

    The lock is released when the process ends, however that happens.

    Raises:
        RuntimeError: No slot is free.
    """
    sessions = cache_folder() / "test-sessions"
    for number in range(_SLOTS):
        folder = sessions / str(number)
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        slot = Slot(number, folder, lock)
        end_recorded(slot.processes)
        # Another user's session has its locks in another place, and other programs have none.
        if all(_is_free(slot.port(offset)) for offset in range(_PORTS_PER_SLOT)):
            return slot
        slot.release()
    last = _FIRST_PORT + _SLOTS * _PORTS_PER_SLOT - 1
    raise RuntimeError(
        f"no ports for a test session: {_SLOTS} sessions run already (locks in {sessions}), "
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
