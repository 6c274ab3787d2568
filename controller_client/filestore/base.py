"""The interface of all file stores."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from controller_client.common.text import visible
from controller_client.errors import DataError, SourceError

_LONGEST_NAME_BYTES = 255


class SourceChangedError(DataError):
    """A source file was replaced, changed or removed after it was listed."""


class FolderMissingError(SourceError):
    """The folder to list does not exist; object stores without folders list none instead."""


@dataclass(frozen=True, slots=True)
class FileInfo:
    """A file in a listing; two listings of an unchanged file are equal.

    Attributes:
        uri: ``file:///absolute/path`` or ``s3://bucket/key``, literal and not percent-encoded: it identifies
            the file. Non-UTF-8 bytes of a local name are surrogates, as in Python.
        size_bytes: Size of the stored file (as compressed).
        modified_ms: Time of the last modification, epoch milliseconds.
        etag: The store's version tag of the content, if it has one (S3).
    """

    uri: str
    size_bytes: int
    modified_ms: int
    etag: str | None = None

    @property
    def shown(self) -> str:
        """The URI for display."""
        return visible(self.uri)

    @property
    def copy_name(self) -> str:
        """The name for a local copy: its own, which errors show, if a file here can have it."""
        name = self.uri.rpartition("/")[2]
        if name not in ("", ".", "..") and "\0" not in name and len(os.fsencode(name)) <= _LONGEST_NAME_BYTES:
            return name
        # Readers take this ending as compression.
        return "object.gz" if name.endswith(".gz") else "object"


class FileStore(Protocol):
    """A store of files.

    All methods raise `SourceError` with the URI if the store is unusable, and `DiskFullError` if it is full.
    """

    def list(self, directory_uri: str) -> Iterator[FileInfo]:
        """List all files below a folder, recursively, sorted by URI, page by page.

        Raises:
            FolderMissingError: There is no such folder, and the store has folders.
        """
        ...

    def local_copy(self, file: FileInfo, work_dir: Path) -> AbstractContextManager[Path]:
        """Provide the file as a local path for reading.

        On leaving the context without an error, the file is checked again, so that the content read is that
        of the listed file.

        Raises:
            SourceChangedError: The file is no longer the listed one.
        """
        ...

    def upload(self, path: Path, uri: str) -> None:
        """Upload a local file to a URI; it appears atomically and replaces an existing file."""
        ...

    def download(self, uri: str, path: Path) -> None:
        """Download the file at a URI to a local path."""
        ...

    def size_bytes(self, uri: str) -> int | None:
        """Return the size of the file at a URI; None if it does not exist."""
        ...

    def move(self, source_uri: str, target_uri: str) -> bool:
        """Move a file within the store; a file at the target is replaced, missing folders are created.

        At every moment, the complete file is at one of the two URIs, or at both: it is renamed, or copied by
        the store and deleted at the source only after the copy has the right size.

        Returns:
            False if there is no file at the source.
        """
        ...

    def delete(self, uri: str) -> None:
        """Delete the file at a URI, if it exists."""
        ...

    def delete_tree(self, directory_uri: str) -> int:
        """Delete a folder recursively, if it exists; return the number of deleted files."""
        ...
