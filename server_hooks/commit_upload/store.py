"""The operations of a deep store that the uploads of commits need."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

__all__ = ["SegmentStore"]


class SegmentStore(Protocol):
    """A deep store; each method raises OSError if the store rejects the request or the connection breaks."""

    def put(self, file: Path, uri: str) -> None:
        """Copy a file to the store."""
        ...

    def fetch(self, uri: str, file: Path) -> None:
        """Copy an object from the store."""
        ...

    def copy(self, source: str, target: str) -> None:
        """Copy an object within the store."""
        ...

    def move(self, source: str, target: str) -> bool:
        """Move an object within the store; returns False if the target exists."""
        ...

    def delete(self, uri: str) -> None:
        """Delete an object."""
        ...
