"""The subtask: turns the files of one group into staged segments, inside a Python-hosted minion.

Nothing of it reaches the table. A subtask may run twice (Helix gives it to another minion when one dies), so
what it stages has a name of the attempt's own, and the first result that is written for a file stays.
"""

from __future__ import annotations

import contextlib
import logging
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from controller_client.client import ControllerClient
from controller_client.errors import ConflictError, NotAppliedError, PinotPluginError
from controller_client.zookeeper import PropertyStore
from jvm_bridge.builder import BuiltSegment, FileFormat, SegmentBuilder
from jvm_bridge.minion import MinionContext, MinionTask
from minion_tasks.file_ingestion.params import TASK_TYPE, FileIngestionParams
from minion_tasks.file_ingestion.planner import segment_name
from minion_tasks.file_ingestion.provenance import Provenance
from minion_tasks.file_ingestion.session import FileEntry, FileGroup, FileStatus, SessionState, StagedSegment
from minion_tasks.file_ingestion.session_store import SessionStore
from minion_tasks.file_ingestion.staging import open_staging
from minion_tasks.filestore import FileInfo, open_store

logger = logging.getLogger(__name__)

_SAVE_INTERVAL_S = 2.0


class SubtaskFailedError(PinotPluginError):
    """Some files of the subtask could not be turned into segments; the session's ledger says why for each."""


class FileBuilder(Protocol):
    """Turns one file of a session into a staged segment."""

    def __call__(self, number: int, file: FileInfo) -> StagedSegment:
        """Build and stage; raises `PinotPluginError` for a file that cannot be."""
        ...


def create(context: MinionContext) -> FileIngestionExecutor:
    """Make the executor of one subtask; called by the minion's Helix thread."""
    return FileIngestionExecutor(context)


class FileIngestionExecutor:
    """Runs one subtask in a Helix task thread of the minion's JVM."""

    def __init__(self, context: MinionContext) -> None:
        self._context = context
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """Ask to stop after the present file; called by another Helix thread."""
        self._cancelled.set()

    def execute(self, task: MinionTask) -> None:
        """Stage all files of the group that the task's configs name (``tableName``, ``session``, ``group``).

        Raises:
            SubtaskFailedError: At least one file failed.
            NotAppliedError: The session no longer wants this subtask.
        """
        table, session_id, number = (
            task.configs["tableName"],
            task.configs["session"],
            int(task.configs["group"]),
        )
        context = self._context
        with (
            ControllerClient(context.controller) as client,
            PropertyStore(context.zookeeper_address, context.cluster_name) as store,
            tempfile.TemporaryDirectory(dir=context.work_dir, prefix=f"{session_id}-") as work_dir,
        ):
            sessions = SessionStore(store, table)
            session = sessions.load(session_id)
            table_config = client.tables.get(table)
            schema = client.schemas.get(table.rpartition("_")[0])
            params = FileIngestionParams.from_configs(client.tables.task_config(table, TASK_TYPE) or {})
            builder = StagingBuilder(
                session_id=session_id,
                raw_table=table.rpartition("_")[0],
                staging_uri=session.staging_uri,
                params=params,
                builder=SegmentBuilder(
                    table_config.to_json(), schema.to_json(), Path(work_dir), reader=params.segment_reader
                ),
                work_dir=Path(work_dir),
            )
            run_group(sessions, session_id, number, builder, self._cancelled.is_set)


class StagingBuilder:
    """Builds one file's segment and puts it into the session's staging folder."""

    def __init__(
        self,
        *,
        session_id: str,
        raw_table: str,
        staging_uri: str,
        params: FileIngestionParams,
        builder: SegmentBuilder,
        work_dir: Path,
    ) -> None:
        self._session_id = session_id
        self._raw_table = raw_table
        self._staging_uri = staging_uri
        self._params = params
        self._builder = builder
        self._work_dir = work_dir
        self._source = open_store(params.input_dir_uri, params.input_fs)
        self._staging = open_staging(staging_uri, params)
        self._attempt = uuid.uuid4().hex[:8]

    def __call__(self, number: int, file: FileInfo) -> StagedSegment:
        """Build and stage the segment of one file.

        Raises:
            PinotPluginError: The file cannot be read, does not fit the schema, or changed while it was read.
        """
        started = time.monotonic()
        provenance = Provenance(self._session_id, (file,))
        # The segment is used only after local_copy() has checked that the file was the same to its end.
        with self._source.local_copy(file, self._work_dir) as path:
            built = self._builder.from_file(
                path,
                FileFormat.parse(self._params.input_format),
                segment_name(self._raw_table, self._session_id, number),
                # Any reader config, even an empty one, changes how Pinot's CSV reader treats spaces.
                reader_config=self._params.record_reader or None,
                custom_metadata=provenance.to_custom_map(),
            )
        try:
            return self._stage(built, time.monotonic() - started)
        finally:
            built.tar_path.unlink(missing_ok=True)
            built.metadata_tar_path.unlink(missing_ok=True)

    def _stage(self, built: BuiltSegment, build_s: float) -> StagedSegment:
        stem = f"{self._staging_uri}/{built.name}.{self._attempt}"
        tar_uri, metadata_uri = f"{stem}.tar.gz", f"{stem}.metadata.tar.gz"
        self._staging.upload(built.tar_path, tar_uri)
        self._staging.upload(built.metadata_tar_path, metadata_uri)
        return StagedSegment(
            name=built.name,
            tar_uri=tar_uri,
            metadata_uri=metadata_uri,
            crc=built.crc,
            rows=built.rows,
            tar_size_bytes=built.tar_size_bytes,
            build_s=round(build_s, 3),
            reader=built.reader,
            fallback_reason=built.fallback_reason,
        )


