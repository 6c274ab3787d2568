"""The line of processes below a znode, in order of arrival: an ephemeral, sequential znode for each."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kazoo.exceptions import KazooException
from kazoo.handlers.threading import KazooTimeoutError

from controller_client.errors import UnreachableError
from controller_client.zookeeper.connection import ZooKeeperConnection
from controller_client.zookeeper.reads import LOST_REPLY

__all__ = ["Line", "Position", "in_order"]

_DIGITS = 10
"""Number of digits that ZooKeeper appends to the name of a sequential znode."""


@dataclass(frozen=True)
class Position:
    """A process's position in line.

    Attributes:
        own: Path of its znode; None: it is not in line.
        ahead: Paths of the znodes before it, in order; of all znodes if it is not in line.
    """

    own: str | None
    ahead: tuple[str, ...]


class Line:
    """A process's position in a line; each method does one step, within the connection's time limit.

    Args:
        connection: Its session is used only for this line and ends with it.
        path: The znode above the line's znodes.
        content: Content of this process's znode.
    """

    def __init__(self, connection: ZooKeeperConnection, path: str, content: bytes) -> None:
        self.path = path
        self._connection = connection
        self._content = content
        self._token = uuid.uuid4().hex

    def enter(self) -> None:
        """Join the end of the line.

        If the reply is lost, :meth:`position` shows whether this process is in line.

        Raises:
            AuthError: ZooKeeper's ACLs forbid it.
            RejectedError: ZooKeeper refuses it for another reason, e.g. an invalid ACL.
            UnreachableError: ZooKeeper does not answer; the session is abandoned.
        """
        kazoo = self._connection.kazoo()
        pending = kazoo.create_async(
            f"{self.path}/{self._token}-", self._content, ephemeral=True, sequence=True, makepath=True
        )
        try:
            pending.get(timeout=self._connection.timeout_s)
        except (KazooTimeoutError, *LOST_REPLY) as error:
            # A call in kazoo's queue must not be sent later, when nothing tracks it.
            self.leave()
            raise UnreachableError(
                f"ZooKeeper did not answer ({type(error).__name__})", where=self._connection.address
            ) from error
        except KazooException as error:
            raise self._connection.refusal(self.path, error) from error

    def position(self) -> Position:
        """Return this process's position at some moment after the start of this call.

        Raises:
            UnreachableError: ZooKeeper does not answer.
        """
        # A server that lags behind the leader, or is disconnected from it, would return an old line.
        self._connection.current_zxid()
        names = in_order(self._connection.children(self.path) or ())
        own = next((number for number, name in enumerate(names) if name.startswith(self._token)), None)
        paths = [f"{self.path}/{name}" for name in names]
        return Position(None, tuple(paths)) if own is None else Position(paths[own], tuple(paths[:own]))

    def exists(self, znode: str, changed: Callable[[Any], None]) -> bool:
        """Return whether a znode exists at some moment after the start of this call.

        Args:
            znode: Its path.
            changed: Called once, in kazoo's thread, when it is deleted or the connection breaks.

        Raises:
            UnreachableError: ZooKeeper does not answer.
        """
        self._connection.current_zxid()
        return self._connection.watch(znode, changed) is not None

    def number(self, znode: str) -> int | None:
        """Return a number greater than those of all znodes created before; None if it does not exist."""
        return self._connection.creation_order(znode)

    def content(self, znode: str) -> bytes | None:
        """Return the content of a znode; None if it does not exist."""
        found = self._connection.get(znode)
        return None if found is None else found[0]

    def leave(self) -> None:
        """End the session and thereby leave the line: at once, or when an unreachable ZooKeeper ends it."""
        self._connection.close()
        self._token = uuid.uuid4().hex


def in_order(names: list[str] | tuple[str, ...]) -> list[str]:
    """Return the names of sequential znodes in order of creation."""
    return sorted(names, key=lambda name: name[-_DIGITS:])
