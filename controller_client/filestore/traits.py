"""The differences between fsspec's file systems that matter to a store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["StoreTraits"]


@dataclass(frozen=True)
class StoreTraits:
    """The traits of an fsspec file system.

    Attributes:
        protocol: Its name in fsspec.
        version_key: The entry of a file's description that changes with each write; None: only its time and
            size do.
        is_file_system: Whether it has files and folders, unlike an object store: a file is visible before it
            is complete, so it is written under another name and renamed; empty folders remain.
        is_listed_flat: Whether a folder is listed recursively at once, not folder by folder.
        load: Imports its class and raises ModuleNotFoundError if a library is missing; None: fsspec's class
            for the protocol.
    """

    protocol: str
    version_key: str | None = None
    is_file_system: bool = False
    is_listed_flat: bool = False
    load: Callable[[], Any] | None = None
