"""Builds a new state beside the current one, while versions continue."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

from controller_client.common.closing import Closing
from controller_client.upsert.generation import Generation
from key_coordinator.entries import Entries
from key_coordinator.local.follower import replay
from key_coordinator.local.input_topic import InputTopic
from key_coordinator.local.steps import PendingStep
from key_coordinator.reading.records import RecordReader
from key_coordinator.sent_versions import SentVersions
from key_coordinator.state.store import KeyStore, StoredUpTo

__all__ = ["Rebuild"]

_ROWS = 50_000
"""Per part; a version waits for one, a quarter of a second."""


class Rebuild(Closing):
    """Rereads the input, part by part, between the versions of the current state.

    The events of the parts are resent with the versions made meanwhile: a server that has them ignores them,
    and one that has lost them receives them.

    Args:
        generation: The new generation; its base is not used until it takes over.
        store: Its state, empty; closed with this.
        source: The input, used by nothing else; closed with this.
        reader: Reader of the table's messages.
        sent: The updates topic.
    """

    def __init__(
        self,
        generation: Generation,
        store: KeyStore,
        source: InputTopic,
        reader: RecordReader,
        sent: SentVersions,
    ) -> None:
        self.generation = generation
        self._store = store
        self._source = source
        self._reader = reader
        self._sent = sent
        self._has_all_records: bool | None = None
        self._parts: Iterator[PendingStep] = iter(())
        store.begin(StoredUpTo(generation.number, generation.since - 1))

    def close(self) -> None:
        """Close the state and the input."""
        self._source.close()
        self._store.close()

    def next(self) -> PendingStep | None:
        """Read the next part; None if the state has reached the newest version.

        Raises:
            SourceError: Kafka does not answer, or no longer has all of the input.
            OSError: The disk is full, or broken.
        """
        part = next(self._parts, None)
        if part is None:  # versions may have been sent meanwhile
            self._parts = replay(
                self._store,
                self._source,
                self._reader,
                self._sent,
                since=self.generation.since,
                expire=self._keys_expire(),
                max_rows=_ROWS,
            )
            part = next(self._parts, None)
        return part

    def _keys_expire(self) -> bool:
        """Whether keys expire at the versions at which they did.

        If the records of the first versions were deleted, these are not known. No key expires then, so that
        the events delete every row that another one has ever replaced.
        """
        if self._has_all_records is None:
            since = self.generation.since
            # Closed at once, as the records are read again from the start.
            with closing(self._sent.records_after(0)) as found:
                versions = (each.record.version for each in found)
                self._has_all_records = since == next((each for each in versions if each >= since), None)
        return self._has_all_records

    def takes_over(self, present: StoredUpTo) -> bool:
        """Write the state to disk as that of the current version, if it has caught up with it.

        Raises:
            OSError: The disk is full, or broken.
        """
        now = self._store.up_to
        if now is None or now.ends != present.ends:
            return False
        up_to = replace(
            now, version=present.version, floors=present.floors, record_offset=present.record_offset
        )
        self._store.put(Entries.empty(), up_to, 0)
        self._store.write()
        return True
