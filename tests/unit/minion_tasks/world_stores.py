"""The source and the stores of the world in which runs are tested; see ``session_world``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from controller_client.filestore import FileInfo, FileStore, SourceChangedError
from minion_tasks.file_ingestion.params.stores import TaskStores
from minion_tasks.sources.base import Columns, SourceListing, SourceVersion
from minion_tasks.sources.folder import FolderSource
from tests.unit.minion_tasks.happenings import SOURCE, name_of

if TYPE_CHECKING:
    from tests.unit.minion_tasks.session_world import World

__all__ = ["VersionedSource", "WorldStores"]


class WorldStores(TaskStores):
    """Stores that all are the world."""

    def __init__(self, world: World) -> None:
        self._world = world
        folder = FolderSource(world, SOURCE)  # type: ignore[arg-type]
        self.source = VersionedSource(world) if world.is_lakehouse else folder

    def staging(self, uri: str) -> FileStore:
        return self._world  # type: ignore[return-value]


class VersionedSource:
    """The world's source as a lakehouse table, whose owner commits between any two listings."""

    def __init__(self, world: World) -> None:
        self._world = world

    def list(self, _columns: Columns, version: SourceVersion | None = None) -> SourceListing:
        commits = self._world.commits
        if version is None:
            listed = {file.uri: file for file in self._world.list(SOURCE)}
            commits.append(listed)
            version = SourceVersion(str(len(commits) - 1), 1000 * len(commits))
        return SourceListing(commits[int(version.id)].values(), version)

    @contextmanager
    def local_copy(
        self, file: FileInfo, version: SourceVersion | None, _columns: Columns, work_dir: Path
    ) -> Iterator[Path]:
        assert work_dir.is_dir()
        assert version is not None
        if self._world.commits[int(version.id)].get(file.uri) != file:
            raise SourceChangedError(f"{file.uri} is not in version {version.id}")
        name = name_of(file.uri)
        self._world.reads.append((name, file.modified_ms))
        yield Path(name, str(file.modified_ms))
