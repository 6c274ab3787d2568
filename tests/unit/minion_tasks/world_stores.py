"""The source and the stores of the world in which runs are tested; see ``session_world``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from controller_client.filestore import FileInfo, FileStore, SourceChangedError
from minion_tasks.file_ingestion.params.stores import TaskStores
from minion_tasks.sources.base import Columns, SourceListing, SourceVersion
from minion_tasks.sources.folder import FolderSource
from tests.unit.minion_tasks.happenings import SOURCE, name_of

if TYPE_CHECKING:
    from tests.unit.minion_tasks.rows_builder import RowsBuilder
    from tests.unit.minion_tasks.session_world import World

__all__ = ["PublishedRows", "VersionedSource", "WorldStores"]


class WorldStores(TaskStores):
    """Stores that all are the world."""

    def __init__(self, world: World) -> None:
        self._world = world
        folder = FolderSource(world, SOURCE)  # type: ignore[arg-type]
        self.source = VersionedSource(world) if world.is_lakehouse else folder

    def staging(self, uri: str) -> FileStore:
        return self._world  # type: ignore[return-value]


@dataclass(frozen=True)
class PublishedRow:
    """The record of a segment of the table."""

    segment: str
    crc: int = 7


class PublishedRows:
    """The segments that the world's table serves, in place of those of a deep store."""

    def __init__(self, world: World, builder: RowsBuilder) -> None:
        self._world = world
        self._builder = builder

    def records(self, names: Sequence[str]) -> list[PublishedRow]:
        return [PublishedRow(name) for name in names if name in self._world.table]

    def fetch(self, record: PublishedRow, path: Path) -> None:
        path.touch()
        self._builder.built[path] = self._world.table[record.segment]


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
