"""ZooKeeper's data on a znode and its children."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Children", "Znode"]


class Znode(NamedTuple):
    """A znode as read.

    Attributes:
        content: Its content.
        version: Number of changes.
        zxid: ZooKeeper's number of the transaction that wrote it: greater than those of all earlier ones,
            including those on other znodes.
    """

    content: bytes
    version: int
    zxid: int


class Children(NamedTuple):
    """The children of a znode as read.

    Attributes:
        names: Sorted names; empty if the znode does not exist.
        zxid: Number of the last transaction that added or removed a child; 0 if the znode does not exist.
    """

    names: tuple[str, ...]
    zxid: int
