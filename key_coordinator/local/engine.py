"""The engine ``local``: leading, standing by, and recovering from failures."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from controller_client.clock import Clock
from controller_client.common.disk import naming_full_disks
from controller_client.errors import (
    AuthError,
    ConfigError,
    ConflictError,
    DataError,
    FormatVersionError,
    LockHeldError,
    SourceError,
    UnreachableError,
)
from controller_client.stream.offsets import open_offsets
from controller_client.upsert.floors import Floors
from controller_client.upsert.generation import (
    Generation,
    beside,
    new_folder,
    read_generation,
    read_request,
    write_generation,
)
from controller_client.zookeeper import PropertyStore, TableLock
from controller_client.zookeeper.cluster_id import cluster_id
from key_coordinator.current_generation import current_generation
from key_coordinator.engines import CoordinatorRun
from key_coordinator.local.follower import follow
from key_coordinator.local.input_topic import InputTopic
from key_coordinator.local.leader import Leader, LeaderParts
from key_coordinator.local.rebuild import Rebuild
from key_coordinator.plan import KeyedTable
from key_coordinator.progress import CoordinatorProgress
from key_coordinator.reading.records import RecordReader
from key_coordinator.report import VersionReport
from key_coordinator.retries import Retries
from key_coordinator.sent_versions import SentVersions
from key_coordinator.state.store import KeyStore, StoredUpTo, delete_leftovers
from key_coordinator.topic_settings import TopicSettings, settings_of_topic
from key_coordinator.updates_topic import UpdatesWriter

__all__ = ["ENGINE", "LocalCoordinator", "LocalOptions", "run_locally"]

ENGINE = "local"
_CHECK_EVERY_S = 1.0
_STANDBY_POLL_S, _STANDBY_RETRY_S = 0.5, 2.0
_INTERVAL_S = 0.25
_MAX_ROWS = 60_000
_LATER = (SourceError, DataError, ConflictError, UnreachableError, AuthError, FormatVersionError)
"""Why a standby cannot follow for now."""


@dataclass(frozen=True)
class LocalOptions:
    """How a coordinator runs.

    Attributes:
        folder: Where the states of its generations are stored.
        interval_s: Shortest time between the starts of two versions.
        max_rows: Maximum number of rows per version.
        replication: Replication factor of a new updates topic; None: that of the input topic.
        once: Stop once all present input is processed.
        allow_data_loss: Whether to continue if Kafka has deleted rows before they were read.
    """

    folder: Path
    interval_s: float
    max_rows: int
    replication: int | None
    once: bool = False
    allow_data_loss: bool = False


class LocalCoordinator:
    """Runs the coordinator of a table in this process until it is stopped.

    Args:
        store: The cluster's ZooKeeper.
        plan: The table.
        options: How it runs.
        clock: Time.
        lock: The table's lock; its holder leads.
        progress: Records each version.
        note: Called with log lines.
        on_check: See :class:`CoordinatorRun`.
        on_failure: See :class:`CoordinatorRun`.
    """

    def __init__(
        self,
        store: PropertyStore,
        plan: KeyedTable,
        options: LocalOptions,
        clock: Clock,
        lock: TableLock,
        *,
        progress: CoordinatorProgress,
        note: Callable[[str], None],
        on_check: Callable[[int | None], None],
        on_failure: Callable[[str], None],
    ) -> None:
        self._zookeeper = store
        self._plan = plan
        self._options = options
        self._clock = clock
        self._lock = lock
        self._progress = progress
        self._note = note
        self._folder = options.folder / str(plan.table)
        self._on_check = on_check
        self._retries = Retries(note, on_failure)
        self._state: tuple[str, KeyStore] | None = None

    def run(self, stop: threading.Event) -> None:
        """Lead until ``stop`` is set or, with ``once``, all input is processed; the lock must be held.

        Raises:
            ConflictError: The lock was lost, another coordinator writes the versions, or the table was
                replaced.
            FormatVersionError: A later release has led the table; this one cannot read its state.
            SourceError: It failed ten times without making a version.
            UnreachableError: The same, because ZooKeeper did not answer.
            OutcomeUnknownError: The same, because ZooKeeper's replies were lost.
            OSError: The disk is full, or broken.
        """
        try:
            self._retries.run(lambda: self._lead(stop), stop)
        finally:
            self._close_state()

    def stand_by(self, stop: threading.Event) -> bool:
        """Follow another coordinator until the lock is free; returns whether this one acquired it.

        Failures to follow are logged and retried: the leader continues meanwhile, even if it is of a later
        release.
        """
        failed = ""
        while not stop.is_set():
            try:
                if self._follow_until_free(stop):
                    return True
            except _LATER as error:
                if error.message != failed:
                    self._note(f"{error.message}; trying again")
                failed = error.message
                stop.wait(_STANDBY_RETRY_S)
        return False

    def _follow_until_free(self, stop: threading.Event) -> bool:
        """Follow until this coordinator holds the lock; False if it is stopped first."""
        topic = self._plan.settings.updates_topic
        reader = RecordReader(self._plan.recipe)
        with SentVersions(self._plan.stream, topic) as sent, self._source() as source:
            while not stop.is_set():
                self._on_check(None)
                try:
                    self._lock.acquire(0.0)
                except LockHeldError:
                    generation = read_generation(self._zookeeper, self._plan.table)
                    if generation is not None and generation.engine == ENGINE:
                        follow(self._open_state(generation), source, reader, sent)
                else:
                    return True
                stop.wait(_STANDBY_POLL_S)
        return False

    def _lead(self, stop: threading.Event) -> bool:
        """Lead until a failure; returns whether all work is done."""
        self._refuse_without_lock()
        stream, name = self._plan.stream, self._plan.settings.updates_topic
        topic_settings = settings_of_topic(
            self._zookeeper, self._plan, self._options.replication, self._clock, self._note
        )
        with ExitStack() as opened:
            topic = opened.enter_context(
                UpdatesWriter(stream, name, topic_settings, f"pinot-plugins.{self._plan.table}")
            )
            sent = opened.enter_context(SentVersions(stream, name))
            source = opened.enter_context(self._source())
            reader = RecordReader(self._plan.recipe)
            # From here on, no other coordinator can send a version.
            topic.fence()
            generation = self._generation(sent)
            state = self._open_state(generation)
            delete_leftovers(self._folder, generation.folder, cluster_id(self._zookeeper))
            read = follow(state, source, reader, sent)
            if read:
                self._note(f"{read:,} rows were reread to bring the state to version {_version(state)}")
            self._progress.begin(generation, state.up_to)
            leader = Leader(
                LeaderParts(
                    generation,
                    state,
                    source,
                    reader,
                    topic,
                    floors=Floors(self._zookeeper, self._plan.table, self._clock),
                    clock=self._clock,
                ),
                max_rows=self._options.max_rows,
                interval_s=self._options.interval_s,
                on_version=self._on_version,
            )
            duties = _Duties(self._rebuild_of, lambda: self._check(source, topic_settings), self._clock)

            def turn() -> Rebuild | None:
                self._refuse_without_lock()
                return duties.turn(generation, opened)

            try:
                done = leader.run(stop, turn, once=self._options.once)
            finally:
                self._progress.flush()
            if not done and duties.rebuild is not None and state.up_to is not None:
                self._take_over(duties.rebuild, state.up_to.version + 1)
            return done

    def _check(self, source: InputTopic, topic: TopicSettings) -> int:
        """Do the checks due once a second; returns the number of the newest requested generation."""
        self._on_check(source.lag())
        topic.check()
        self._progress.flush()
        request = read_request(self._zookeeper, self._plan.table)
        return request.number if request else 0

    def _rebuild_of(self, generation: Generation, number: int, opened: ExitStack) -> Rebuild:
        """Start building a new state beside the current one."""
        newest = _version(self._open_state(generation))
        folder = new_folder(cluster_id(self._zookeeper))
        new = beside(generation, number, newest, open_offsets(self._plan.stream).read(), folder)
        self._note(
            f"generation {number} is being built beside generation {generation.number}: "
            "a rebuild was requested"
        )
        sent = SentVersions(self._plan.stream, self._plan.settings.updates_topic)
        return opened.enter_context(
            Rebuild(
                new,
                KeyStore(self._folder / new.folder),
                self._source(),
                RecordReader(self._plan.recipe),
                opened.enter_context(sent),
            )
        )

    def _take_over(self, rebuild: Rebuild, base: int) -> None:
        """Continue with the state of a rebuild, which is already on disk."""
        new = replace(rebuild.generation, base=base)
        write_generation(self._zookeeper, self._plan.table, new)
        self._note(f"generation {new.number} takes over at version {base}")

    def _on_version(self, report: VersionReport) -> None:
        self._retries.succeeded()
        self._progress.add(report)

    def _refuse_without_lock(self) -> None:
        if self._lock.lost:
            raise ConflictError(
                "the table's lock was lost",
                where=self._lock.path,
                remedy="restart the coordinator, unless another one is running by now",
            )

    def _generation(self, sent: SentVersions) -> Generation:
        """Return the current generation, or a new one if the current one cannot continue."""
        recorded = self._progress.newest_sent()

        def flaw_of(generation: Generation) -> str | None:
            version = max(_version(self._open_state(generation)), recorded)
            return f"the updates topic has lost version {version}" if version > sent.newest() else None

        newest = max(sent.newest(), recorded)
        current = current_generation(
            self._zookeeper, self._plan, ENGINE, newest, flaw_of, meets_requests=False
        )
        generation = current.generation
        if current.reason is not None:
            self._close_state(forget=True)
            write_generation(self._zookeeper, self._plan.table, generation)
            self._note(
                f"generation {generation.number} begins at version {generation.base}: {current.reason}"
            )
        return generation

    def _open_state(self, generation: Generation) -> KeyStore:
        """Open the state of a generation; it may be empty."""
        if self._state is None or self._state[0] != generation.folder:
            self._close_state(forget=True)
            state = KeyStore(self._folder / generation.folder)
            self._state = (generation.folder, state)
            if state.up_to is None or state.up_to.generation != generation.number:
                state.begin(StoredUpTo(generation.number, generation.base - 1))
        return self._state[1]

    def _close_state(self, *, forget: bool = False) -> None:
        if self._state is None:
            return
        _folder, state = self._state
        self._state = None
        state.close()
        if forget:
            state.delete()

    def _source(self) -> InputTopic:
        return InputTopic(
            self._plan.stream,
            self._clock,
            allow_data_loss=self._options.allow_data_loss,
            note=self._note,
        )


class _Duties:
    """The work done between versions, once a second."""

    def __init__(
        self,
        begin: Callable[[Generation, int, ExitStack], Rebuild],
        check: Callable[[], int],
        clock: Clock,
    ) -> None:
        self.rebuild: Rebuild | None = None
        self._begin = begin
        self._check = check
        self._clock = clock
        self._checked_s = 0.0

    def turn(self, generation: Generation, opened: ExitStack) -> Rebuild | None:
        """Check, if it is time; returns the rebuild in progress."""
        now_s = self._clock.monotonic()
        if now_s - self._checked_s >= _CHECK_EVERY_S:
            self._checked_s = now_s
            requested = self._check()
            if self.rebuild is None and requested > generation.number:
                self.rebuild = self._begin(generation, requested, opened)
        return self.rebuild


def _version(state: KeyStore) -> int:
    return state.up_to.version if state.up_to else -1


def run_locally(run: CoordinatorRun) -> None:
    """Run a coordinator in this process, as the engine's entry point; see :meth:`LocalCoordinator.run`."""
    if "://" in run.checkpoint and not run.checkpoint.startswith("file://"):
        raise ConfigError(
            f"the engine local stores its state in a folder on this machine, not in {run.checkpoint}",
            expected="a local folder",
            where="--checkpoint",
        )
    options = LocalOptions(
        folder=Path(run.checkpoint.removeprefix("file://")),
        interval_s=_INTERVAL_S if run.interval_s is None else run.interval_s,
        max_rows=_MAX_ROWS if run.max_rows is None else run.max_rows,
        replication=run.replication,
        once=run.once,
        allow_data_loss=run.allow_data_loss,
    )
    progress = CoordinatorProgress(run.store, run.plan.table, run.clock, on_version=run.on_version)
    coordinator = LocalCoordinator(
        run.store,
        run.plan,
        options,
        run.clock,
        run.lock,
        progress=progress,
        note=run.note,
        on_check=run.on_check,
        on_failure=run.on_failure,
    )
    stop = run.ready()
    with naming_full_disks(options.folder):
        if run.standby:
            run.note(f"this coordinator of {run.plan.table} stands by")
            if not coordinator.stand_by(stop):
                return
            run.note(f"this coordinator of {run.plan.table} takes over")
        coordinator.run(stop)
