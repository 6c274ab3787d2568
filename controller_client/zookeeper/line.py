"""The processes that stand in line below a znode, first come first: an ephemeral, sequential znode each."""

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

__all__ = ["Line", "Place", "in_order"]

_DIGITS = 10
"""ZooKeeper ends the name of a sequential znode with so many."""


@dataclass(frozen=True)
class Place:
    """Where a process stands.

    Attributes:
        own: Path of its znode; None: it does not stand in line.
        ahead: Paths of those before it, the first of all first; without an own one, of all.
    """

    own: str | None
    ahead: tuple[str, ...]


class Line:
    """A process' place in a line; each method is one look or one step, and ends in the connection's time.

    Args:
        connection: Its session is this line's alone: it ends with the place.
        path: The znode below which they stand.
        content: Of the own znode.
    """

    def __init__(self, connection: ZooKeeperConnection, path: str, content: bytes) -> None:
        self.path = path
        self._connection = connection
        self._content = content
        self._token = uuid.uuid4().hex

    def enter(self) -> None:
        """Stand at the end of the line.

        Where the reply is lost, :meth:`look` shows whether this one stands there.

        Raises:
            AuthError: ZooKeeper's ACLs do not allow it.
            RejectedError: ZooKeeper refuses it for another reason, e.g. an ACL that is none to it.
            UnreachableError: ZooKeeper does not answer; the session is given up.
        """
        kazoo = self._connection.kazoo()
        asked = kazoo.create_async(
            f"{self.path}/{self._token}-", self._content, ephemeral=True, sequence=True, makepath=True
        )
        try:
            asked.get(timeout=self._connection.timeout_s)
        except (KazooTimeoutError, *LOST_REPLY) as error:
            # What lies in kazoo's queue must not be sent later, when nobody looks after it.
            self.leave()
            raise UnreachableError(
                f"ZooKeeper did not answer ({type(error).__name__})", where=self._connection.address
            ) from error
        except KazooException as error:
            raise self._connection.refusal(self.path, error) from error

    def look(self) -> Place:
        """Return the own place, as it is at some moment after this call began.

        Raises:
            UnreachableError: ZooKeeper does not answer.
        """
        # A server that is behind the leader, or cut off from it, would show a line of the past.
        self._connection.current_zxid()
        names = in_order(self._connection.children(self.path) or ())
        own = next((place for place, name in enumerate(names) if name.startswith(self._token)), None)
        paths = [f"{self.path}/{name}" for name in names]
        return Place(None, tuple(paths)) if own is None else Place(paths[own], tuple(paths[:own]))

    def is_there(self, znode: str, changed: Callable[[Any], None]) -> bool:
        """Return whether a znode is there, at some moment after this call began.

        Args:
            znode: Its path.
            changed: Called once, in kazoo's thread, when it goes, or when the connection is cut.

        Raises:
            UnreachableError: ZooKeeper does not answer.
        """
        self._connection.current_zxid()
        return self._connection.watch(znode, changed) is not None

    def number(self, znode: str) -> int | None:
        """Return a number that is greater than those of all znodes made before; None: there is no znode."""
        return self._connection.creation_order(znode)

    def content(self, znode: str) -> bytes | None:
        """Return the content of a znode; None: there is none."""
        found = self._connection.get(znode)
        return None if found is None else found[0]

    def leave(self) -> None:
        """End the session, and with it the place; at once where ZooKeeper answers, else when that ends it."""
        self._connection.close()
        self._token = uuid.uuid4().hex


def in_order(names: list[str] | tuple[str, ...]) -> list[str]:
    """Return the names of sequential znodes, the first that was made first."""
    return sorted(names, key=lambda name: name[-_DIGITS:])
