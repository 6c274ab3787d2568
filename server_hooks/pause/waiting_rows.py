"""Counts the rows that wait in the stream for paused partitions, and those about to expire there."""

from __future__ import annotations

import contextlib
import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from controller_client.clock import Clock
from controller_client.common.names import SegmentName, TableName
from controller_client.common.parsing import whole_number
from controller_client.errors import PinotPluginError
from controller_client.helix.stream_segments import read_segment
from controller_client.helix.table_config import read_table_config
from controller_client.monitoring import Monitoring, catalogue, replace_values
from controller_client.stream.config import StreamConfig
from controller_client.stream.expiry import TopicAges
from controller_client.stream.topics import topic_partition
from controller_client.zookeeper import PropertyStore
from jvm_bridge.role_host import TickingThread

__all__ = ["Waiting", "WaitingRows"]

logger = logging.getLogger(__name__)

_PAUSE_S = 60.0
_STOP_S = 2.0


@dataclass(frozen=True)
class Waiting:
    """Rows of a table's paused partitions.

    Attributes:
        rows: Rows that wait in the stream.
        expiring: Rows among them that the stream may drop soon.
        lost: Rows that the stream dropped before they were read.
    """

    rows: int = 0
    expiring: int = 0
    lost: int = 0

    def plus(self, other: Waiting) -> Waiting:
        """Return the sum of both."""
        return Waiting(self.rows + other.rows, self.expiring + other.expiring, self.lost + other.lost)


class WaitingRows:
    """Queries the stream once a minute while partitions are paused, in a thread that a slow stream may block.

    Args:
        monitoring: The metrics of the process.
        store: The cluster's property store; read once for each paused segment.
        clock: The clock.
        open_ages: Opens a table's stream.
    """

    def __init__(
        self,
        monitoring: Monitoring,
        store: PropertyStore,
        clock: Clock,
        open_ages: Callable[[StreamConfig], TopicAges],
    ) -> None:
        self._store = store
        self._clock = clock
        self._open_ages = open_ages
        self._gauges = tuple(
            monitoring.gauge(each)
            for each in (catalogue.WAITING_ROWS, catalogue.EXPIRING_ROWS, catalogue.LOST_ROWS)
        )
        self._paused: Mapping[str, Mapping[int, str]] = {}
        self._starts: dict[str, int] = {}
        self._topics: dict[str, dict[str, TopicAges]] = {}
        self._streams: dict[str, tuple[StreamConfig, ...]] = {}
        self._logged: dict[str, str] = {}
        self._thread = TickingThread("paused-rows", self.measure, self._guard, pause_s=_PAUSE_S)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def follow(self, paused: Mapping[str, Mapping[int, str]]) -> None:
        """Measure these partitions from now on: table, partition, paused consuming segment."""
        before, self._paused = self._paused, paused
        if paused != before:
            self._thread.wake()

    def stop(self) -> None:
        """End the thread."""
        self._thread.stop(_STOP_S)

    def measure(self) -> None:
        """Query the streams and publish the rows; a table whose stream does not answer gets no values."""
        paused = self._paused
        for cache in (self._topics, self._streams, self._logged):
            for table in cache.keys() - paused.keys():
                cache.pop(table)
        segments = {name for partitions in paused.values() for name in partitions.values()}
        self._starts = {name: offset for name, offset in self._starts.items() if name in segments}
        waiting = {}
        for table, partitions in paused.items():
            try:
                waiting[table] = self._waiting(TableName(table), partitions)
            except PinotPluginError as error:
                self._topics.pop(table, None)
                if self._logged.get(table) != error.message:
                    logger.warning("%s: cannot count the rows that wait in the stream: %s", table, error)
                self._logged[table] = error.message
        for gauge, name in zip(self._gauges, ("rows", "expiring", "lost"), strict=True):
            replace_values(gauge, {(table,): getattr(each, name) for table, each in waiting.items()})

    def _waiting(self, table: TableName, partitions: Mapping[int, str]) -> Waiting:
        if table not in self._streams:
            config = read_table_config(self._store, table)
            self._streams[table] = StreamConfig.all_of(config) if config else ()
        streams, total = self._streams[table], Waiting()
        by_topic: dict[str, dict[int, int]] = defaultdict(dict)
        for number, name in partitions.items():
            source = topic_partition(streams, number) if streams else None
            start = self._start(table, name)
            if source is not None and start is not None:
                by_topic[source.topic][source.partition] = start
        for topic, starts in by_topic.items():
            opened = self._topics.setdefault(table, {})
            if topic not in opened:
                opened[topic] = self._open_ages(next(each for each in streams if each.topic == topic))
            total = total.plus(waiting_of(opened[topic], starts, self._clock.now()))
        return total

    def _start(self, table: TableName, name: str) -> int | None:
        """Return the first offset of a paused segment, which has no rows; None if it is not a number."""
        if name not in self._starts:
            segment = SegmentName.parse(name)
            record = read_segment(self._store, table, segment) if segment else None
            offset = whole_number(record.start_offset) if record else None
            if offset is None:
                return None
            self._starts[name] = offset
        return self._starts[name]

    @contextlib.contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except Exception:  # an exception from Kafka's client must not end the thread
            logger.exception("cannot count the rows that wait for paused partitions")


def waiting_of(topic: TopicAges, starts: Mapping[int, int], now_s: float) -> Waiting:
    """Count the rows of a topic from given offsets on.

    Args:
        topic: The topic.
        starts: The offset to be read next, by partition.
        now_s: Seconds since the epoch.

    Raises:
        NotFoundError: There is no such topic.
        SourceError: The stream does not answer.
    """
    stream = topic.read()
    expiring = topic.expiring_until(now_s) or {}
    total = Waiting()
    for number, start in starts.items():
        if number not in stream:
            continue
        first = max(start, stream[number].earliest)
        total = total.plus(
            Waiting(
                rows=max(0, stream[number].latest - first),
                expiring=max(0, expiring.get(number, 0) - first),
                lost=first - start,
            )
        )
    return total
