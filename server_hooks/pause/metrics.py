"""The metrics of the paused partitions of a server."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from controller_client.clock import Clock
from controller_client.common.names import TableName
from controller_client.consumption.state.partition_record import read_partition_holders
from controller_client.errors import PinotPluginError, UnreachableError
from controller_client.monitoring import Monitoring, catalogue, replace_values
from controller_client.stream.config import StreamConfig
from controller_client.stream.expiry import TopicAges, open_ages
from controller_client.zookeeper import PropertyStore
from server_hooks.pause.waiting_rows import WaitingRows

__all__ = ["PauseMetrics"]

logger = logging.getLogger(__name__)

Paused = Mapping[str, Mapping[int, str]]


class PauseMetrics:
    """Updated by the hook's thread; another thread queries the stream.

    Args:
        monitoring: The metrics of the process.
        store: The cluster's property store.
        clock: The clock.
        open_ages: Opens a table's stream.

    Attributes:
        rows: Queries the stream in its own thread once it is started.
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
        self._partitions = monitoring.gauge(catalogue.PAUSED_PARTITIONS)
        self._since = monitoring.gauge(catalogue.PAUSED_SINCE)
        self._paused: dict[str, dict[int, str]] = {}
        """Paused partitions whose records were read."""
        self._since_s: dict[str, float] = {}
        self.rows = WaitingRows(monitoring, store, clock, open_ages)

    def update(self, paused: Paused) -> None:
        """Publish the paused partitions: table, partition, consuming segment."""
        for table, partitions in paused.items():
            if partitions != self._paused.get(table):
                self._read_since(table, partitions)
        for table in self._since_s.keys() - paused.keys():
            del self._since_s[table]
            self._paused.pop(table, None)
        replace_values(self._partitions, {(table,): len(each) for table, each in paused.items()})
        replace_values(self._since, {(table,): since for table, since in self._since_s.items()})
        self.rows.follow({table: dict(partitions) for table, partitions in paused.items()})

    def _read_since(self, table: str, partitions: Mapping[int, str]) -> None:
        """Read when the first of these pauses began; without a record, when this server first saw it."""
        seen_s = self._since_s.setdefault(table, self._clock.now())
        try:
            holders = read_partition_holders(self._store, TableName(table))
        except PinotPluginError as error:
            logger.warning("%s: cannot read when its partitions were paused: %s", table, error)
            if isinstance(error, UnreachableError):
                return  # read it again next time
            holders = {}
        self._paused[table] = dict(partitions)
        since_s = (holders[each].since_ms / 1000 for each in partitions if each in holders)
        self._since_s[table] = min(since_s, default=seen_s)
