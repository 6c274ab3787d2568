"""The segment builder of a world without Pinot: a segment is its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path

from controller_client.errors import DataError
from jvm_bridge.builder import BuiltSegment, FilesBuilt, UnreadableFileError
from jvm_bridge.folder_columns import FolderColumns
from tests.unit.minion_tasks.happenings import Content, Row, rows_of


class RowsBuilder:
    """Replaces the segment builder of a subtask.

    Args:
        work_dir: Where the tar files would be.
        faults: Returns the faults of files by name.

    Attributes:
        built: The content of each tar file.
    """

    def __init__(self, work_dir: Path, faults: Callable[[], Mapping[str, str]]) -> None:
        self._work_dir = work_dir
        self._faults = faults
        self._names = count()
        self.built: dict[Path, Content] = {}

    def from_files(
        self,
        paths: Sequence[Path],
        _file_format: object,
        segment_name: Callable[[int], str],
        *,
        max_rows: int,
        reader_config: object,
        custom_metadata: Callable[[Sequence[int]], Mapping[str, str]],
        folders: Sequence[FolderColumns],
    ) -> FilesBuilt:
        assert reader_config is None
        assert not any(folders)
        failures: dict[int, DataError] = {}
        rows: list[Row] = []
        for index, path in enumerate(paths):
            name, version = path.parts
            fault = self._faults().get(name)
            if fault is not None:
                failures[index] = UnreadableFileError(fault) if fault == "no header" else DataError(fault)
                continue
            rows.extend(rows_of(name, int(version)))
        good = [index for index in range(len(paths)) if index not in failures]
        if not good:
            return FilesBuilt((), failures)
        custom = custom_metadata(good)
        starts = range(0, max(1, len(rows)), max_rows)
        segments = [
            self.segment(segment_name(part), custom, rows[start : start + max_rows])
            for part, start in enumerate(starts)
        ]
        return FilesBuilt(tuple(segments), failures)

    def from_file(
        self, path: Path, _file_format: object, name: str, *, custom_metadata: Mapping[str, str]
    ) -> BuiltSegment:
        assert path.stat().st_size == 0
        return self.segment(name, custom_metadata, [])

    def segment(self, name: str, custom: Mapping[str, str], rows: Sequence[Row]) -> BuiltSegment:
        folder = self._work_dir / f"built{next(self._names)}"
        tar, metadata = folder / f"{name}.tar.gz", folder / f"{name}.metadata.tar.gz"
        self.built[tar] = self.built[metadata] = Content(custom, tuple(rows))
        size = 30 * len(rows)
        return BuiltSegment(name, len(rows), tar, size, metadata, size, 1, None, None, None, "arrow")
