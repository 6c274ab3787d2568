"""Sample sessions, files and staged segments for the tests of this folder."""

from __future__ import annotations

from typing import Any

from controller_client.common.names import TableName
from controller_client.filestore import FileInfo
from controller_client.publishing.staged_segment import StagedSegment
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.session.model import IngestionMode, Session, SessionState
from minion_tasks.file_ingestion.session.store import SessionStore
from tests.unit.memory_zookeeper import MemoryPropertyStore

TABLE = TableName("t_OFFLINE")
MINIMAL = {"inputDirURI": "file:///in", "inputFormat": "csv"}


def make_session(session_id: str = "s1", state: SessionState = SessionState.INIT, **fields: Any) -> Session:
    values: dict[str, Any] = {
        "created_ms": 1,
        "updated_ms": 1,
        "owner": "me@here:1",
        "mode": IngestionMode.APPEND,
        "atomic": True,
        "source": "file:///in",
        "staging_uri": f"file:///st/{session_id}",
        **fields,
    }
    return Session(session_id=session_id, table=TABLE, state=state, **values)


def make_store() -> tuple[SessionStore, MemoryPropertyStore]:
    memory = MemoryPropertyStore()
    return SessionStore(memory, TABLE), memory


def make_params(**changes: str) -> FileIngestionParams:
    """Create parameters; a double underscore in a key represents a dot."""
    return FileIngestionParams.from_configs(
        {**MINIMAL, **{key.replace("__", "."): value for key, value in changes.items()}}
    )


def file(name: str, version: int = 1, size: int = 10) -> FileInfo:
    return FileInfo(f"file:///in/{name}", size, version)


def segment(name: str, rows: int = 5, attempt: str = "one", size: int = 9) -> StagedSegment:
    return StagedSegment(name, f"file:///st/s1/{name}.{attempt}", 77, rows, 3, size, 0.1, "arrow")
