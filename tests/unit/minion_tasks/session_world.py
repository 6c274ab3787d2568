"""A world without Pinot for a table's runs: source, staging folder, minions, and a table that is a dict.

The run itself, the subtask's loop, the staging and the ledger are real. Functions that would call the
controller are replaced: reading the table's contents, publishing, the quota, the purge.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

from controller_client.common.names import TableName
from controller_client.errors import NotAppliedError
from controller_client.filestore import FileInfo, SourceChangedError
from controller_client.publishing.staged_segment import StagedSegment
from controller_client.publishing.switch import Switched
from controller_client.publishing.targets import QuotaExceededError
from controller_client.zookeeper import TableLock, ZNRecord
from controller_client.zookeeper.cluster_id import cluster_id
from jvm_bridge.builder import BuiltSegment
from minion_tasks.file_ingestion.engine.group_run import GroupRun, SubtaskFailedError
from minion_tasks.file_ingestion.engine.minion import NoMinionError
from minion_tasks.file_ingestion.engine.staging_builder import StagingBuilder
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.plan.ingested import TableContents
from minion_tasks.file_ingestion.run import (
    cleaning,
    judging,
    publish,
    rejected,
    resuming,
    rollback,
    source_view,
)
from minion_tasks.file_ingestion.run.steps import LockedRun
from minion_tasks.file_ingestion.run.types import RunReport, RunTools
from minion_tasks.file_ingestion.session.model import Session
from minion_tasks.file_ingestion.session.store import SessionStore
from minion_tasks.file_ingestion.versions import kept
from minion_tasks.file_ingestion.versions.kept import KeptSegment
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import MemoryPropertyStore
from tests.unit.minion_tasks.happenings import (
    SOURCE,
    Content,
    Happenings,
    ProcessDiedError,
    Subtask,
    info,
    name_of,
)
from tests.unit.minion_tasks.rows_builder import RowsBuilder
from tests.unit.minion_tasks.samples import TABLE
from tests.unit.minion_tasks.world_stores import PublishedRows, WorldStores

T = TypeVar("T")

_CONFIG = f"/CONFIGS/TABLE/{TABLE}"


class World:
    """Everything outside the code under test."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = MemoryPropertyStore(lambda _path: self._step())
        self.sessions = SessionStore(self.store, TABLE)
        self.behind: dict[str, int] = {}
        """Servers that lack new segments."""
        self.source: dict[str, int] = {}
        self.is_lakehouse = False
        self.commits: list[dict[str, FileInfo]] = []
        """The versions of a lakehouse table that were listed."""
        self.faults: dict[str, str] = {}
        self.versions = count(1)
        self.staged: dict[str, Content] = {}
        self.table: dict[str, Content] = {}
        self.used_up: set[str] = set()
        self.ever_pushed: set[str] = set()
        self.open_entry: tuple[str, ...] | None = None
        self.reverted: set[tuple[str, ...]] = set()
        self.completed: set[tuple[str, ...]] = set()
        self.jobs: dict[str, list[Subtask]] = {}
        self.happenings = Happenings()
        self.reads: list[tuple[str, int]] = []
        self.listings: list[dict[str, int]] = []
        self.on_listed: Callable[[], None] = lambda: None
        self.on_session: Callable[[Session], None] = lambda _session: None
        self._params: FileIngestionParams | None = None
        self._steps = 0
        self._in_subtask = False
        self._subtask_steps: int | None = None
        self._patches = ExitStack()
        self._work_dir = Path(self._patches.enter_context(tempfile.TemporaryDirectory()))
        self._builder = RowsBuilder(self._work_dir, lambda: self.faults)
        self._replace_seams()
        cluster_id(self.store)
        self.create_table()

    def close(self) -> None:
        self._patches.close()

    def _replace_seams(self) -> None:
        for module, name, value in (
            (source_view, "read_contents", lambda *_: self.contents()),
            (source_view, "_columns", lambda *_: None),
            (publish, "switch", self._switch),
            (publish, "push_one_by_one", self._push_one_by_one),
            (judging, "check_quota", lambda *_: self._check_quota()),
            (judging, "failed_checks", lambda *_: list(self.happenings.failed_checks)),
            (rejected, "read_contents", lambda *_: self.contents()),
            (cleaning, "purge", lambda *_, **__: []),
            (cleaning, "PublishedSegments", lambda *_: PublishedRows(self, self._builder)),
            (kept, "_verified_and_renamed", self._renamed),
            (rollback, "read_contents", lambda *_: self.contents()),
            (resuming, "was_reverted", lambda _client, _table, names: tuple(names) in self.reverted),
            (cleaning.Cleaning, "_undo_switch", lambda *_: self.revert()),
        ):
            self._patches.enter_context(mock.patch.object(module, name, value))

    # What the table serves.

    def contents(self) -> TableContents:
        files: dict[str, FileInfo] = {}
        uris_of, foreign = {}, []
        for name, content in self.table.items():
            inputs = content.files(name)
            if inputs is None:
                foreign.append(name)
                continue
            files.update((each.uri, each) for each in inputs)
            uris_of[name] = tuple(each.uri for each in inputs)
        return TableContents(files, uris_of, tuple(foreign))

    def _content_of(self, segment: StagedSegment) -> Content:
        assert segment.metadata_uri in self.staged
        return self.staged[segment.tar_uri]

    def _switch(
        self,
        _client: object,
        _store: object,
        _table: str,
        segments: Sequence[StagedSegment],
        replaced: Sequence[str],
        _staging: object,
        *,
        push_mode: str,
        on_entry: Callable[[str], object],
        min_replicas: int | None,
    ) -> Switched:
        """Act like the lineage protocol: add and remove segments in one step, once."""
        del push_mode
        behind = {} if min_replicas is None else self.behind
        names = tuple(segment.name for segment in segments)
        assert names, "before Pinot 1.0 no segment can be replaced with nothing"
        gone = [name for name in replaced if name in self.table]
        if names in self.completed:
            return Switched(len(gone), behind)
        assert names not in self.reverted
        if self.open_entry != names:
            assert not self.ever_pushed.intersection(names), "a segment name was reused"
            assert self.open_entry is None
            self._step()
            self.open_entry = names
            self.ever_pushed.update(names)
        on_entry("an entry")
        contents = {segment.name: self._content_of(segment) for segment in segments}
        self._step()
        for name in gone:
            del self.table[name]
        self.used_up.update(gone)
        self.table.update(contents)
        self.open_entry = None
        self.completed.add(names)
        self._step()
        return Switched(len(gone), behind)

    def _push_one_by_one(
        self,
        _client: object,
        _store: object,
        _table: str,
        segments: Sequence[StagedSegment],
        replaced: Sequence[str],
        _staging: object,
        *,
        push_mode: str,
        min_replicas: int | None,
    ) -> Switched:
        del push_mode
        for segment in segments:
            self._step()
            assert segment.name not in self.used_up, "brokers would hide it"
            self.table[segment.name] = self._content_of(segment)
            self.ever_pushed.add(segment.name)
        gone = set(replaced).intersection(self.table).difference(segment.name for segment in segments)
        for name in sorted(gone):
            self._step()
            del self.table[name]
        self._step()
        return Switched(len(gone), {} if min_replicas is None else self.behind)

    def revert(self) -> None:
        """Revert the entry of an incomplete switch, as an operator would."""
        if self.open_entry is not None:
            self.reverted.add(self.open_entry)
            self.open_entry = None

    def create_table(self) -> None:
        """Drop and recreate the table; its sessions stay, as in Pinot."""
        if self.store.get(_CONFIG) is not None:
            self.store.delete(_CONFIG)
        self.store.create(_CONFIG, ZNRecord(TABLE))
        self.table.clear()
        self.used_up.clear()
        self.open_entry = None

    def _check_quota(self) -> None:
        if self.happenings.quota_exceeded:
            raise QuotaExceededError("no room")

    # The source and the staging folder: a FileStore.

    def list(self, directory_uri: str) -> Iterator[FileInfo]:
        if directory_uri != SOURCE:
            below = sorted(self._below(directory_uri))
            return iter([FileInfo(uri, 10, 1) for uri in below])
        self.listings.append(dict(self.source))
        self.on_listed()
        return iter([info(name, version) for name, version in sorted(self.source.items())])

    @contextmanager
    def local_copy(self, file: FileInfo, work_dir: Path) -> Iterator[Path]:
        assert work_dir.is_dir()
        name = name_of(file.uri)
        self.reads.append((name, file.modified_ms))
        self._check_unchanged(file)
        if name in self.happenings.rewritten:
            self.happenings.rewritten.discard(name)
            self.source[name] = next(self.versions)
        yield Path(name, str(file.modified_ms))
        self._check_unchanged(file)

    def _check_unchanged(self, file: FileInfo) -> None:
        name = name_of(file.uri)
        if name not in self.source or info(name, self.source[name]) != file:
            raise SourceChangedError(f"{file.uri} changed")

    def upload(self, path: Path, uri: str) -> None:
        self._step()
        self.staged[uri] = self._builder.built[path]

    def download(self, uri: str, path: Path) -> None:
        self._step()
        self._builder.built[path] = self.staged[uri]

    def delete(self, uri: str) -> None:
        self._step()
        self.staged.pop(uri, None)

    def delete_tree(self, directory_uri: str) -> int:
        self._step()
        below = self._below(directory_uri)
        for uri in below:
            del self.staged[uri]
        return len(below)

    def _below(self, directory_uri: str) -> set[str]:
        return {uri for uri in self.staged if uri.startswith(directory_uri + "/")}

    def _renamed(self, _segment: KeptSegment, path: Path, name: str, _folder: Path) -> BuiltSegment:
        content = self._builder.built[path]
        return self._builder.segment(name, content.custom, content.rows)

    # The minions: an Engine.

    def name_of(self, _params: FileIngestionParams) -> str:
        return "minion"

    def slots(self, _params: FileIngestionParams) -> int:
        return 2

    def submit(self, session: Session, tasks: Sequence[Sequence[int]], _params: FileIngestionParams) -> str:
        self._step()
        task_name = f"Task_{len(self.jobs)}"
        self.jobs[task_name] = [
            Subtask(session.session_id, session.retry_count, tuple(numbers)) for numbers in tasks
        ]
        return task_name

    def wait(self, task_name: str, _params: FileIngestionParams, on_poll: Callable[[], bool]) -> None:
        on_poll()
        if self.happenings.run_dies_waiting:
            raise ProcessDiedError
        if self.happenings.no_minion:
            raise NoMinionError("no minion is live")
        while self.jobs[task_name]:
            self._step()
            if not self.jobs[task_name]:
                break
            subtask = self.jobs[task_name].pop(0)
            self._run(subtask, self.happenings.subtasks.pop(0) if self.happenings.subtasks else "ok")
        on_poll()

    def explain(self, _task_name: str) -> Mapping[int, str]:
        return {}

    def cancel(self, task_name: str) -> None:
        self.jobs[task_name].clear()

    def run_leftovers(self) -> None:
        """Run subtasks that a run has left behind."""
        for left in self.jobs.values():
            while left:
                self._run(left.pop(0), "ok")

    def _run(self, subtask: Subtask, fate: str | int) -> None:
        if fate == "lost":
            return
        in_subtask, steps_left = self._in_subtask, self._subtask_steps
        self._in_subtask, self._subtask_steps = True, fate if isinstance(fate, int) else None
        try:
            self._execute(subtask, overlapped=fate == "twice")
        except (ProcessDiedError, NotAppliedError, SubtaskFailedError):
            pass
        finally:
            self._in_subtask, self._subtask_steps = in_subtask, steps_left

    def _execute(self, subtask: Subtask, *, overlapped: bool) -> None:
        """Act like the executor; if overlapped, run the whole subtask once more while it builds."""
        assert self._params is not None
        session = self.sessions.load(subtask.session_id)
        builder = StagingBuilder(session, self._params, self._builder, self._work_dir, self.clock)  # type: ignore[arg-type]
        asked = 0

        class Build:
            def __call__(build, entries: Any) -> Any:  # noqa: N805
                nonlocal asked
                asked += 1
                built = builder(entries)
                self.clock.advance(0.8)
                if overlapped and asked == 2:
                    self._run(subtask, "ok")
                return built

            def empty(build, number: int) -> Any:  # noqa: N805
                built = builder.empty(number)
                if overlapped:
                    self._run(subtask, "ok")
                return built

        for number in subtask.groups:
            run = GroupRun(
                self.sessions,
                subtask.session_id,
                number,
                attempt=subtask.attempt,
                build=Build(),
                params=self._params,
                is_cancelled=lambda: False,
                clock=self.clock,
            )
            try:
                run.run()
            except SubtaskFailedError:
                continue

    # The run.

    def trigger(self, params: FileIngestionParams, happenings: Happenings) -> RunReport:
        """Run one trigger.

        Raises:
            ProcessDiedError: As requested by the happenings.
            PinotPluginError: As raised by the run.
        """
        return self.run(params, happenings, lambda *given: LockedRun(*given).trigger())

    def run(
        self,
        params: FileIngestionParams,
        happenings: Happenings,
        step: Callable[[RunTools, TableName, FileIngestionParams, SessionStore, TableLock], T],
    ) -> T:
        """Run a step with the table's lock; see `trigger`."""
        self.clock.advance(3600)
        if self.is_lakehouse:
            params = replace(params, input_format="iceberg")
        params = self._params = replace(params, stores=WorldStores(self))
        self.happenings, self._steps = happenings, 0
        self.reads.clear()
        self.listings.clear()
        lock = mock.Mock(lost=happenings.lock_lost)
        tools = RunTools(None, self.store, self, self.clock, on_session=self.on_session)  # type: ignore[arg-type]
        try:
            return step(tools, TABLE, params, self.sessions, lock)
        finally:
            self.happenings = Happenings()

    def _step(self) -> None:
        """Count a step of the run or of the current subtask, and trigger what is to happen there."""
        if self._in_subtask:
            if self._subtask_steps is not None:
                self._subtask_steps -= 1
                if self._subtask_steps <= 0:
                    raise ProcessDiedError
            return
        self._steps += 1
        if self.happenings.leftovers_at == self._steps:
            self.run_leftovers()
        if self.happenings.run_dies_at == self._steps:
            raise ProcessDiedError
