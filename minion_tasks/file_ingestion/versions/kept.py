"""The tars of replaced segments, kept in the staging store for as long as a version needs them."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from controller_client.client import ControllerClient
from controller_client.common.disk import naming_full_disks
from controller_client.common.folders import scratch_folder
from controller_client.common.names import TableName
from controller_client.common.parsing import whole_number
from controller_client.common.text import counted_text
from controller_client.deepstore.fetching import SegmentFetcher
from controller_client.deepstore.rate import RateLimit
from controller_client.deepstore.segment_record import SegmentRecord, read_records
from controller_client.deepstore.servers import ServerTars
from controller_client.errors import DataError, NotFoundError
from controller_client.filestore import FileStore, FolderMissingError, OpenStores, store_key
from controller_client.publishing.staged_segment import StagedSegment, stage_segment
from controller_client.segment_tar import ExpectedSegment, TarLimits, file_name_of, judge_copy
from controller_client.segment_tar.renaming import RenamedSegment, rename_segment
from controller_client.zookeeper import PropertyStore

__all__ = ["KeptSegment", "KeptSegments", "PublishedSegments"]

logger = logging.getLogger(__name__)

_ENDING = ".tar.gz"
_PARALLEL = 4
_PAGES_PER_S = 50.0


class PublishedSegments:
    """The segments that a table serves, as they lie in the deep store.

    Args:
        client: The controller.
        store: ZooKeeper.
        table: Table name with type.
        staging_uri: The staging folder.
        staging: Its store, which is used for segments in the same place.
    """

    def __init__(
        self,
        client: ControllerClient,
        store: PropertyStore,
        table: TableName,
        staging_uri: str,
        staging: FileStore,
    ) -> None:
        self._store = store
        self._table = table
        others, place = OpenStores({}), store_key(staging_uri)

        def open_store(uri: str) -> FileStore:
            return staging if store_key(uri) == place else others(uri)

        self._fetcher = SegmentFetcher(client, ServerTars(client), open_store=open_store)

    def records(self, names: Sequence[str]) -> list[SegmentRecord]:
        """Return the records of segments; those that are gone are left out."""
        return list(read_records(self._store, self._table, RateLimit(_PAGES_PER_S), names))

    def fetch(self, record: SegmentRecord, path: Path) -> None:
        """Write a segment's tar to a file; it is verified by the checksum in the segment's record.

        Raises:
            NotFoundError: The deep store has no good copy.
        """
        self._fetcher.fetch(record, (), path)


@dataclass(frozen=True, slots=True)
class KeptSegment:
    """A segment that is kept.

    Attributes:
        crc: Pinot's checksum of it.
        tar_size_bytes: Size of its tar.
    """

    name: str
    crc: int
    uri: str
    tar_size_bytes: int


class KeptSegments:
    """The segments of one table that are kept, each as ``<name>.<crc>.tar.gz`` in a folder of its own.

    Args:
        store: The store of the folder.
        folder_uri: The folder; nobody else's files are in it.
    """

    def __init__(self, store: FileStore, folder_uri: str) -> None:
        self._store = store
        self._folder_uri = folder_uri

    def list(self) -> Mapping[str, KeptSegment]:
        """Return the segments by their names; files with other names are none."""
        try:
            files = list(self._store.list(self._folder_uri))
        except FolderMissingError:
            return {}
        segments = {}
        for file in files:
            name, _, crc_text = file.uri.rpartition("/")[2].removesuffix(_ENDING).rpartition(".")
            crc = whole_number(crc_text)
            if file.uri.endswith(_ENDING) and name and crc is not None:
                segments[name] = KeptSegment(name, crc, file.uri, file.size_bytes)
        return segments

    def keep(self, names: Collection[str], published: PublishedSegments) -> None:
        """Copy segments from the deep store, before they are replaced; what is kept already is not copied.

        Raises:
            NotFoundError: The deep store has no good copy of one of them.
            SourceError: A store does not answer.
        """
        missing = sorted(set(names).difference(self.list()))
        if not missing:
            return
        records = published.records(missing)

        def copy(record: SegmentRecord) -> None:
            path = folder / f"{file_name_of(record.segment)}{_ENDING}"
            try:
                published.fetch(record, path)
            except NotFoundError as error:
                raise NotFoundError(
                    f"{record.segment} cannot be kept, so it is not replaced: {error.message}",
                    remedy="repair the deep store ('pinotctl deepstore repair'), or set keepVersions to 1",
                ) from error
            self._store.upload(path, f"{self._folder_uri}/{record.segment}.{record.crc}{_ENDING}")
            path.unlink()

        with scratch_folder("pinot-keep-") as folder, naming_full_disks(folder), _pool() as pool:
            for _ in pool.map(copy, records):
                pass
        logger.info("%s kept for earlier versions", counted_text(len(records), "segment"))

    def stage(
        self, names: Mapping[str, str], stage_uri: str, staging: FileStore
    ) -> tuple[StagedSegment, ...]:
        """Stage segments under other names, since Pinot lets no name be used twice.

        Args:
            names: Maps the names of kept segments to new ones.
            stage_uri: The folder to stage in.
            staging: Its store.

        Raises:
            NotFoundError: A segment is not kept.
            DataError: What is kept is damaged, or another segment.
        """
        kept = self.list()

        def restage(name: str) -> StagedSegment:
            segment = _of(kept, name)
            with scratch_folder("segment-", folder) as own:
                path = own / f"kept{_ENDING}"
                self._store.download(segment.uri, path)
                renamed = _verified_and_renamed(segment, path, names[name], own)
                return stage_segment(staging, renamed, f"{stage_uri}/{names[name]}", 0.0)

        with scratch_folder("pinot-restore-") as folder, naming_full_disks(folder), _pool() as pool:
            return tuple(pool.map(restage, names))

    def collect(self, needed: Collection[str]) -> None:
        """Delete the segments that are not needed."""
        for name, segment in self.list().items():
            if name not in needed:
                self._store.delete(segment.uri)


def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_PARALLEL, thread_name_prefix="kept")


def _of(kept: Mapping[str, KeptSegment], name: str) -> KeptSegment:
    try:
        return kept[name]
    except KeyError:
        raise NotFoundError(f"segment {name} is not kept any longer") from None


def _verified_and_renamed(segment: KeptSegment, path: Path, name: str, folder: Path) -> RenamedSegment:
    limits = TarLimits().for_size(segment.tar_size_bytes)
    verdict = judge_copy(path, ExpectedSegment(segment.name, segment.crc), limits)
    if verdict.proof is None:
        raise DataError(
            f"what is kept of segment {segment.name} cannot be restored: {verdict.reason}",
            where=segment.uri,
            remedy="return to another version",
        )
    return rename_segment(path, name, folder, limits)
