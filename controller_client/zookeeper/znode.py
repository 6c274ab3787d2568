"""What ZooKeeper answers of a znode and of its children."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Children", "Znode"]


class Znode(NamedTuple):
    """A znode as it was read.

    Attributes:
        content: What it holds.
        version: How often it was changed.
        zxid: ZooKeeper's number of the transaction that wrote it: greater than that of all before, also of
            other znodes.
    """

    content: bytes
    version: int
    zxid: int


class Children(NamedTuple):
    """The children of a znode as they were read.

    Attributes:
        names: Sorted; none where the znode is not there.
        zxid: Number of the transaction by which a child came or went last; 0 where the znode is not there.
    """

    names: tuple[str, ...]
    zxid: int
