"""Converts sessions to ZooKeeper records and back, checking each field. No IO.

A record may be corrupt or written by somebody else. Any fault raises one of `UNREADABLE`, which the store
turns into an error that names the znode.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, get_type_hints

from controller_client.common.formats import Format, with_unknown
from controller_client.common.names import TableName
from controller_client.filestore import FileInfo
from controller_client.publishing.staged_segment import StagedSegment
from controller_client.zookeeper import ZNRecord
from minion_tasks.file_ingestion.session.column_notes import notes_from, rows_of
from minion_tasks.file_ingestion.session.model import (
    FileEntry,
    FileGroup,
    FileStatus,
    IngestionMode,
    Session,
    SessionState,
    StagedBuild,
)
from minion_tasks.sources.base import SourceVersion

__all__ = [
    "GROUP_FORMAT",
    "HELD_FORMAT",
    "NAMES_FORMAT",
    "SESSION_FORMAT",
    "UNREADABLE",
    "group_from",
    "group_record",
    "names_from",
    "names_record",
    "session_from",
    "session_record",
]

T = TypeVar("T")

UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What reading an invalid record raises."""

SESSION_FORMAT = Format("the record of a session of FileIngestionTask")
_HELD = SESSION_FORMAT.version + 1
HELD_FORMAT = dataclasses.replace(SESSION_FORMAT, version=_HELD, oldest=_HELD)
"""Of a session after which no run may start: a release that does not know that must not start one."""
GROUP_FORMAT = Format("the record of a session's files")
NAMES_FORMAT = Format("the record of the segments that a session replaces")
# When you raise the version of a part, raise the session's too, since it is read before any decision.

_MAX_TEXT = 1000
_BOOLEANS = {"true": True, "false": False}


def session_record(session: Session) -> ZNRecord:
    """Convert a session, without its groups, to a record."""
    fields: dict[str, str | None] = {
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
        "serversBehind": json.dumps(dict(session.behind)) if session.behind else None,
        "abandoned": "true" if session.abandoned else "false",
        "message": session.message[:_MAX_TEXT] if session.message else None,
        "request": session.request,
        "sourceVersion": json.dumps(dataclasses.astuple(session.source_version))
        if session.source_version
        else None,
        "restores": session.restores,
        "held": "true" if session.held else None,
    }
    written = {key: value for key, value in fields.items() if value is not None}
    stamped = _format_of(written).stamp(written)
    return ZNRecord(session.session_id, with_unknown(stamped, session.unknown, ()))


def _format_of(fields: Mapping[str, str]) -> Format:
    return HELD_FORMAT if "held" in fields else SESSION_FORMAT


_SESSION_FIELDS = frozenset(
    {
        *(SESSION_FORMAT.field, "state", "retryCount", "createdMs", "updatedMs", "owner", "mode", "atomic"),
        *("inputDirURI", "stagingURI", "files", "totalBytes", "groups", "numbers", "fromPages"),
        *(
            "attemptsMs",
            "taskName",
            "segmentLineageEntryId",
            "abandoned",
            "message",
            "request",
            "serversBehind",
            "sourceVersion",
            "restores",
            "held",
        ),
    }
)


def session_from(
    fields: dict[str, str], table: TableName, session_id: str, version: int, where: str
) -> Session:
    """Read the result of `session_record`.

    Raises:
        FormatVersionError: A later release wrote it.
    """
    _format_of(fields).check(fields, where)
    return Session(
        session_id=session_id,
        table=table,
        state=SessionState(fields["state"]),
        created_ms=int(fields["createdMs"]),
        updated_ms=int(fields["updatedMs"]),
        owner=fields["owner"],
        mode=IngestionMode(fields["mode"]),
        atomic=_BOOLEANS[fields["atomic"]],
        source=fields["inputDirURI"],
        staging_uri=fields["stagingURI"],
        files=_count(fields["files"]),
        total_bytes=_count(fields["totalBytes"]),
        groups=_count(fields["groups"]),
        numbers=_count(fields["numbers"]),
        from_pages=_count(fields["fromPages"]),
        attempts_ms=tuple(int(text) for text in fields["attemptsMs"].split(",") if text),
        retry_count=_count(fields["retryCount"]),
        task_name=fields.get("taskName"),
        entry_id=fields.get("segmentLineageEntryId"),
        behind=_servers(fields.get("serversBehind", "{}")),
        abandoned=_BOOLEANS[fields.get("abandoned", "false")],
        message=fields.get("message"),
        request=fields.get("request"),
        source_version=_source_version(fields.get("sourceVersion")),
        restores=fields.get("restores"),
        held=_BOOLEANS[fields.get("held", "false")],
        version=version,
        unknown={key: value for key, value in fields.items() if key not in _SESSION_FIELDS},
    )


