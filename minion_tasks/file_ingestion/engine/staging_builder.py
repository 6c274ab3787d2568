"""Builds segments from files of a session and uploads them to its staging folder."""

from __future__ import annotations

import logging
import tempfile
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from controller_client.clock import Clock
from controller_client.common.disk import naming_full_disks
from controller_client.common.text import visible
from controller_client.errors import DataError, PinotPluginError
from controller_client.filestore import FileInfo
from controller_client.publishing.staged_segment import StagedSegment, stage_segment
from jvm_bridge.builder import BuiltSegment, FileFormat, SegmentBuilder
from jvm_bridge.folder_columns import FolderColumns, folder_columns
from minion_tasks.file_ingestion.params.patterns import SourceFolder
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.plan.provenance import Provenance
from minion_tasks.file_ingestion.session.column_notes import notes_of
from minion_tasks.file_ingestion.session.model import (
    ColumnNote,
    FileEntry,
    Session,
    StagedBuild,
)
from minion_tasks.sources.base import Columns

logger = logging.getLogger(__name__)

_MAX_ROWS = 2**31 - 1  # Pinot's limit per segment


@dataclass(frozen=True)
class BuildResult:
    """The result of files that were built together.

    Attributes:
        staged: The good files; None if there were none.
        failures: Maps file numbers to the reason why the file is in none of the segments.
    """

    staged: StagedBuild | None
    failures: Mapping[int, Exception] = field(default_factory=dict)


class StagingBuilder:
    """Builds and stages segments; used by one subtask, in its thread.

    Args:
        session: The session of the files.
        params: The task's parameters.
        builder: Pinot's segment builder for the table.
        work_dir: For local copies and tars, which are deleted after use.
        clock: The clock.
        columns: The columns of the source that the table reads.
    """

    def __init__(
        self,
        session: Session,
        params: FileIngestionParams,
        builder: SegmentBuilder,
        work_dir: Path,
        clock: Clock,
        *,
        columns: Columns = None,
    ) -> None:
        self._columns = columns
        self._session = session
        self._params = params
        self._builder = builder
        self._work_dir = work_dir
        self._raw_table = session.table.raw
        self._clock = clock
        self._source = params.stores.source
        self._folder = SourceFolder(params.input_dir_uri)
        self._staging = params.stores.staging(session.staging_uri)
        self._attempt = uuid.uuid4().hex[:8]

    def __call__(self, entries: Sequence[FileEntry]) -> BuildResult:
        """Build and stage the segments of files, leaving out bad files.

        Raises:
            DiskFullError: The disk of the working folder or of the staging folder is full.
        """
        with naming_full_disks(self._work_dir):
            return self._built(entries)

    def _built(self, entries: Sequence[FileEntry]) -> BuildResult:
        failures: dict[int, Exception] = {}
        while left := [entry for entry in entries if entry.number not in failures]:
            started = self._clock.monotonic()
            copies = _Copies(self._local_copy, self._work_dir)
            try:
                failures |= copies.open(left)
                good = [entry for entry in left if entry.number not in failures]
                built, bad, columns = self._build(good, copies) if good else ((), {}, ())
                failures |= bad
            finally:
                # Only now is it certain that each file was read as listed.
                changed = copies.close()
            failures |= changed
            if not changed.keys() & {entry.number for entry in good}:
                files = tuple(entry.number for entry in good if entry.number not in failures)
                if not built:
                    return BuildResult(None, failures)
                segments = self._stage(built, self._clock.monotonic() - started)
                return BuildResult(StagedBuild(files, segments, columns), failures)
            for segment in built:
                _delete(segment)
        return BuildResult(None, failures)

    def _local_copy(self, file: FileInfo, folder: Path) -> AbstractContextManager[Path]:
        return self._source.local_copy(file, self._session.source_version, self._columns, folder)

    def empty(self, number: int) -> BuildResult:
        """Build and stage an empty segment, which represents "nothing" in a replacement."""
        started = self._clock.monotonic()
        with naming_full_disks(self._work_dir), tempfile.TemporaryDirectory(dir=self._work_dir) as folder:
            path = Path(folder) / "empty.json"
            path.touch()
            built = self._builder.from_file(
                path,
                FileFormat.JSON,
                self._params.names.of_session(self._raw_table, self._round(), number),
                custom_metadata=self._provenance(()).to_custom_map(),
            )
        return BuildResult(StagedBuild((), self._stage([built], self._clock.monotonic() - started)))

    def _build(
        self, entries: Sequence[FileEntry], copies: _Copies
    ) -> tuple[Sequence[BuiltSegment], dict[int, Exception], tuple[ColumnNote, ...]]:
        params = self._params
        folders, unnamed = self._folders(entries)
        entries = [entry for entry in entries if entry.number in folders]
        if not entries:
            return (), unnamed, ()
        one_each = params.one_to_one
        first = entries[0]

        def name(part: int) -> str:
            if one_each and first.refreshes is not None:
                return first.refreshes
            return params.names.of_session(self._raw_table, self._round(), first.number, part)

        def custom(indexes: Sequence[int]) -> Mapping[str, str]:
            files = tuple(entries[index].file for index in indexes)
            return self._provenance(files).to_custom_map()

        built = self._builder.from_files(
            [copies.paths[entry.number] for entry in entries],
            params.file_format,
            name,
            max_rows=_MAX_ROWS if one_each else params.max_segment_rows,
            # Any reader config, even an empty one, changes how Pinot's CSV reader treats spaces.
            reader_config=params.record_reader or None,
            custom_metadata=custom,
            folders=[folders[entry.number] for entry in entries],
        )
        failures = unnamed | {
            entries[i].number: _of_source(error, copies.paths[entries[i].number], entries[i].file)
            for i, error in built.failures.items()
        }
        return (
            built.segments,
            failures,
            notes_of({entries[i].number: mismatch for i, mismatch in built.mismatches.items()}),
        )

    def _folders(self, entries: Sequence[FileEntry]) -> tuple[dict[int, FolderColumns], dict[int, Exception]]:
        """Return the columns in the folders of each file, by file number, and what is wrong with others."""
        columns: dict[int, FolderColumns] = {}
        failures: dict[int, Exception] = {}
        for entry in entries:
            path = self._folder.path_below(entry.file.uri) if self._params.hive_partitioning else ""
            try:
                columns[entry.number] = folder_columns(path)
            except DataError as error:
                failures[entry.number] = error
        return columns, failures

    def _provenance(self, files: tuple[FileInfo, ...]) -> Provenance:
        return Provenance(self._session.session_id, files, self._session.source_version)

    def _round(self) -> str:
        # A file that failed gets another segment name than the build that was built without it.
        retry = self._session.retry_count
        return self._session.session_id + (f"r{retry}" if retry else "")

    def _stage(self, built: Sequence[BuiltSegment], build_s: float) -> tuple[StagedSegment, ...]:
        try:
            return tuple(
                stage_segment(
                    self._staging,
                    segment,
                    f"{self._session.staging_uri}/{segment.name}.{self._attempt}",
                    build_s / len(built),
                )
                for segment in built
            )
        finally:
            for segment in built:
                _delete(segment)


