"""Writes to several znodes that ZooKeeper applies atomically."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kazoo.exceptions import RolledBackError, RuntimeInconsistency

__all__ = ["CheckVersion", "CreateNode", "DeleteNode", "SetContent", "Write", "raise_refused"]


@dataclass(frozen=True)
class CreateNode:
    """Create a znode; its parent must exist."""

    path: str
    content: bytes = field(repr=False)

    def add_to(self, transaction: Any) -> None:
        """Add it to kazoo's transaction."""
        transaction.create(self.path, self.content)


@dataclass(frozen=True)
class SetContent:
    """Replace the content of a znode with this version."""

    path: str
    content: bytes = field(repr=False)
    version: int

    def add_to(self, transaction: Any) -> None:
        """Add it to kazoo's transaction."""
        transaction.set_data(self.path, self.content, self.version)


@dataclass(frozen=True)
class DeleteNode:
    """Delete a znode without children; with this version, or -1 for any."""

    path: str
    version: int = -1

    def add_to(self, transaction: Any) -> None:
        """Add it to kazoo's transaction."""
        transaction.delete(self.path, self.version)


@dataclass(frozen=True)
class CheckVersion:
    """Change nothing, but make the transaction fail unless the znode has this version."""

    path: str
    version: int

    def add_to(self, transaction: Any) -> None:
        """Add it to kazoo's transaction."""
        transaction.check(self.path, self.version)


Write = CreateNode | SetContent | DeleteNode | CheckVersion
"""One write or check of a transaction."""


def raise_refused(results: Sequence[Any]) -> None:
    """Raise the error of the write that made a transaction fail.

    Args:
        results: Kazoo's results: for a refused transaction, an error instead of each write's result.
    """
    errors = [result for result in results if isinstance(result, Exception)]
    # The others were not tried, or were rolled back.
    causes = [error for error in errors if not isinstance(error, RolledBackError | RuntimeInconsistency)]
    if errors:
        raise (causes or errors)[0]
