"""Sessions in ZooKeeper; every change is a compare-and-set.

::

    /<cluster>/PROPERTYSTORE/MINION_TASK_METADATA/<tableNameWithType>/FileIngestionTask/consistentPush/
        <session>                    the session: state, retryCount, ... (simple fields)
        <session>/groups/00000       some of its files and their results (compressed)
        <session>/from/00000         some of the segments that its switch replaces (compressed)

Each record has a format version in ``format``. A session's files are divided into groups, so that no znode
grows with the size of the source and each subtask writes only its own groups.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from controller_client.common.names import TableName
from controller_client.errors import DataError, NotFoundError
from controller_client.helix.table_config import table_config_path
from controller_client.zookeeper import PropertyStore, Versioned, ZNRecord
from minion_tasks.file_ingestion.session.model import FileGroup, Session, SessionState
from minion_tasks.file_ingestion.session.records import (
    UNREADABLE,
    group_from,
    group_record,
    names_from,
    names_record,
    session_from,
    session_record,
)

_GROUPS_PAGE = 50
_FROM_PAGE = 5000
_NEWEST = 2


def sessions_path(table: TableName) -> str:
    """Return the path of a table's sessions in the property store."""
    return f"/MINION_TASK_METADATA/{table}/FileIngestionTask/consistentPush"


class DamagedSessionError(DataError):
    """A session's record in ZooKeeper, or a part of it, is corrupt or missing.

    Args:
        session_id: The session.
        table: Table name with type.
        fault: What is wrong.
        path: The znode's path in the property store.
    """

    def __init__(self, session_id: str, table: TableName, fault: str, path: str) -> None:
        super().__init__(
            f"the record of session {session_id} of {table} is damaged: {fault}",
            where=path,
            remedy="run the task: it discards the session and reverts its switch unless that is completed."
            f" Or clear all sessions with 'pinotctl task session clear {table}'",
        )
        self.session_id = session_id
        self.table = table
        self.fault = fault