def _of_source(error: DataError, copy: Path, file: FileInfo) -> DataError:
    """Return an error that names the file and not its local copy, which is gone when somebody reads it."""
    if error.where is not None:
        error.where = error.where.replace(visible(str(copy)), file.shown)
    return error


LocalCopy = Callable[[FileInfo, Path], AbstractContextManager[Path]]


class _Copies:
    """Local copies of several files, opened and closed one by one, so that an error refers to one file."""

    def __init__(self, local_copy: LocalCopy, work_dir: Path) -> None:
        self._local_copy = local_copy
        self._work_dir = work_dir
        self._open: dict[int, tuple[AbstractContextManager[Path], tempfile.TemporaryDirectory[str]]] = {}
        self.paths: dict[int, Path] = {}

    def open(self, entries: Sequence[FileEntry]) -> dict[int, Exception]:
        """Open copies; return the errors by file number."""
        failures: dict[int, Exception] = {}
        for entry in entries:
            logger.info("reading %s (%d bytes)", entry.file.shown, entry.file.size_bytes)
            folder = tempfile.TemporaryDirectory(dir=self._work_dir, prefix="copy-")
            copy = self._local_copy(entry.file, Path(folder.name))
            try:
                self.paths[entry.number] = copy.__enter__()
            except PinotPluginError as error:
                folder.cleanup()
                failures[entry.number] = error
                continue
            self._open[entry.number] = (copy, folder)
        return failures

    def close(self) -> dict[int, Exception]:
        """Close all copies; return errors for files that changed while they were read."""
        failures: dict[int, Exception] = {}
        for number, (copy, folder) in self._open.items():
            try:
                copy.__exit__(None, None, None)
            except PinotPluginError as error:
                failures[number] = error
            folder.cleanup()
        self._open.clear()
        return failures


def _delete(built: BuiltSegment) -> None:
    built.tar_path.unlink(missing_ok=True)
    built.metadata_tar_path.unlink(missing_ok=True)
