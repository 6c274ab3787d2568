"""What every file store offers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from controller_client.common.visible_text import visible
from controller_client.errors import DataError


class SourceChangedError(DataError):
    """A source file was replaced, changed or removed after it was listed."""


@dataclass(frozen=True, slots=True)
class FileInfo:
    """One file as a listing saw it; two listings of an unchanged file are equal.

    Attributes:
        uri: ``file:///absolute/path`` or ``s3://bucket/key``, character by character and not percent-encoded:
            it is an identity. Bytes of a local name that are not UTF-8 are surrogates, as Python has them.
        size_bytes: Length of the stored file (compressed, where it is compressed).
        modified_ms: Time of the last modification, epoch milliseconds.
        etag: The store's version tag of the content, where it has one (S3).
    """

    uri: str
    size_bytes: int
    modified_ms: int
    etag: str | None = None

    @property
    def shown(self) -> str:
        """The URI as people get to see it."""
        return visible(self.uri)


class FileStore(Protocol):
    """A place of files.

    All methods raise `SourceError` with the URI when the place itself is not usable, and `DiskFullError` when
    no room is left there.
    """

    def list(self, directory_uri: str) -> Iterator[FileInfo]:
        """List all files below a folder, recursively, in the order of their URIs, page by page."""
        ...

    def local_copy(self, file: FileInfo, work_dir: Path) -> AbstractContextManager[Path]:
        """Give the file as a local path for reading.

        On leaving the context without an error the file is checked once more: what was read was the file as
        listed.

        Raises:
            SourceChangedError: The file is no longer the one that was listed.
        """
        ...

    def upload(self, path: Path, uri: str) -> None:
        """Put a local file at a URI; it appears whole or not at all, and replaces what was there."""
        ...

    def download(self, uri: str, path: Path) -> None:
        """Fetch the file at a URI to a local path."""
        ...

    def size_bytes(self, uri: str) -> int | None:
        """Return the length of the file at a URI; None where there is none."""
        ...

    def delete(self, uri: str) -> None:
        """Delete the file at a URI; a missing one is fine."""
        ...

    def delete_tree(self, directory_uri: str) -> int:
        """Delete a folder with all below it; returns how many files went. A missing folder is fine."""
        ...