_GROUP_FIELDS = (GROUP_FORMAT.field, "entries", "units", "emptySegment", "enableCompression")
_ENTRY_FIELDS = ("n", "f", "status", "error", "ended", "refreshes")
_BUILD_FIELDS = ("files", "segments", "columns")


def group_record(group: FileGroup, present: ZNRecord | None = None) -> ZNRecord:
    """Convert a group of files to a compressed record.

    Args:
        group: The group.
        present: Its current record, readable by `group_from`. Its format version, which is that of the
            session's run, and unknown fields are preserved, since minions are upgraded before the processes
            that run sessions.
    """
    old = present.simple_fields if present else {}
    entries = {row["n"]: row for row in json.loads(old.get("entries", "[]"))}
    builds = {tuple(row["files"]): row for row in json.loads(old.get("units", "[]"))}
    fields: dict[str, Any] = {
        "entries": [
            with_unknown(_entry_row(entry), entries.get(entry.number, {}), _ENTRY_FIELDS)
            for entry in group.entries
        ],
        "units": [
            with_unknown(_build_row(build), builds.get(build.files, {}), _BUILD_FIELDS)
            for build in group.builds
        ],
    }
    content = {name: json.dumps(value, separators=(",", ":")) for name, value in fields.items()}
    if group.empty_segment:
        content["emptySegment"] = "true"
    content = GROUP_FORMAT.stamp({**content, "enableCompression": "true"}, as_in=old if present else None)
    return ZNRecord(f"{group.number:05d}", with_unknown(content, old, _GROUP_FIELDS))


def _build_row(build: StagedBuild) -> dict[str, Any]:
    return {
        "files": build.files,
        "segments": [_segment_row(s) for s in build.segments],
        "columns": rows_of(build.columns),
    }


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


def group_from(record: ZNRecord, number: int, where: str) -> FileGroup:
    """Read the result of `group_record`.

    Raises:
        FormatVersionError: A later release wrote it.
    """
    GROUP_FORMAT.check(record.simple_fields, where)
    rows, builds = (_of(list, json.loads(record.simple_fields[name])) for name in ("entries", "units"))
    return FileGroup(
        number,
        tuple(_entry_from(row) for row in rows),
        tuple(
            StagedBuild(
                tuple(_of(int, file) for file in row["files"]),
                tuple(_segment_from(segment) for segment in row["segments"]),
                notes_from(row.get("columns", [])),
            )
            for row in builds
        ),
        _BOOLEANS[record.simple_fields.get("emptySegment", "false")],
    )


def names_record(number: int, names: Sequence[str]) -> ZNRecord:
    """Convert a page of segment names to a compressed record."""
    fields = NAMES_FORMAT.stamp({"segments": json.dumps(names), "enableCompression": "true"})
    return ZNRecord(f"{number:05d}", fields)


def names_from(record: ZNRecord, where: str) -> list[str]:
    """Read the result of `names_record`.

    Raises:
        FormatVersionError: A later release wrote it.
    """
    NAMES_FORMAT.check(record.simple_fields, where)
    return [_of(str, name) for name in _of(list, json.loads(record.simple_fields["segments"]))]


def _entry_from(row: Any) -> FileEntry:
    uri, size_bytes, modified_ms, etag = row["f"]
    return FileEntry(
        number=_of(int, row["n"]),
        file=FileInfo(_of(str, uri), _of(int, size_bytes), _of(int, modified_ms), _maybe(str, etag)),
        status=FileStatus(row.get("status", FileStatus.PENDING)),
        error=_maybe(str, row.get("error")),
        ended_ms=_maybe(int, row.get("ended")),
        refreshes=_maybe(str, row.get("refreshes")),
    )


_SEGMENT_TYPES = tuple(
    get_type_hints(StagedSegment)[field.name] for field in dataclasses.fields(StagedSegment)
)


def _segment_from(row: Any) -> StagedSegment:
    values = _of(list, row)
    for value, wanted in zip(values, _SEGMENT_TYPES, strict=True):
        # JSON does not distinguish whole floats from integers.
        if not isinstance(value, int | float if wanted is float else wanted):
            raise TypeError(f"unexpected value {value!r} in the row of a segment")
    return StagedSegment(*values)


def _servers(text: str) -> tuple[tuple[str, int], ...]:
    return tuple((name, _of(int, count)) for name, count in _of(dict, json.loads(text)).items())


def _source_version(text: str | None) -> SourceVersion | None:
    if text is None:
        return None
    name, committed_ms = _of(list, json.loads(text))
    return SourceVersion(_of(str, name), _of(int, committed_ms))


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(f"expected a count, found {number}")
    return number


def _of(kind: type[T], value: Any) -> T:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"expected {kind.__name__}, found {type(value).__name__}")
    return value


def _maybe(kind: type[T], value: Any) -> T | None:
    return None if value is None else _of(kind, value)