def run_group(
    sessions: SessionStore, session_id: str, number: int, build: FileBuilder, is_cancelled: Callable[[], bool]
) -> None:
    """Build all files of a group that have no result yet, and write each result into the ledger.

    Results are written at most every two seconds and at the end: the ledger's znode is small, but not free.

    Raises:
        SubtaskFailedError: At least one file failed.
        NotAppliedError: The session no longer wants this subtask.
    """
    ledger = _GroupLedger(sessions, session_id, sessions.group(session_id, number))
    try:
        for entry in ledger.pending():
            if is_cancelled():
                raise NotAppliedError(f"the subtask for group {number} of session {session_id} was cancelled")
            ledger.check_wanted()
            ledger.add(_build_entry(entry, build))
    finally:
        with contextlib.suppress(NotAppliedError):
            ledger.flush()
    failed = [entry for entry in ledger.group.entries if entry.status is FileStatus.FAILED]
    if failed:
        raise SubtaskFailedError(
            f"{len(failed)} of {len(ledger.group.entries)} files failed; the first: {failed[0].error}",
            where=failed[0].file.uri,
        )


def _build_entry(entry: FileEntry, build: FileBuilder) -> FileEntry:
    logger.info("building the segment of %s (%d bytes)", entry.file.uri, entry.file.size_bytes)
    try:
        return replace(entry, status=FileStatus.STAGED, segment=build(entry.number, entry.file), error=None)
    except PinotPluginError as error:
        message = str(error) if entry.file.uri in str(error) else f"{entry.file.uri}: {error}"
    except Exception as error:
        logger.exception("the segment of %s could not be built", entry.file.uri)
        message = f"{entry.file.uri}: unexpected {type(error).__name__}: {error}"
    logger.warning("failed: %s", message)
    return replace(entry, status=FileStatus.FAILED, error=message)


class _GroupLedger:
    """The group's znode, written by compare-and-set and seldom."""

    def __init__(self, sessions: SessionStore, session_id: str, group: FileGroup) -> None:
        self._sessions = sessions
        self._session_id = session_id
        self.group = group
        self._unsaved: dict[int, FileEntry] = {}
        self._saved_at = time.monotonic()

    def pending(self) -> list[FileEntry]:
        return [entry for entry in self.group.entries if entry.status is not FileStatus.STAGED]

    def check_wanted(self) -> None:
        session = self._sessions.load(self._session_id)
        if session.abandoned or session.state is not SessionState.IN_PROGRESS:
            state = "abandoned" if session.abandoned else session.state
            raise NotAppliedError(
                f"session {self._session_id} of {session.table} is {state}: the subtask is not wanted"
            )

    def add(self, entry: FileEntry) -> None:
        self._unsaved[entry.number] = entry
        if time.monotonic() - self._saved_at >= _SAVE_INTERVAL_S:
            self.flush()

    def flush(self) -> None:
        while self._unsaved:
            entries = tuple(self._merge(entry) for entry in self.group.entries)
            try:
                self.group = self._sessions.save_group(self._session_id, replace(self.group, entries=entries))
            except ConflictError:
                # The same subtask runs elsewhere too: what it has staged already stays.
                self.group = self._sessions.group(self._session_id, self.group.number)
                continue
            self._unsaved.clear()
        self._saved_at = time.monotonic()

    def _merge(self, stored: FileEntry) -> FileEntry:
        if stored.status is FileStatus.STAGED:
            return stored
        return self._unsaved.get(stored.number, stored)
