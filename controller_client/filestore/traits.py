"""How file systems of fsspec differ, as far as a store has to know it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["StoreTraits"]


@dataclass(frozen=True)
class StoreTraits:
    """How a file system of fsspec behaves.

    Attributes:
        protocol: Its name in fsspec.
        version_key: What of a file's description changes with each write; None: there is nothing but its
            time and size.
        is_file_system: Whether it is one of files and folders, unlike a store of objects: a file is visible
            before it is whole, so it is written beside its place and renamed, and folders stay when they are
            empty.
        is_listed_flat: Whether all below a folder is listed at once, not folder by folder.
        load: Imports its class, and raises ModuleNotFoundError where a library is missing; None: the class
            that fsspec has for the protocol.
    """

    protocol: str
    version_key: str | None = None
    is_file_system: bool = False
    is_listed_flat: bool = False
    load: Callable[[], Any] | None = None