class SessionStore:
    """The sessions of one table.

    Everything read is checked: each method that reads a session may raise `DamagedSessionError`, or
    `FormatVersionError` if a later release wrote it. `ids` and `delete` read no session.
    """

    def __init__(self, store: PropertyStore, table: TableName) -> None:
        self._store = store
        self._table = table
        self._root = sessions_path(table)

    @property
    def table(self) -> TableName:
        """The table's name with type."""
        return self._table

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
            NotFoundError: There is no session with this id.
        """
        path = f"{self._root}/{session_id}"
        (znode,) = self._read(session_id, [path])
        if znode is None and session_id not in self.ids():
            raise NotFoundError(f"table {self._table} has no session {session_id}", where=self._root)
        if znode is None:
            raise DamagedSessionError(session_id, self._table, "it is empty", path)
        with self._readable(session_id, path):
            return session_from(znode.record.simple_fields, self._table, session_id, znode.version, path)

    def create(self, session: Session) -> Session:
        """Write a new session; its groups are written before it leaves INIT."""
        self._store.create(f"{self._root}/{session.session_id}", session_record(session))
        return self.load(session.session_id)

    def save(self, session: Session) -> Session:
        """Write a session unless somebody has changed it since it was read.

        Raises:
            ConflictError: The session was changed in the meantime.
        """
        path = f"{self._root}/{session.session_id}"
        version = self._store.set(path, session_record(session), expected_version=session.version)
        return replace(session, version=version)

    def is_of_dropped_table(self, session: Session) -> bool:
        """Return whether the table was dropped after the session started (Pinot keeps the session)."""
        table = self._store.creation_order(table_config_path(self._table))
        began = self._store.creation_order(f"{self._root}/{session.session_id}")
        return table is None or (began is not None and began < table)

    def create_group(self, session_id: str, group: FileGroup) -> None:
        """Write a new group of files."""
        self._store.create(self._group_path(session_id, group.number), group_record(group))

    def group(self, session_id: str, number: int) -> FileGroup:
        """Read a group.

        Raises:
            NotFoundError: The session or the group does not exist.
        """
        path = self._group_path(session_id, number)
        (found,) = self._read(session_id, [path])
        return self._group(session_id, number, path, found.record if found else None)

    def groups(self, session: Session) -> Iterator[FileGroup]:
        """Read all groups of a session, a page at a time."""
        for start in range(0, session.groups, _GROUPS_PAGE):
            numbers = range(start, min(start + _GROUPS_PAGE, session.groups))
            paths = [self._group_path(session.session_id, number) for number in numbers]
            pages = self._read(session.session_id, paths)
            for number, path, found in zip(numbers, paths, pages, strict=True):
                yield self._group(session.session_id, number, path, found.record if found else None)

    def change_group(
        self, session_id: str, number: int, change: Callable[[FileGroup], FileGroup]
    ) -> FileGroup:
        """Change the current version of a group, and retry if somebody else changes it at the same time.

        Args:
            session_id: The session.
            number: Number of the group.
            change: Returns the wanted group for the current one; must return its own result unchanged.
        """
        path = self._group_path(session_id, number)

        def changed(present: ZNRecord | None) -> ZNRecord | None:
            group = self._group(session_id, number, path, present)
            wanted = change(group)
            return present if wanted == group else group_record(wanted, present)

        try:
            done = self._store.change(path, changed)
        except DataError:
            self.group(session_id, number)  # raises a better error if the record is damaged
            raise
        return group_from(done.current.record, number, path)

    def drop_group(self, session_id: str, number: int) -> None:
        """Delete a group that a killed run wrote but did not count."""
        self._delete_if_present(self._group_path(session_id, number))

    def write_from(self, session_id: str, names: Sequence[str]) -> int:
        """Store the segments that the switch replaces; return the number of pages."""
        pages = [names[start : start + _FROM_PAGE] for start in range(0, len(names), _FROM_PAGE)]
        for number, page in enumerate(pages):
            path = self._from_path(session_id, number)
            self._delete_if_present(path)  # left by a run that was killed before it counted its pages
            self._store.create(path, names_record(number, page))
        return len(pages)

    def read_from(self, session: Session) -> list[str]:
        """Read the stored segments that the switch replaces."""
        names: list[str] = []
        for number in range(session.from_pages):
            path = self._from_path(session.session_id, number)
            (znode,) = self._read(session.session_id, [path])
            if znode is None:
                raise self._lost(session.session_id, f"page {number} of the segments that it replaces", path)
            with self._readable(session.session_id, path):
                names += names_from(znode.record, path)
        return names

    def delete(self, session_id: str) -> None:
        """Delete a session with all its records."""
        self._delete_if_present(f"{self._root}/{session_id}", recursive=True)

    def prune(self, versions: int = 1) -> None:
        """Delete all sessions but the newest two and, if versions are kept, those that made the last ones.

        The present version's session also stays while it holds the table, as runs are refused because of it.
        Before a damaged session there are no versions, since it is unknown what it changed.

        Args:
            versions: How many versions of the table are kept; the present one alone needs no session.
        """
        ids = self.ids()
        kept = set(ids[-_NEWEST:])
        needs_present = versions > 1
        for session_id in reversed(ids):
            if versions == 0:
                break
            try:
                session = self.load(session_id)
            except (DamagedSessionError, NotFoundError):
                break
            if session.state is SessionState.DONE:
                versions -= 1
                if needs_present or session.held:
                    kept.add(session_id)
        for session_id in ids:
            if session_id not in kept:
                self.delete(session_id)

    def forget_before(self, session_id: str) -> None:
        """Delete all sessions that are older than a session, the oldest first."""
        for earlier in self.ids():
            if earlier < session_id:
                self.delete(earlier)

    def _delete_if_present(self, path: str, *, recursive: bool = False) -> None:
        with contextlib.suppress(NotFoundError):
            self._store.delete(path, recursive=recursive)

    def _from_path(self, session_id: str, number: int) -> str:
        return f"{self._root}/{session_id}/from/{number:05d}"

    def _group_path(self, session_id: str, number: int) -> str:
        return f"{self._root}/{session_id}/groups/{number:05d}"

    def _read(self, session_id: str, paths: Sequence[str]) -> Sequence[Versioned | None]:
        try:
            return self._store.get_many(paths)
        except DataError as error:
            where = error.where or paths[0]
            raise DamagedSessionError(session_id, self._table, error.message, where) from error

    def _group(self, session_id: str, number: int, path: str, record: ZNRecord | None) -> FileGroup:
        if record is None:
            raise self._lost(session_id, f"group {number}", path)
        with self._readable(session_id, path):
            return group_from(record, number, path)

    def _lost(self, session_id: str, part: str, path: str) -> DataError | NotFoundError:
        """Create the error for a missing part; it is no damage if the whole session is gone."""
        if session_id in self.ids():
            return DamagedSessionError(session_id, self._table, f"{part} is missing", path)
        return NotFoundError(f"session {session_id} of {self._table} no longer exists", where=path)

    @contextlib.contextmanager
    def _readable(self, session_id: str, path: str) -> Iterator[None]:
        try:
            yield
        except (*UNREADABLE, DataError) as error:
            fault = f"{type(error).__name__}: {error}"[:200]
            raise DamagedSessionError(session_id, self._table, fault, path) from error
