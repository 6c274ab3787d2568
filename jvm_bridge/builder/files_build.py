"""Builds segments with a limited number of rows from many files; a bad file does not affect the others.

An attempt reads all files, with Arrow or with Pinot's mapper, and packs each segment in a temporary folder.
If it fails, it finds the files that fail on their own, and makes a new attempt without them.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path

from controller_client.common.disk import disk_full
from controller_client.errors import ConfigError, DataError
from jvm_bridge.builder.arrow_build import EmptySource, build_with_arrow
from jvm_bridge.builder.driver import (
    PinotTable,
    SegmentTarget,
    generator_config,
    pack,
    rows_source,
    run_driver,
)
from jvm_bridge.builder.heap import heap_full, heap_full_by_rows
from jvm_bridge.builder.mapped_rows import MappedRows, Mapper, MappingError, RowsTooLargeError
from jvm_bridge.builder.model import (
    BuiltSegment,
    FilesBuilt,
    SourceFile,
    check_custom_metadata,
    check_segment_name,
)
from jvm_bridge.builder.one_file import (
    BuiltFolder,
    ReaderChoice,
    build_dir,
    build_file,
    build_without_rows,
    refusal_reason,
)
from jvm_bridge.builder.planning import Unsuitable
from jvm_bridge.builder.record_reader import reader_config
from jvm_bridge.builder.segment_times import segment_times
from jvm_bridge.builder.sources.files import open_file
from jvm_bridge.builder.sources.prepare import Prepared, prepare
from jvm_bridge.builder.sources.source import Source
from jvm_bridge.builder.transformers import pipeline_for
from jvm_bridge.input_rules import InputRules
from jvm_bridge.java_errors import JAVA_ERRORS

__all__ = ["FilesOrder", "build_files"]


@dataclass(frozen=True)
class FilesOrder:
    """The arguments of :meth:`SegmentBuilder.from_files`."""

    files: Sequence[SourceFile]
    segment_name: Callable[[int], str]
    max_rows: int
    custom_metadata: Callable[[Sequence[int]], Mapping[str, str]]
    work_dir: Path
    choice: ReaderChoice
    rules: InputRules


class _AttemptError(Exception):
    """The files cannot be built together.

    Attributes:
        suspects: Indexes of the files that may be the cause; the others were read.
    """

    def __init__(self, suspects: Sequence[int]) -> None:
        super().__init__(f"files {suspects}")
        self.suspects = suspects


def build_files(table: PinotTable, order: FilesOrder) -> FilesBuilt:
    """Build the segments, see :meth:`SegmentBuilder.from_files`.

    Raises:
        DiskFullError: The disk is full; no file is the cause.
        HeapFullError: Java's heap is full; no file is the cause.
        ConfigError: A segment name, custom metadata or a reader property is invalid.
    """
    for file in order.files[:1]:
        reader_config(file)
    files: dict[int, Prepared] = {}
    failures: dict[int, DataError] = {}
    with build_dir(order.work_dir) as folder:
        for index, file in enumerate(order.files):
            own = folder / str(index)
            own.mkdir()
            try:
                files[index] = prepare(table, file, order.rules, own)
            except DataError as error:
                failures[index] = error
        build = _FilesBuild(table, order, {index: prepared.file for index, prepared in files.items()})
        segments = build.of_good_ones(failures)
    mismatches = {
        i: prepared.mismatch for i, prepared in files.items() if prepared.mismatch and i not in failures
    }
    return FilesBuilt(segments, dict(sorted(failures.items())), mismatches)


@dataclass(frozen=True)
class _Built:
    folder: BuiltFolder
    target: SegmentTarget


_BuiltSegments = Generator[_Built, None, None]


class _FilesBuild:
    def __init__(self, table: PinotTable, order: FilesOrder, files: Mapping[int, SourceFile]) -> None:
        self._table = table
        self._order = order
        self._files = files

    def of_good_ones(self, failures: dict[int, DataError]) -> tuple[BuiltSegment, ...]:
        """Build the segments of all good files; the errors of the others are added to the failures."""
        while good := [index for index in self._files if index not in failures]:
            try:
                return self.together(good)
            except _AttemptError as failed:
                full = disk_full(failed, self._order.work_dir) or heap_full_by_rows(
                    failed, self._files[good[0]].file_format
                )
                if full is not None:
                    raise full from failed
                found = self.failures_of(failed.suspects) or self.failures_of(good)
            if not found:
                return self.one_by_one(good)
            failures |= found
        return ()

    def together(self, indexes: Sequence[int]) -> tuple[BuiltSegment, ...]:
        """Build the segments of these files.

        Raises:
            _AttemptError: They cannot be built together.
        """
        choice, reason = self._order.choice, None
        if choice != "pinot":
            try:
                return self._packed(indexes, self._by_arrow)
            except DataError as error:  # an error of one file, which Pinot's reader would not read either
                raise _AttemptError(indexes) from error
            except (Unsuitable, *JAVA_ERRORS) as refusal:
                if full := heap_full(refusal):
                    raise full from refusal
                if choice == "arrow":
                    raise _AttemptError(indexes) from refusal
                reason = refusal_reason(refusal)
        with build_dir(self._order.work_dir) as folder:
            mapper = Mapper(self._table, folder)
            try:
                return self._packed(indexes, partial(self._by_pinot, mapper=mapper, reason=reason))
            except MappingError as error:
                behind = indexes[error.position + 1 :]
                unmapped = [index for index in behind if not mapper.can_map(self._files[index])]
                raise _AttemptError([indexes[error.position], *unmapped]) from error
            except (RowsTooLargeError, *JAVA_ERRORS) as error:
                raise _AttemptError(indexes) from error

    def one_by_one(self, indexes: Sequence[int]) -> tuple[BuiltSegment, ...]:
        """Build one segment per file: the last resort for files that fail together, but not alone."""
        return self._packed(indexes, self._each_alone)

    def failures_of(self, indexes: Sequence[int]) -> dict[int, DataError]:
        """Return the errors of those files that fail on their own."""
        failures = {}
        for index in indexes:
            with build_dir(self._order.work_dir) as folder:
                try:
                    target = SegmentTarget("alone", folder, folder, {})
                    build_file(self._table, self._files[index], target, self._order.choice)
                except DataError as error:
                    failures[index] = error
        return failures

    def _packed(
        self,
        indexes: Sequence[int],
        built_by: Callable[[Sequence[int], Iterator[SegmentTarget]], _BuiltSegments],
    ) -> tuple[BuiltSegment, ...]:
        """Pack each segment while the next is built; the tars appear in the work folder at the end."""
        work_dir = self._order.work_dir
        with (
            build_dir(work_dir) as folder,
            build_dir(work_dir) as tar_dir,
            ThreadPoolExecutor(1, thread_name_prefix="pack") as packer,
        ):
            segments: list[BuiltSegment] = []
            packing: Future[BuiltSegment] | None = None
            with closing(built_by(indexes, self._targets(indexes, folder, tar_dir))) as all_built:
                for built in all_built:
                    if packing is not None:
                        segments.append(packing.result())  # so that at most one segment waits on the disk
                    packing = packer.submit(_pack, built)
            if packing is not None:
                segments.append(packing.result())
            return tuple(_moved(segment, work_dir) for segment in segments)

    def _targets(self, indexes: Sequence[int], folder: Path, tar_dir: Path) -> Iterator[SegmentTarget]:
        custom = dict(self._order.custom_metadata(indexes))
        check_custom_metadata(custom)
        names = set()
        for number in count():
            name = self._order.segment_name(number)
            check_segment_name(name)
            if name in names:
                raise ConfigError(f"two segments have the same name {name}")
            names.add(name)
            yield SegmentTarget(name, folder, tar_dir, custom)

    def _by_arrow(self, indexes: Sequence[int], targets: Iterator[SegmentTarget]) -> _BuiltSegments:
        plan = self._table.plan()
        opened: list[SourceFile] = []

        def sources() -> Iterator[Source]:
            for index in indexes:
                file = self._files[index]
                opened.append(file)
                yield open_file(file, plan)

        try:
            for path, target in build_with_arrow(self._table, sources(), targets, self._order.max_rows):
                yield _Built(BuiltFolder(path, "arrow", None), target)
        except EmptySource:
            target = next(targets)
            yield _Built(BuiltFolder(build_without_rows(self._table, target), "arrow", None), target)
        except Unsuitable as reason:
            if len(self._order.files) == 1 or not opened:
                raise
            raise Unsuitable(f"{opened[-1].name}: {reason}") from reason

    def _by_pinot(
        self,
        indexes: Sequence[int],
        targets: Iterator[SegmentTarget],
        *,
        mapper: Mapper,
        reason: str | None,
    ) -> _BuiltSegments:
        is_empty = True
        for rows in mapper.map([self._files[index] for index in indexes]):
            for start in range(0, rows.count, self._order.max_rows):
                is_empty = False
                target = next(targets)
                end = min(start + self._order.max_rows, rows.count)
                yield _Built(BuiltFolder(self._of_rows(rows, start, end, target), "pinot", reason), target)
        if is_empty:
            target = next(targets)
            yield _Built(BuiltFolder(build_without_rows(self._table, target), "pinot", reason), target)

    def _of_rows(self, rows: MappedRows, start: int, end: int, target: SegmentTarget) -> Path:
        config = generator_config(self._table.config, self._table.schema, target)
        config.setInputFilePath(str(rows.path))
        pipeline = pipeline_for(config, rows.late, segment_times(config, self._table.zone))
        return run_driver(config, rows_source(rows.reader(start, end)), pipeline)

    def _each_alone(self, indexes: Sequence[int], targets: Iterator[SegmentTarget]) -> _BuiltSegments:
        for index, target in zip(indexes, targets, strict=False):
            file = self._files[index]
            yield _Built(build_file(self._table, file, target, self._order.choice), target)


def _pack(built: _Built) -> BuiltSegment:
    made = built.folder
    segment = pack(made.path, built.target, made.reader, made.fallback_reason)
    shutil.rmtree(made.path)
    return segment


def _moved(segment: BuiltSegment, folder: Path) -> BuiltSegment:
    return replace(
        segment,
        tar_path=segment.tar_path.replace(folder / segment.tar_path.name),
        metadata_tar_path=segment.metadata_tar_path.replace(folder / segment.metadata_tar_path.name),
    )
