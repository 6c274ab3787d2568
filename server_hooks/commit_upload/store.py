"""What a deep store has to be able to do for the uploads of commits."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

__all__ = ["Store"]


class Store(Protocol):
    """A deep store; each method raises OSError where the store refuses, or breaks off."""

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
        """Move an object within the store; False where there is an object already."""
        ...

    def delete(self, uri: str) -> None:
        """Delete an object."""
        ...
