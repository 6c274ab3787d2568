"""Sessions in ZooKeeper, at the seed's path, each change by compare-and-set.

::

    /<cluster>/PROPERTYSTORE/MINION_TASK_METADATA/<tableNameWithType>/FileIngestionTask/consistentPush/
        <session>                    the session: state, retryCount, ... (simple fields)
        <session>/groups/00000       some of its files and what became of them (compressed)
        <session>/from/00000         some of the segments that its switch replaces (compressed)

A session's files are spread over groups, so that no znode grows with the whole source, and a subtask writes
only its own.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from controller_client.errors import ConflictError, NotFoundError
from controller_client.filestore import FileInfo
from controller_client.zookeeper import PropertyStore, ZNRecord
from controller_client.zookeeper.table_config import table_config_path
from minion_tasks.file_ingestion.column_notes import notes_from, rows_of
from minion_tasks.file_ingestion.session import (
    FileEntry,
    FileGroup,
    FileStatus,
    IngestionMode,
    Session,
    SessionState,
    StagedSegment,
    StagedUnit,
)

_MAX_TEXT = 1000
_GROUPS_PAGE = 50
_FROM_PAGE = 5000


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
        table = self._store.creation_order(table_config_path(self._table))
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
        """Read all groups of a session, some at a time."""
        for start in range(0, session.groups, _GROUPS_PAGE):
            numbers = range(start, min(start + _GROUPS_PAGE, session.groups))
            paths = [self._group_path(session.session_id, number) for number in numbers]
            for number, path, found in zip(numbers, paths, self._store.get_many(paths), strict=True):
                if found is None:
                    raise NotFoundError(
                        f"session {session.session_id} of {self._table} has no group {number}", where=path
                    )
                yield _group_from(found.record, number, found.version)

    def change_group(
        self, session_id: str, number: int, change: Callable[[FileGroup], FileGroup]
    ) -> FileGroup:
        """Change a group as it is now, again if somebody else changes it meanwhile."""
        while True:
            group = self.group(session_id, number)
            changed = change(group)
            if changed == group:
                return group
            try:
                return self.save_group(session_id, changed)
            except ConflictError:
                continue

    def drop_group(self, session_id: str, number: int) -> None:
        """Delete a group that a run wrote and did not live to count."""
        self._delete_if_there(self._group_path(session_id, number))

    def write_from(self, session_id: str, names: Sequence[str]) -> int:
        """Write down the segments that the switch replaces; returns the number of pages."""
        pages = [names[start : start + _FROM_PAGE] for start in range(0, len(names), _FROM_PAGE)]
        for number, page in enumerate(pages):
            path = self._from_path(session_id, number)
            self._delete_if_there(path)  # of a run that was killed before it counted its pages
            self._store.create(
                path, ZNRecord(f"{number:05d}", {"segments": json.dumps(page), "enableCompression": "true"})
            )
        return len(pages)

    def read_from(self, session: Session) -> list[str]:
        """Read the segments that the switch replaces, as written down."""
        names: list[str] = []
        for found in self._store.get_many(
            [self._from_path(session.session_id, number) for number in range(session.from_pages)]
        ):
            if found is None:
                raise NotFoundError(
                    f"session {session.session_id} of {self._table} lost a page of the segments it replaces",
                    remedy="clear the session with 'pinotctl task session clear'",
                )
            names += json.loads(found.record.simple_fields["segments"])
        return names

    def delete(self, session_id: str) -> None:
        """Delete a session with all that is written of it."""
        self._delete_if_there(f"{self._root}/{session_id}", recursive=True)

    def prune(self, keep: int = 2) -> None:
        """Delete all but the newest sessions (seed: the default retains two)."""
        for session_id in self.ids()[:-keep]:
            self.delete(session_id)

    def _delete_if_there(self, path: str, *, recursive: bool = False) -> None:
        with contextlib.suppress(NotFoundError):
            self._store.delete(path, recursive=recursive)

    def _from_path(self, session_id: str, number: int) -> str:
        return f"{self._root}/{session_id}/from/{number:05d}"

    def _group_path(self, session_id: str, number: int) -> str:
        return f"{self._root}/{session_id}/groups/{number:05d}"


def _session_record(session: Session) -> ZNRecord:
    fields = {
        "state": session.state.value,
        "retryCount": str(session.retry_count),
        "createdMs": str(session.created_ms),
        "updatedMs": str(session.updated_ms),
        "owner": session.owner,
        "mode": session.mode.value,
        "atomic": "true" if session.atomic else "false",
        "inputDirURI": session.source,
        "stagingURI": session.staging_uri,
        "files": str(session.files),
        "totalBytes": str(session.total_bytes),
        "groups": str(session.groups),
        "numbers": str(session.numbers),
        "fromPages": str(session.from_pages),
        "attemptsMs": ",".join(map(str, session.attempts_ms)),
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
        mode=IngestionMode(fields["mode"]),
        atomic=fields["atomic"] == "true",
        source=fields["inputDirURI"],
        staging_uri=fields["stagingURI"],
        files=int(fields["files"]),
        total_bytes=int(fields["totalBytes"]),
        groups=int(fields["groups"]),
        numbers=int(fields["numbers"]),
        from_pages=int(fields["fromPages"]),
        attempts_ms=tuple(int(text) for text in fields["attemptsMs"].split(",") if text),
        retry_count=int(fields["retryCount"]),
        task_name=fields.get("taskName"),
        entry_id=fields.get("segmentLineageEntryId"),
        abandoned=fields.get("abandoned") == "true",
        message=fields.get("message"),
        version=version,
    )


def _group_record(group: FileGroup) -> ZNRecord:
    fields: dict[str, Any] = {
        "entries": [_entry_row(entry) for entry in group.entries],
        "units": [
            {
                "files": unit.files,
                "segments": [_segment_row(s) for s in unit.segments],
                "columns": rows_of(unit.columns),
            }
            for unit in group.units
        ],
    }
    content = {name: json.dumps(value, separators=(",", ":")) for name, value in fields.items()}
    if group.empty_segment:
        content["emptySegment"] = "true"
    return ZNRecord(f"{group.number:05d}", {**content, "enableCompression": "true"})


def _entry_row(entry: FileEntry) -> dict[str, Any]:
    file = entry.file
    row: dict[str, Any] = {"n": entry.number, "f": [file.uri, file.size_bytes, file.modified_ms, file.etag]}
    if entry.status is not FileStatus.PENDING:
        row["status"] = entry.status.value
    if entry.error is not None:
        row["error"] = entry.error[:_MAX_TEXT]
    if entry.ended_ms is not None:
        row["ended"] = entry.ended_ms
    if entry.refreshes is not None:
        row["refreshes"] = entry.refreshes
    return row


def _segment_row(segment: StagedSegment) -> list[Any]:
    return [getattr(segment, field.name) for field in dataclasses.fields(StagedSegment)]


def _group_from(record: ZNRecord, number: int, version: int) -> FileGroup:
    entries = []
    for row in json.loads(record.simple_fields["entries"]):
        uri, size, modified, etag = row["f"]
        entries.append(
            FileEntry(
                number=row["n"],
                file=FileInfo(uri, size, modified, etag),
                status=FileStatus(row.get("status", FileStatus.PENDING)),
                error=row.get("error"),
                ended_ms=row.get("ended"),
                refreshes=row.get("refreshes"),
            )
        )
    units = tuple(
        StagedUnit(
            tuple(row["files"]),
            tuple(StagedSegment(*segment) for segment in row["segments"]),
            notes_from(row.get("columns", ())),
        )
        for row in json.loads(record.simple_fields["units"])
    )
    is_empty = record.simple_fields.get("emptySegment") == "true"
    return FileGroup(number, tuple(entries), units, is_empty, version)
