"""A folder of files as a source."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from controller_client.filestore import FileInfo, FileStore
from minion_tasks.sources.base import Columns, SourceListing, SourceVersion

__all__ = ["FolderSource"]


class FolderSource:
    """The files in a folder and its subfolders.

    Args:
        store: The store of the folder.
        uri: The folder.
    """

    def __init__(self, store: FileStore, uri: str) -> None:
        self._store = store
        self._uri = uri

    def list(
        self,
        columns: Columns,  # files have whatever columns they have
        version: SourceVersion | None = None,  # a folder has none
    ) -> SourceListing:
        """List the files; see :class:`TaskSource`."""
        return SourceListing(self._store.list(self._uri))

    def local_copy(
        self,
        file: FileInfo,
        version: SourceVersion | None,  # a folder has none
        columns: Columns,
        work_dir: Path,
    ) -> AbstractContextManager[Path]:
        """Provide a file; see :class:`TaskSource`."""
        return self._store.local_copy(file, work_dir)
