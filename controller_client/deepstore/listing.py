"""What the store contains, from listings of folders instead of one request for each object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from controller_client.deepstore.judge import Stored, StoredState
from controller_client.deepstore.layout import StoreLayout, shown
from controller_client.deepstore.segment_record import SegmentRecord
from controller_client.errors import ConfigError, DataError, SourceError
from controller_client.filestore import FileStore, OpenStores, open_store, scheme_of
from controller_client.filestore.local import local_path
from controller_client.segment_tar import TarLimits, judge_copy, on_this_disk

__all__ = ["OpenStore", "StoreListing", "deep_stores", "open_deep_store"]

OpenStore = Callable[[str], FileStore]
"""Returns the file store for a URI."""

_KEY = "the download URL"


def deep_stores() -> OpenStore:
    """Return a function that opens file stores as :func:`open_deep_store` does, each only once."""
    return OpenStores({}, key=_KEY)


def open_deep_store(uri: str) -> FileStore:
    """Open the file store for a URI; credentials are those that boto3 finds in the environment.

    Raises:
        ConfigError: There is no file store for its scheme.
    """
    return open_store(uri, {}, key=_KEY)


class StoreListing:
    """Sizes of stored tars.

    A folder is listed when its first object is needed, and the listing is kept: create a new one for each
    table.

    Args:
        layout: The deep store.
        open_store: Returns the file store for a URI.
    """

    def __init__(self, layout: StoreLayout, open_store: OpenStore) -> None:
        self._layout = layout
        self._open = open_store
        self._sizes: dict[str, dict[str, int] | str] = {}

    def inspect(self, url: str) -> Stored:
        """Describe what is at a download URL."""
        uri = self._layout.object_of(url)
        if uri is None:
            return Stored(
                StoredState.UNKNOWN, why=f"not a location in the store that can be listed: {shown(url)}"
            )
        folder = uri.rpartition("/")[0]
        if folder not in self._sizes:
            self._sizes[folder] = self._list(folder)
        listing = self._sizes[folder]
        if isinstance(listing, str):
            return Stored(StoredState.UNKNOWN, why=listing)
        if uri not in listing:
            return Stored(StoredState.ABSENT)
        return Stored(StoredState.PRESENT, size_bytes=listing[uri])

    def read(self, record: SegmentRecord, stored: Stored, work_file: Path, limits: TarLimits) -> Stored:
        """Read an existing tar, and check whether it is the segment.

        Args:
            record: The segment's record.
            stored: What :meth:`inspect` returned.
            work_file: File that is written and removed again.
            limits: Limits for reading the tar.

        Raises:
            SetupError: This machine's disk is full.
        """
        uri = self._layout.object_of(record.url)
        if uri is None or stored.state is not StoredState.PRESENT:
            return stored
        limits = limits.for_size(record.size_bytes)
        if (stored.size_bytes or 0) > limits.max_tar_bytes:
            return replace(stored, unproven=f"larger than the allowed {limits.max_tar_bytes:,} bytes")
        try:
            with on_this_disk(work_file):
                self._open(uri).download(uri, work_file)
                reason = judge_copy(work_file, record.expected, limits).reason
                return replace(stored, proven=reason is None, unproven=reason)
        except DataError as error:
            return replace(stored, unproven=error.message)
        except SourceError as error:
            return Stored(StoredState.UNKNOWN, why=error.message)
        finally:
            work_file.unlink(missing_ok=True)

    def _list(self, folder: str) -> dict[str, int] | str:
        try:
            if scheme_of(folder) == "file" and not local_path(folder).is_dir():
                if local_path(self._layout.root).is_dir():
                    return {}
                return f"the folder {self._layout.root} is not visible on this machine"
            return {file.uri: file.size_bytes for file in self._open(folder).list(folder)}
        except (ConfigError, SourceError) as error:
            return error.message
