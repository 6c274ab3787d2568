"""What the hook holds, as metrics of its server's process."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from controller_client.clock import Clock
from controller_client.common.names import TableName
from controller_client.consumption.partition_record import read_partition_holders
from controller_client.errors import PinotPluginError, UnreachableError
from controller_client.monitoring import Monitoring, catalogue, replace_values
from controller_client.stream.config import StreamConfig
from controller_client.stream.expiry import TopicAges, open_ages
from controller_client.zookeeper import PropertyStore
from server_hooks.pause.waiting_rows import WaitingRows

__all__ = ["PauseMetrics"]

logger = logging.getLogger(__name__)

Held = Mapping[str, Mapping[int, str]]


class PauseMetrics:
    """Told by the hook's thread; the stream is asked in a thread of its own.

    Args:
        monitoring: Of the process.
        store: The cluster's property store.
        clock: Time.
        open_ages: Opens a table's stream.

    Attributes:
        rows: Asks the stream, in its own thread, once it is started.
    """

    def __init__(
        self,
        monitoring: Monitoring,
        store: PropertyStore,
        clock: Clock,
        *,
        open_ages: Callable[[StreamConfig], TopicAges] = open_ages,
    ) -> None:
        self._store = store
        self._clock = clock
        self._held = monitoring.gauge(catalogue.HELD_PARTITIONS)
        self._since = monitoring.gauge(catalogue.HELD_SINCE)
        self._known: dict[str, dict[int, str]] = {}
        """Held partitions of which it was read why."""
        self._since_s: dict[str, float] = {}
        self.rows = WaitingRows(monitoring, store, clock, open_ages)

    def held(self, held: Held) -> None:
        """Take in what is held (table, partition, consuming segment); only after a change it is read why."""
        for table, partitions in held.items():
            if partitions != self._known.get(table):
                self._look_why(table, partitions)
        for table in self._since_s.keys() - held.keys():
            del self._since_s[table]
            self._known.pop(table, None)
        replace_values(self._held, {(table,): len(partitions) for table, partitions in held.items()})
        replace_values(self._since, {(table,): since for table, since in self._since_s.items()})
        self.rows.follow({table: dict(partitions) for table, partitions in held.items()})

    def _look_why(self, table: str, partitions: Mapping[int, str]) -> None:
        """Read when the first of these pauses began; where nobody wrote that down, it is when it was seen."""
        seen_s = self._since_s.setdefault(table, self._clock.now())
        try:
            holders = read_partition_holders(self._store, TableName(table))
        except PinotPluginError as error:
            logger.warning("since when %s is paused cannot be read: %s", table, error)
            if isinstance(error, UnreachableError):
                return  # to be read again
            holders = {}
        self._known[table] = dict(partitions)
        since_s = (holders[each].since_ms / 1000 for each in partitions if each in holders)
        self._since_s[table] = min(since_s, default=seen_s)
