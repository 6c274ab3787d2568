"""Pushes staged segments.

========  ============================================================================================
mode      what the controller gets
========  ============================================================================================
METADATA  of each segment the files with its metadata; it copies the tar within the store
BATCH     the same of up to 50 segments at a time, after which it writes the ideal state once; what it
          unpacks of a batch in its folder for temporary files it never deletes
TAR       the tars
========  ============================================================================================
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from functools import partial
from pathlib import Path
from urllib.parse import quote

from controller_client.common.disk import naming_full_disks
from controller_client.common.folders import scratch_folder
from controller_client.common.names import TableName
from controller_client.errors import ConflictError, NotFoundError
from controller_client.filestore import FileStore, scheme_of
from controller_client.publishing.staged_segment import StagedSegment
from controller_client.rest.capabilities import Capability
from controller_client.rest.client import RestClient
from controller_client.segment_tar import file_name_of
from controller_client.segment_tar.writer import BatchEntry, write_batch_tar

__all__ = ["PushMode", "Pushing"]

logger = logging.getLogger(__name__)

_PARALLEL_PUSHES = 4

# The controller copies the tars of a batch one after the other, and replies when it has copied all.
_BATCH_SEGMENTS = 50
_BATCH_BYTES = 512 << 20
_BATCH_NAME_BYTES = 235
"""In a batch, a file has the name of its segment with ``.metadata.properties``: at most 255 bytes."""


class PushMode(StrEnum):
    """What is sent to the controller; see the module's table."""

    METADATA = "METADATA"
    BATCH = "BATCH"
    TAR = "TAR"


class Pushing:
    """Pushes staged segments of a table.

    Args:
        client: The controller.
        table: Table name with type.
        segments: The staged segments.
        staging: The store that has them.
        push_mode: A :class:`PushMode`. BATCH is as METADATA if the controller takes no batches, and both are
            as TAR if the staging folder is in another store than the deep store.
    """

    def __init__(
        self,
        client: RestClient,
        table: TableName,
        segments: Sequence[StagedSegment],
        staging: FileStore,
        push_mode: str,
    ) -> None:
        self._client = client
        self._table = table
        self._segments = segments
        self._staging = staging
        self._push_mode = push_mode

    def is_in(self, names: Collection[str]) -> bool:
        """Return whether there are segments and all of them are in the table, given the names in it."""
        if not self._segments or not all(segment.name in names for segment in self._segments):
            return False
        return all(self._is_the_same(segment) for segment in self._segments)

    def push_missing(self, existing: Collection[str]) -> None:
        """Push the segments that the table does not have.

        Args:
            existing: All segments of the table, as read under its lock.

        Raises:
            NotAppliedError: The controller refuses a segment; others may have been pushed.
            OutcomeUnknownError: It is unknown whether segments were pushed.
        """
        existing = frozenset(existing)
        self.push(
            [
                segment.name
                for segment in self._segments
                if segment.name not in existing or not self._is_the_same(segment)
            ]
        )

    def _is_the_same(self, segment: StagedSegment) -> bool:
        """Return whether the table's segment is this one, not an older one to be refreshed in place."""
        try:
            return self._client.segments.metadata(self._table, segment.name).crc == segment.crc
        except NotFoundError:
            return False  # a failed push was undone since the segments were listed

    def push(self, names: Collection[str]) -> None:
        """Push the segments with these names; raises what :meth:`push_missing` raises."""
        requested = set(names)
        segments = [segment for segment in self._segments if segment.name in requested]
        if not segments:
            return
        by_metadata = self._is_by_metadata(segments[0])
        in_batches = by_metadata and self._push_mode == PushMode.BATCH
        if in_batches and not self._client.cluster.capabilities().has(Capability.PUSH_IN_BATCHES):
            logger.info("this controller takes no batches: segments are pushed one at a time")
            in_batches = False
        batches = _batches(segments) if in_batches else ([segment] for segment in segments)
        with (
            scratch_folder("pinot-push-") as folder,
            naming_full_disks(folder),
            ThreadPoolExecutor(_PARALLEL_PUSHES, thread_name_prefix="push") as pool,
        ):
            send = partial(self._send_metadata if by_metadata else self._send_tars, folder)
            for _ in pool.map(partial(self._push, send), batches):
                pass

    def _push(self, send: Callable[[Sequence[StagedSegment]], None], batch: Sequence[StagedSegment]) -> None:
        try:
            send(batch)
        except ConflictError as error:
            # The push of a run that was killed may have arrived at the same time: that is the same segment.
            missing = [segment for segment in batch if not self._is_the_same(segment)]
            if len(missing) == len(batch):
                raise
            logger.info("%s: the same segment is there already: %s", self._table, error.message)
            if missing:
                self._push(send, missing)

    def _is_by_metadata(self, segment: StagedSegment) -> bool:
        """Return whether only metadata is sent, which requires staging folder and deep store in one store."""
        if self._push_mode == PushMode.TAR:
            return False
        deep_store = self._client.cluster.deep_store_uri()
        if deep_store is not None and scheme_of(deep_store) == scheme_of(segment.tar_uri):
            return True
        logger.warning(
            "segments are uploaded through the controller: the staging folder is not in its deep store (%s)",
            deep_store,
        )
        return False

    def _send_metadata(self, folder: Path, batch: Sequence[StagedSegment]) -> None:
        entries = [
            BatchEntry(
                segment.name, _encoded(segment.tar_uri), folder / f"{file_name_of(segment.name)}.tar.gz"
            )
            for segment in batch
        ]
        first = entries[0]
        batch_path = first.metadata_tar.with_suffix(".batch")
        try:
            for segment, entry in zip(batch, entries, strict=True):
                self._staging.download(segment.metadata_uri, entry.metadata_tar)
            if len(entries) == 1:
                self._client.segments.push_metadata(
                    self._table, first.metadata_tar, first.download_uri, copy_to_deep_store=True
                )
            else:
                write_batch_tar(batch_path, entries)
                self._client.segments.push_batch(self._table, batch_path)
        finally:
            for path in (*(entry.metadata_tar for entry in entries), batch_path):
                path.unlink(missing_ok=True)

    def _send_tars(self, folder: Path, batch: Sequence[StagedSegment]) -> None:
        for segment in batch:
            path = folder / f"{file_name_of(segment.name)}.tar.gz"
            try:
                self._staging.download(segment.tar_uri, path)
                self._client.segments.upload_tar(self._table, path)
            finally:
                path.unlink(missing_ok=True)


def _batches(segments: Sequence[StagedSegment]) -> Iterator[list[StagedSegment]]:
    """Divide segments so that all threads have some, and no request takes long."""
    most = min(_BATCH_SEGMENTS, -(-len(segments) // _PARALLEL_PUSHES))
    batch: list[StagedSegment] = []
    size_bytes = 0
    for segment in segments:
        if len(segment.name.encode(errors="surrogatepass")) > _BATCH_NAME_BYTES:
            yield [segment]
            continue
        if batch and (len(batch) == most or size_bytes + segment.tar_size_bytes > _BATCH_BYTES):
            yield batch
            batch, size_bytes = [], 0
        batch.append(segment)
        size_bytes += segment.tar_size_bytes
    if batch:
        yield batch


def _encoded(uri: str) -> str:
    """Return a URI as Pinot writes it: this project's are not percent-encoded."""
    scheme, colon, rest = uri.partition(":")
    return f"{scheme}{colon}{quote(rest)}"
