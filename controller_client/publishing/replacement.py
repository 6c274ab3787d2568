"""Pinot's replacement protocol with its faults: many segments come and go in one instant, or none.

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
from controller_client.rest.lineage import LineageEntry, LineageState, check_lists
from controller_client.zookeeper import PropertyStore, ZNRecord

if TYPE_CHECKING:
    from controller_client.rest.client import RestClient

__all__ = ["LineageTimeouts", "SegmentReplacement"]

logger = logging.getLogger(__name__)

# A start or end is made again only after the lineage has shown that the one before was not applied.
_ATTEMPTS = 3


class SegmentReplacement:
    """One replacement: ``start``, push the new segments, ``end``; or ``revert``.

    States, as in Pinot's lineage (``state``)::

        None -> IN_PROGRESS     start(): a new entry, or one that an earlier, interrupted run has left
        None -> COMPLETED       start(): an earlier run has finished the same replacement; nothing is to do
        IN_PROGRESS -> COMPLETED    end()
        IN_PROGRESS -> REVERTED     revert()
        COMPLETED -> REVERTED       revert(), while the replaced segments are still online

    A run is recognised by its ``segments_to``: their names are the identity of the replacement, so that a
    restart goes on instead of starting twice. Every outcome is one of three: an error of class
    NotAppliedError (queries see the old segments), OutcomeUnknownError (the lineage cannot be read or does
    not show it: run again with the same names), AppliedError (the revert was applied, but the new segments
    are not cleaned up).

    As a context manager: enters with ``start``; leaves with ``end``, or with ``revert`` when the body raised
    or the segments did not come online. A reverted entry uses its names up: Pinot hides segments of such
    names for as long as it remembers the entry. A caller that wants to go on later with the same names sets
    ``keep_on_error``: the entry then stays in progress, its segments stay hidden, and the next run adopts it.
    With ``state`` COMPLETED at the body's begin the segments are there: do not push them again.

    Args:
        client: Client of the cluster.
        table: Table.
        segments_from: What is replaced, out of the list without replaced segments; may be empty.
        segments_to: What comes instead: names that the table never had.
        store: ZooKeeper, where it is at hand: the lineage's record is then made before the table's first
            entry, so that two first writers cannot overwrite each other; else that entry is looked at twice.
            And segments that do not load are repaired (:mod:`controller_client.publishing.loading`).
        timeouts: How long the steps wait.
        push_again: Pushes segments of these names as if for the first time; without it such a repair only
            resets them.
        min_replicas: How many replicas of each new segment have to serve before the entry is ended; None:
            all. Needs ``store``.
        keep_on_error: As a context manager, leave the entry in progress after an error instead of reverting.

    Raises:
        ConfigError: Both lists are empty, a name is listed twice or in both; or ``min_replicas`` is given
            without a ``store``.
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
    ) -> None:
        check_lists(segments_from, segments_to)
        if min_replicas is not None and store is None:
            raise ConfigError("to go on without all replicas requires ZooKeeper", remedy="pass a store")
        self._client = client
        self._table = table
        self._from = tuple(segments_from)
        self._to = tuple(segments_to)
        self._store = store
        self._timeouts = timeouts or LineageTimeouts()
        self._push_again = push_again
        self._min_replicas = min_replicas
        self._keep_on_error = keep_on_error
        self.entry_id: str | None = None
        self.state: LineageState | None = None

    def start(self) -> LineageState:
        """Open the entry, or go on with the one of an earlier run.

        Returns:
            IN_PROGRESS: push the segments, then ``end``. COMPLETED: nothing is left to do.

        Raises:
            UnsupportedError: ``segments_to`` is empty and the version refuses that.
            ConflictError: A segment to replace is not visible, a new name is taken or used up, another entry
                holds one of them, or another first writer of the lineage has overwritten this entry.
            OutcomeUnknownError: The reply was lost and the lineage shows no entry.
        """
        entries = self._client.lineage.list(self._table)
        entry = self._find_own(entries)
        if entry is None:
            entry = self._start_new(first_of_table=not entries)
        else:
            logger.info("%s: going on with entry %s (%s)", self._table, entry.entry_id, entry.state)
        self.entry_id, self.state = entry.entry_id, entry.state
        return entry.state

    def end(self) -> None:
        """Wait until the new segments are online, and complete the entry: the swap.

        Brokers are notified by a message: each swaps at once, but for some tens of milliseconds after this
        call one may still answer from the old segments.

        Raises:
            WaitTimeoutError: The new segments do not come online; the entry is still in progress.
            NotAppliedError: The entry was reverted or is gone, or Pinot refused.
            OutcomeUnknownError: The reply was lost and the lineage does not show it yet: call ``end`` again.
        """
        entry_id = self._require_started()
        if self.state is LineageState.COMPLETED:
            return  # Pinot's retention may have removed the entry since then
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
                    raise NotAppliedError(
                        f"Pinot refused {attempt} times to complete entry {entry_id}: {error.message}",
                        where=self._table,
                        remedy="see the controller's log",
                        http_status=error.http_status,
                    ) from error
            else:
                break
        self.state = LineageState.COMPLETED
        logger.info("%s: %d segments replaced by %d", self._table, len(self._from), len(self._to))

    def revert(self) -> None:
        """Undo the entry, delete the new segments and wait until they are gone.

        Raises:
            NotAppliedError: Pinot refused, e.g. because replaced segments are not online any more.
            OutcomeUnknownError: It is unknown whether the entry was reverted.
            AppliedError: It is reverted, but the new segments are still there.
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
                error.add_note(f"The replacement in {self._table} was completed all the same.")
                return
            self.revert()
        except PinotPluginError as failed:
            # The first error is the one to see; this one adds what else is to do.
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
        """Pinot writes the first record of a table without looking, and each later one by its version."""
        with suppress(ConflictError):  # it is there, without entries, or somebody makes it now
            store.create(lineage_path(self._table), ZNRecord(self._table))

    def _start_new(self, *, first_of_table: bool) -> LineageEntry:
        if first_of_table and self._store is not None:
            self._make_record(self._store)
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                entry_id = self._client.lineage.start(self._table, self._from, self._to)
            except OutcomeUnknownError as error:
                logger.warning("%s: start of a replacement: %s", self._table, error.message)
                if read_back(self._client, error, self._own_is_there, self._timeouts.settle_s):
                    break
                if attempt == _ATTEMPTS:
                    raise NotAppliedError(
                        f"Pinot refused {attempt} times to open a lineage entry: {error.message}",
                        where=self._table,
                        remedy="see the controller's log",
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
                f"the entry that was just opened in {self._table} is gone: another writer opened the"
                " table's first entry at the same time",
                where=self._table,
                remedy="run again; nothing was pushed",
            )
        return entry

    def _find_own(self, entries: Sequence[LineageEntry]) -> LineageEntry | None:
        """Find the live entry with the same new segments.

        Raises:
            ConflictError: It replaces other segments than this one is to replace.
        """
        new, old = set(self._to), set(self._from)
        # Without new segments (a removal), the segments to be removed are the identity.
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

    def _own_is_there(self) -> bool:
        return self._find_own(self._client.lineage.list(self._table)) is not None

    def _is_completed(self) -> bool:
        """Read the entry's state.

        Raises:
            ConflictError: The entry was reverted or is gone.
        """
        entry = find_entry(self._client, self._table, self._require_started())
        if entry is None or not entry.live:
            raise ConflictError(
                f"entry {self.entry_id} of {self._table} was {'reverted' if entry else 'removed'}"
                " by somebody else",
                where=self._table,
                remedy="run again with new segment names",
            )
        return entry.state is LineageState.COMPLETED

    def _require_started(self) -> str:
        if self.entry_id is None:
            raise ConflictError("the replacement is not started", remedy="call start first")
        return self.entry_id
