"""Sessions in ZooKeeper, at the seed's path, each change by compare-and-set.

::

    /<cluster>/PROPERTYSTORE/MINION_TASK_METADATA/<tableNameWithType>/FileIngestionTask/consistentPush/
        <session>                    the session: state, retryCount, ... (simple fields)
        <session>/groups/00000       the files of one subtask and what became of them (compressed)

A session's files are spread over groups, so that no znode grows with the whole source, and a subtask writes
only its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from controller_client.errors import NotFoundError
from controller_client.zookeeper import PropertyStore, ZNRecord
from minion_tasks.file_ingestion.session import (
    FileEntry,
    FileGroup,
    FileStatus,
    Session,
    SessionState,
    StagedSegment,
)
from minion_tasks.filestore import FileInfo

_MAX_TEXT = 2000


def sessions_path(table: str) -> str:
    """Return the path of a table's sessions in the property store."""
    return f"/MINION_TASK_METADATA/{table}/FileIngestionTask/consistentPush"


class SessionStore:
    """The sessions of one table."""

    def __init__(self, store: PropertyStore, table: str) -> None:
        self._store = store
        self._table = table
        self._root = sessions_path(table)

    def ids(self) -> list[str]:
        """List the sessions, oldest first."""
        return sorted(self._store.children(self._root))

    def latest(self) -> Session | None:
        """Return the newest session."""
        ids = self.ids()
        return self.load(ids[-1]) if ids else None

    def load(self, session_id: str) -> Session:
        """Read a session.

        Raises:
            NotFoundError: There is none of this id.
        """
        found = self._store.get(f"{self._root}/{session_id}")
        if found is None:
            raise NotFoundError(f"the table {self._table} has no session {session_id}", where=self._root)
        return _session_from(found.record.simple_fields, self._table, session_id, found.version)

    def create(self, session: Session) -> Session:
        """Write a new session, whose groups are written before it moves on."""
        self._store.create(f"{self._root}/{session.session_id}", _session_record(session))
        return self.load(session.session_id)

    def save(self, session: Session) -> Session:
        """Write a session if nobody changed it since it was read.

        Raises:
            ConflictError: It was changed meanwhile.
        """
        path = f"{self._root}/{session.session_id}"
        version = self._store.set(path, _session_record(session), expected_version=session.version)
        return replace(session, version=version)

    def is_of_dropped_table(self, session: Session) -> bool:
        """Tell whether the table was dropped after the session began (Pinot keeps the sessions then)."""
        table = self._store.creation_order(f"/CONFIGS/TABLE/{self._table}")
        began = self._store.creation_order(f"{self._root}/{session.session_id}")
        return table is None or (began is not None and began < table)

    def create_group(self, session_id: str, group: FileGroup) -> None:
        """Write a new group of files."""
        self._store.create(self._group_path(session_id, group.number), _group_record(group))

    def group(self, session_id: str, number: int) -> FileGroup:
        """Read a group.

        Raises:
            NotFoundError: The session, or the group in it, is gone.
        """
        path = self._group_path(session_id, number)
        found = self._store.get(path)
        if found is None:
            raise NotFoundError(f"session {session_id} of {self._table} has no group {number}", where=path)
        return _group_from(found.record, number, found.version)

    def save_group(self, session_id: str, group: FileGroup) -> FileGroup:
        """Write a group if nobody changed it since it was read.

        Raises:
            ConflictError: It was changed meanwhile.
        """
        path = self._group_path(session_id, group.number)
        version = self._store.set(path, _group_record(group), expected_version=group.version)
        return replace(group, version=version)

    def groups(self, session: Session) -> Iterator[FileGroup]:
        """Read all groups of a session, one after the other."""
        for number in range(session.groups):
            yield self.group(session.session_id, number)

    def prune(self, keep: int = 2) -> None:
        """Delete all but the newest sessions (seed: the default retains two)."""
        for session_id in self.ids()[:-keep]:
            self._store.delete(f"{self._root}/{session_id}", recursive=True)

    def _group_path(self, session_id: str, number: int) -> str:
        return f"{self._root}/{session_id}/groups/{number:05d}"


def _session_record(session: Session) -> ZNRecord:
    fields = {
        "state": session.state.value,
        "retryCount": str(session.retry_count),
        "createdMs": str(session.created_ms),
        "updatedMs": str(session.updated_ms),
        "owner": session.owner,
        "stagingURI": session.staging_uri,
        "files": str(session.files),
        "totalBytes": str(session.total_bytes),
        "groups": str(session.groups),
        "taskName": session.task_name,
        "segmentLineageEntryId": session.entry_id,
        "abandoned": "true" if session.abandoned else "false",
        "message": session.message[:_MAX_TEXT] if session.message else None,
    }
    return ZNRecord(session.session_id, {key: value for key, value in fields.items() if value is not None})


def _session_from(fields: dict[str, str], table: str, session_id: str, version: int) -> Session:
    return Session(
        session_id=session_id,
        table=table,
        state=SessionState(fields["state"]),
        created_ms=int(fields["createdMs"]),
        updated_ms=int(fields["updatedMs"]),
        owner=fields["owner"],
        staging_uri=fields["stagingURI"],
        files=int(fields["files"]),
        total_bytes=int(fields["totalBytes"]),
        groups=int(fields["groups"]),
        retry_count=int(fields["retryCount"]),
        task_name=fields.get("taskName"),
        entry_id=fields.get("segmentLineageEntryId"),
        abandoned=fields.get("abandoned") == "true",
        message=fields.get("message"),
        version=version,
    )


def _group_record(group: FileGroup) -> ZNRecord:
    rows: Sequence[dict[str, Any]] = [_entry_row(entry) for entry in group.entries]
    return ZNRecord(
        f"{group.number:05d}",
        {"entries": json.dumps(rows, separators=(",", ":")), "enableCompression": "true"},
    )


def _entry_row(entry: FileEntry) -> dict[str, Any]:
    file = entry.file
    row: dict[str, Any] = {"n": entry.number, "f": [file.uri, file.size_bytes, file.modified_ms, file.etag]}
    if entry.status is not FileStatus.PENDING:
        row["status"] = entry.status.value
    if entry.segment is not None:
        row["segment"] = asdict(entry.segment)
    if entry.error is not None:
        row["error"] = entry.error[:_MAX_TEXT]
    return row


def _group_from(record: ZNRecord, number: int, version: int) -> FileGroup:
    entries = []
    for row in json.loads(record.simple_fields["entries"]):
        uri, size, modified, etag = row["f"]
        segment = row.get("segment")
        entries.append(
            FileEntry(
                number=row["n"],
                file=FileInfo(uri, size, modified, etag),
                status=FileStatus(row.get("status", FileStatus.PENDING)),
                segment=StagedSegment(**segment) if segment else None,
                error=row.get("error"),
            )
        )
    return FileGroup(number, tuple(entries), version)
