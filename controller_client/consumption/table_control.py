"""Access to one realtime table, to observe and control its consumption."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from controller_client.clock import Clock
from controller_client.common.names import SegmentName, TableName, TableType
from controller_client.common.outcomes import keeping_outcome
from controller_client.common.waiting import wait_until
from controller_client.consumption.state.lost_ends import find_lost_ends, read_lineage_of
from controller_client.consumption.state.own_upsert import upsert_warnings
from controller_client.consumption.state.partition_record import read_partition_holders, read_partition_pauses
from controller_client.consumption.state.pause_record import read_record
from controller_client.consumption.state.status import Observation, TableStatus, assess
from controller_client.errors import (
    ConfigError,
    NotAppliedError,
    OutcomeUnknownError,
    SourceError,
    WaitTimeoutError,
)
from controller_client.helix.ideal_state import IdealState, read_flags, read_ideal_state
from controller_client.helix.stream_segments import StreamSegment, read_committing, read_partitions
from controller_client.rest.client import RestClient
from controller_client.rest.consumption import ReplicaProgress
from controller_client.stream.config import StreamConfig
from controller_client.stream.offsets import (
    OffsetRange,
    StreamOffsets,
    StreamUnknownError,
)
from controller_client.stream.topics import may_have_topics, open_table_offsets
from controller_client.zookeeper import PropertyStore, process_name

__all__ = ["TableControl"]

_SETTLE_S = 10.0
_SETTLE_AFTER_REPLY_S = 1.0

logger = logging.getLogger(__name__)


@dataclass
class TableControl:
    """Access to one table.

    Attributes:
        client: Client of the controller.
        store: The cluster's property store, connected.
        table: Name with type.
        by: Who acts, as recorded for others; default: user, host and process.
        watch_stream: Whether to read offsets from the stream itself, since Pinot does not report them all.

    Raises:
        ConfigError: The name is not that of a realtime table.
    """

    client: RestClient
    store: PropertyStore
    table: TableName
    by: str = ""
    watch_stream: bool = True
    _offsets: tuple[tuple[StreamConfig, ...], StreamOffsets] | None = field(
        default=None, init=False, repr=False
    )

    def __post_init__(self) -> None:
        self.table = TableName(self.table)  # scripts may pass a plain text
        if self.table.type is not TableType.REALTIME:
            raise ConfigError(f"{self.table} does not consume a stream", expected="a realtime table")
        self.by = self.by or process_name()

    @property
    def clock(self) -> Clock:
        """The client's clock."""
        return self.client.clock

    def now_ms(self) -> int:
        """Return the current time in epoch milliseconds."""
        return round(self.clock.now() * 1000)

    def ideal(self) -> IdealState:
        """Return the ideal state.

        Raises:
            NotFoundError: There is no such table.
        """
        return read_ideal_state(self.store, self.table)

    def shows_pause(self, is_paused: bool, error: OutcomeUnknownError) -> bool:
        """Return whether the flag of a pause is, within some seconds, what a request asked for.

        Args:
            is_paused: Whether it was to be set, or cleared.
            error: Why the outcome of the request is unknown.

        Raises:
            OutcomeUnknownError: The same error: the flag cannot be read.
        """
        word = "set" if is_paused else "cleared"

        def missing() -> str | None:
            shown = read_flags(self.store, self.table).table_paused
            return None if shown is is_paused else f"the flag is not {word}"

        # With a reply, the call has ended and its effect is visible at once. If the reply was lost, the call
        # may still be running.
        settle_s = _SETTLE_S if error.http_status is None else _SETTLE_AFTER_REPLY_S
        with keeping_outcome(error):
            try:
                wait_until(missing, what=f"the flag to be {word}", timeout_s=settle_s, clock=self.clock)
            except WaitTimeoutError:
                return False
        return True

    def reading(self, ideal: IdealState) -> dict[str, tuple[str, ...]]:
        """Return the consuming segments that read the stream, with their servers.

        Segments of paused partitions are omitted: they read nothing.
        """
        paused = read_partition_pauses(self.store, self.table, ideal).paused_on.keys()
        consuming = {name: SegmentName.parse(name) for name in ideal.consuming}
        return {
            name: ideal.consuming[name]
            for name, segment in consuming.items()
            if segment is None or segment.partition not in paused
        }

    def servers_consume(self) -> dict[str, tuple[str, ...]]:
        """Return the segments that servers have not sealed yet, by the external view, with these servers."""
        view = self.client.tables.external_view(self.table)
        by_segment = {
            segment: tuple(sorted(name for name, state in states.items() if state == "CONSUMING"))
            for segment, states in view.items()
        }
        return {segment: servers for segment, servers in by_segment.items() if servers}

    def committing(self) -> list[StreamSegment]:
        """Return the segments of a pauseless table that have ended and are not yet built."""
        return read_committing(self.store, self.table, read_partitions(self.store, self.table))

    def streams(self) -> tuple[StreamConfig, ...]:
        """Return the stream configs of the table's topics; before Pinot 1.4 there is only one.

        Raises:
            NotFoundError: There is no such table.
        """
        return StreamConfig.all_of(self.client.tables.in_use(self.table))

    def upsert_warnings(self) -> list[str]:
        """Return what a pause or forced commit can do to a table with Pinot's own upsert or dedup."""
        return upsert_warnings(self.client.tables.in_use(self.table))

    def stream(self) -> dict[int, OffsetRange]:
        """Return the stream's offsets, by partition of the table.

        Raises:
            NotFoundError: There is no such topic.
            SourceError: The stream's offsets cannot be read; the message explains why.
        """
        if not self.watch_stream:
            raise StreamUnknownError("the stream's offsets are unknown: reading the stream is switched off")
        streams = self.streams()
        if self._offsets is None or self._offsets[0] != streams:
            # Kept open, because it has its own connections and threads.
            self._offsets = (streams, open_table_offsets(streams))
        return dict(self._offsets[1].read())

    def stream_or_problem(self) -> tuple[dict[int, OffsetRange], str | None]:
        """Return the stream's offsets, or none and the reason why they cannot be read."""
        try:
            return self.stream(), None
        except (SourceError, NotAppliedError, ConfigError) as error:
            return {}, error.message

    def status(self) -> TableStatus:
        """Return the table's status.

        Raises:
            NotFoundError: There is no such table.
            UnreachableError: The controller or ZooKeeper does not answer.
        """
        ideal = self.ideal()
        progress: dict[str, tuple[ReplicaProgress, ...]] = {}
        if ideal.consuming:
            progress = self.client.consumption.progress(self.table)
        stream, problem = self.stream_or_problem()
        partitions = read_partitions(self.store, self.table)
        record = read_record(self.store, self.table)
        lineage = read_lineage_of(self.client, self.table, ideal, partitions)
        by_topic = bool(ideal.paused_topics) or may_have_topics({*partitions, *stream})
        seen = Observation(
            ideal=ideal,
            partitions=partitions,
            view=self.client.tables.external_view(self.table),
            progress=progress,
            stream=stream,
            stream_problem=problem,
            record=record,
            still_consuming=read_partition_pauses(self.store, self.table, ideal).consuming_on,
            partition_holders=read_partition_holders(self.store, self.table),
            committing=read_committing(self.store, self.table, partitions),
            streams=self.streams() if by_topic else (),
            lost_ends=find_lost_ends(self.table, ideal, partitions, stream, record, lineage),
        )
        return assess(self.table, seen)
