"""Writes of several znodes that ZooKeeper applies together, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kazoo.exceptions import RolledBackError, RuntimeInconsistency

__all__ = ["CheckVersion", "CreateNode", "DeleteNode", "SetContent", "Write", "raise_refused"]


@dataclass(frozen=True)
class CreateNode:
    """Create a znode; the one above it is there."""

    path: str
    content: bytes = field(repr=False)

    def add_to(self, transaction: Any) -> None:
        """Add it to kazoo's transaction."""
        transaction.create(self.path, self.content)


@dataclass(frozen=True)
class SetContent:
    """Replace the content of a znode that is at this version."""

    path: str
    content: bytes = field(repr=False)
    version: int

    def add_to(self, transaction: Any) -> None:
        """Add it to kazoo's transaction."""
        transaction.set_data(self.path, self.content, self.version)


@dataclass(frozen=True)
class DeleteNode:
    """Delete a znode without children; at this version, or (-1) at any."""

    path: str
    version: int = -1

    def add_to(self, transaction: Any) -> None:
        """Add it to kazoo's transaction."""
        transaction.delete(self.path, self.version)


@dataclass(frozen=True)
class CheckVersion:
    """Change nothing, but let the transaction fail unless the znode is at this version."""

    path: str
    version: int

    def add_to(self, transaction: Any) -> None:
        """Add it to kazoo's transaction."""
        transaction.check(self.path, self.version)


Write = CreateNode | SetContent | DeleteNode | CheckVersion
"""One write or check of a transaction."""


def raise_refused(results: Sequence[Any]) -> None:
    """Raise the error of the write for which a transaction was refused.

    Args:
        results: Kazoo's answer: of a refused transaction, an error in place of each write's result.
    """
    errors = [result for result in results if isinstance(result, Exception)]
    # The others were not tried, or taken back.
    causes = [error for error in errors if not isinstance(error, RolledBackError | RuntimeInconsistency)]
    if errors:
        raise (causes or errors)[0]
