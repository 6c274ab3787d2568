"""Pinot's replacement protocol, including its faults: replaces many segments atomically.

::

    table = TableName("flights_OFFLINE")
    with SegmentReplacement(client, table, segments_from=old, segments_to=new) as replacement:
        for tar in tars:
            client.segments.upload_tar(table, tar)
    # now queries see the new segments; after an exception they still see the old ones
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

from controller_client.common.names import TableName
from controller_client.errors import (
    ConfigError,
    ConflictError,
    NotAppliedError,
    OutcomeUnknownError,
    PinotPluginError,
    WaitTimeoutError,
)
from controller_client.publishing.lineage_size import lineage_path
from controller_client.publishing.loading import SegmentLoading
from controller_client.publishing.reverting import (
    LineageTimeouts,
    delete_leftovers,
    find_entry,
    read_back,
    revert_entry,
)
from controller_client.rest.capabilities import Capability
from controller_client.rest.lineage import LineageEntry, LineageState, TableView, check_lists
from controller_client.rest.segment_states import first_few
from controller_client.zookeeper import PropertyStore, ZNRecord

if TYPE_CHECKING:
    from controller_client.rest.client import RestClient

__all__ = ["LineageTimeouts", "SegmentReplacement"]

logger = logging.getLogger(__name__)

# A start or end is repeated only after the lineage has shown that the previous one was not applied.
_ATTEMPTS = 3


class SegmentReplacement:
    """A replacement: ``start``, push the new segments, ``end``; or ``revert``.

    States, as in Pinot's lineage (``state``)::

        None -> IN_PROGRESS     start(): a new entry, or one left by an earlier, interrupted run
        None -> COMPLETED       start(): an earlier run has finished the same replacement; nothing to do
        IN_PROGRESS -> COMPLETED    end()
        IN_PROGRESS -> REVERTED     revert()
        COMPLETED -> REVERTED       revert(), while the replaced segments are still online

    A replacement is identified by the names in its ``segments_to``, so that a restarted run continues instead
    of starting twice. Every failure is one of three errors: NotAppliedError (queries see the old segments),
    OutcomeUnknownError (the lineage cannot be read or does not show the outcome: run again with the same
    names), AppliedError (the revert was applied, but the new segments were not cleaned up).

    As a context manager, it enters with ``start`` and leaves with ``end``, or with ``revert`` if the body
    raised an error or the segments did not come online. The names of a reverted entry cannot be reused: Pinot
    hides segments with these names for as long as the entry exists. A caller that wants to continue later
    with the same names sets ``keep_on_error``: the entry then stays in progress, its segments stay hidden,
    and the next run adopts it. If ``state`` is COMPLETED at the start of the body, the segments exist: do not
    push them again.

    Args:
        client: Client of the cluster.
        table: Table.
        segments_from: The segments to replace, from the list without replaced segments; may be empty.
        segments_to: The new segments, with names that the table never had.
        store: ZooKeeper, if available: the lineage's record is then created before the table's first entry,
            so that two first writers cannot overwrite each other (otherwise that entry is checked twice), and
            segments that do not load are repaired (:mod:`controller_client.publishing.loading`).
        timeouts: Timeouts of the steps.
        push_again: Pushes segments with these names as if for the first time; None: such a repair only resets
            them.
        min_replicas: Number of replicas of each new segment that must serve before the entry is ended; None:
            all. Requires ``store``.
        keep_on_error: As a context manager, leave the entry in progress after an error instead of reverting.
        view: The table as the caller has just read it, under the table's lock; default: it is read here.

    Raises:
        ConfigError: Both lists are empty, or a name appears twice or in both; or ``min_replicas`` is given
            without ``store``.
    """

    def __init__(
        self,
        client: RestClient,
        table: TableName,
        segments_from: Sequence[str],
        segments_to: Sequence[str],
        *,
        store: PropertyStore | None = None,
        timeouts: LineageTimeouts | None = None,
        push_again: Callable[[Collection[str]], object] | None = None,
        min_replicas: int | None = None,
        keep_on_error: bool = False,
        view: TableView | None = None,
    ) -> None:
        check_lists(segments_from, segments_to)
        if min_replicas is not None and store is None:
            raise ConfigError("continuing without all replicas requires ZooKeeper", remedy="pass a store")
        self._client = client
        self._table = table
        self._from = tuple(segments_from)
        self._to = tuple(segments_to)
        self._store = store
        self._timeouts = timeouts or LineageTimeouts()
        self._push_again = push_again
        self._min_replicas = min_replicas
        self._keep_on_error = keep_on_error
        self._view = view
        self.entry_id: str | None = None
        self.state: LineageState | None = None

    def start(self) -> LineageState:
        """Open the entry, or continue with that of an earlier run.

        Returns:
            IN_PROGRESS: push the segments, then ``end``. COMPLETED: there is nothing left to do.

        Raises:
            UnsupportedError: ``segments_to`` is empty and the version refuses that.
            ConflictError: A segment to replace is not visible, a new name is taken or cannot be reused,
                another entry contains one of them, or another first writer of the lineage has overwritten
                this entry.
            OutcomeUnknownError: The reply was lost and the lineage shows no entry.
        """
        view = self._view or self._client.lineage.view(self._table)
        self._view = None  # the next start reads it anew
        entry = self._find_own(view.entries)
        if entry is None:
            entry = self._start_new(view)
        else:
            logger.info("%s: continuing with entry %s (%s)", self._table, entry.entry_id, entry.state)
        self.entry_id, self.state = entry.entry_id, entry.state
        return entry.state

    def end(self) -> None:
        """Wait until the new segments are online, then complete the entry, which swaps the segments.

        Brokers are notified by a message: each swaps atomically, but for some tens of milliseconds after this
        call a broker may still use the old segments.

        Raises:
            WaitTimeoutError: The new segments do not come online; the entry is still in progress.
            NotAppliedError: The entry was reverted or removed, or Pinot refused.
            OutcomeUnknownError: The reply was lost and the lineage does not show it yet: call ``end`` again.
        """
        entry_id = self._require_started()
        if self.state is LineageState.COMPLETED:
            return  # Pinot's retention may have removed the entry since
        for attempt in range(1, _ATTEMPTS + 1):
            if self._is_completed():
                break
            self._wait_loaded()
            try:
                self._client.lineage.end(self._table, entry_id)
            except OutcomeUnknownError as error:
                logger.warning("%s: end of entry %s: %s", self._table, entry_id, error.message)
                if read_back(self._client, error, self._is_completed, self._timeouts.settle_s):
                    break
                if attempt == _ATTEMPTS:
                    self._revert_if_hopeless(error)
                    raise NotAppliedError(
                        f"Pinot refused {attempt} times to complete entry {entry_id}: {error.message}",
                        where=self._table,
                        remedy="check the controller's log",
                        http_status=error.http_status,
                    ) from error
            else:
                break
        self.state = LineageState.COMPLETED
        logger.info("%s: %d segments replaced by %d", self._table, len(self._from), len(self._to))

    def revert(self) -> None:
        """Undo the entry, delete the new segments and wait until they are gone.

        Raises:
            NotAppliedError: Pinot refused, e.g. because replaced segments are no longer online.
            OutcomeUnknownError: It is unknown whether the entry was reverted.
            AppliedError: It was reverted, but the new segments still exist.
        """
        entry_id = self._require_started()
        entry = find_entry(self._client, self._table, entry_id)
        if entry is not None:
            revert_entry(self._client, self._table, entry, self._timeouts)
        self.state = LineageState.REVERTED
        delete_leftovers(self._client, self._table, self._to, self._timeouts)

    def __enter__(self) -> SegmentReplacement:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._revert_after(error)
            return
        try:
            self.end()
        except (NotAppliedError, WaitTimeoutError) as refused:
            # Certainly not completed.
            self._revert_after(refused)
            raise

    def _revert_after(self, error: BaseException) -> None:
        if self.state is not LineageState.IN_PROGRESS or self._keep_on_error:
            return
        try:
            if self._is_completed():
                self.state = LineageState.COMPLETED
                error.add_note(f"The replacement in {self._table} was completed nevertheless.")
                return
            self.revert()
        except PinotPluginError as failed:
            # The first error is the important one; this one adds what else is to be done.
            error.add_note(f"The replacement in {self._table} could not be reverted: {failed}")
            logger.warning("%s: revert of entry %s failed: %s", self._table, self.entry_id, failed)

    def _wait_loaded(self) -> None:
        if self._store is None:
            self._client.segments.wait_online(self._table, self._to, self._timeouts.online_s)
            return
        loading = SegmentLoading(
            self._client, self._table, self._store, self._push_again, min_replicas=self._min_replicas
        )
        loading.wait(self._to, self._timeouts.online_s)

    def _make_record(self, store: PropertyStore) -> None:
        """Create the lineage's record: Pinot writes the first one blindly, later ones by compare-and-set."""
        with suppress(ConflictError):  # it exists without entries, or another writer is creating it
            store.create(lineage_path(self._table), ZNRecord(self._table))

    def _start_new(self, view: TableView) -> LineageEntry:
        first_of_table = not view.entries
        if first_of_table and self._store is not None:
            self._make_record(self._store)
        for attempt in range(1, _ATTEMPTS + 1):
            seen = view if attempt == 1 else None
            try:
                entry_id = self._client.lineage.start(self._table, self._from, self._to, seen)
            except OutcomeUnknownError as error:
                logger.warning("%s: start of a replacement: %s", self._table, error.message)
                if read_back(self._client, error, self._own_exists, self._timeouts.settle_s):
                    break
                if attempt == _ATTEMPTS:
                    raise NotAppliedError(
                        f"Pinot refused {attempt} times to open a lineage entry: {error.message}",
                        where=self._table,
                        remedy="check the controller's log",
                        http_status=error.http_status,
                    ) from error
            else:
                logger.info("%s: lineage entry %s is open", self._table, entry_id)
                break
        if first_of_table and self._store is None:
            self._client.clock.sleep(self._timeouts.first_writer_s)
        entry = self._find_own(self._client.lineage.list(self._table))
        if entry is None:
            raise ConflictError(
                f"the entry just opened in {self._table} is gone: another writer opened the table's first"
                " entry at the same time",
                where=self._table,
                remedy="run again; nothing was pushed",
            )
        return entry

    def _find_own(self, entries: Sequence[LineageEntry]) -> LineageEntry | None:
        """Return the live entry with the same new segments, if any.

        Raises:
            ConflictError: It replaces other segments than this replacement.
        """
        new, old = set(self._to), set(self._from)
        # Without new segments (a removal), the segments to remove identify the replacement.
        own = [
            entry
            for entry in entries
            if entry.live
            and len(entry.segments_to) == len(new)
            and new.issuperset(entry.segments_to)
            and (new or old == set(entry.segments_from))
        ]
        if not own:
            return None
        if set(own[-1].segments_from) != old:
            raise ConflictError(
                f"entry {own[-1].entry_id} has the same new segments, but replaces"
                f" {sorted(own[-1].segments_from)}",
                expected=f"{sorted(self._from)}",
                where=self._table,
                remedy="continue with the earlier lists, or revert that entry",
            )
        return own[-1]

    def _own_exists(self) -> bool:
        return self._find_own(self._client.lineage.list(self._table)) is not None

    def _is_completed(self) -> bool:
        """Return whether the entry is completed.

        Raises:
            ConflictError: The entry was reverted or removed.
        """
        entry = find_entry(self._client, self._table, self._require_started())
        if entry is None or not entry.live:
            raise ConflictError(
                f"someone else {'reverted' if entry else 'removed'} entry {self.entry_id} of {self._table}",
                where=self._table,
                remedy="run again with new segment names",
            )
        return entry.state is LineageState.COMPLETED

    def _revert_if_hopeless(self, refusal: OutcomeUnknownError) -> None:
        """Revert an entry that Pinot will never complete, so that the next run does not continue with it.

        Raises:
            ConflictError: It was reverted.
        """
        if not self._client.cluster.capabilities().has(Capability.LINEAGE_PROTECTED):
            return  # such a Pinot completes the entry without them
        existing = self._client.segments.list(self._table, exclude_replaced=False)
        deleted = sorted(set(self._from).difference(existing))
        if deleted:
            self.revert()
            raise ConflictError(
                f"{first_few(deleted)}: deleted while entry {self.entry_id} was to replace them, so Pinot "
                "refuses to complete it; it has been reverted",
                where=self._table,
                remedy="run again, with new segment names",
            ) from refusal

    def _require_started(self) -> str:
        if self.entry_id is None:
            raise ConflictError("the replacement has not been started", remedy="call start first")
        return self.entry_id
