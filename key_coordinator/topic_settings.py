"""Creates the updates topic, and keeps its settings as the table needs them.

The topic keeps its messages as long as a server may have to read them.
A server that starts without a log of its own needs the events of all rows that the table has. Events are as
old as their rows, but a segment is deleted only when its newest row is older than the table's retention, and
not before Pinot's next check, every 6 hours. A segment whose times are in the future is kept even longer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public by its documents
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
)

from controller_client.clock import Clock
from controller_client.common.names import TableName
from controller_client.errors import ConfigError, NotFoundError, PinotPluginError, SourceError
from controller_client.helix.table_config import read_table_config
from controller_client.models import retention_ms
from controller_client.stream.config import StreamConfig
from controller_client.stream.leaders import ask_leader
from controller_client.stream.offsets import client_settings, topic_partitions
from controller_client.upsert.floors import oldest_segments
from controller_client.zookeeper import PropertyStore
from key_coordinator.plan import KeyedTable

__all__ = [
    "FOREVER_MS",
    "TopicSettings",
    "least_in_sync",
    "longer_retention_ms",
    "needed_ms",
    "partition_count",
    "settings_of_topic",
    "topic_fault",
]


FOREVER_MS = -1
"""Kafka's value of ``retention.ms`` for no limit."""

_LEAST_MARGIN_MS = 86_400_000

_MARGIN_PART = 5


def needed_ms(store: PropertyStore, table: TableName, now_s: float) -> int:
    """Return for how long rows stay in a table, in milliseconds, or :data:`FOREVER_MS`.

    This is the table's retention, or the age of its oldest segment if that is greater.

    Raises:
        NotFoundError: There is no such table.
        UnreachableError: ZooKeeper does not answer.
    """
    config = read_table_config(store, table)
    if config is None:
        raise NotFoundError(f"the table {table} does not exist", where=store.cluster_name)
    kept_ms = retention_ms(table, config.to_json())
    if kept_ms is None:
        return FOREVER_MS
    created = (record.created_ms for record in oldest_segments(store, table).values())
    return max([kept_ms, *(round(now_s * 1000) - each for each in created if each is not None)])


def longer_retention_ms(present_ms: int, kept_ms: int) -> int | None:
    """Return the retention that a topic should get instead of its present one; None if that is enough.

    The margin covers what a segment outlives the retention of its first row: the time in which it was filled,
    and Pinot's interval of checks. A retention is never shortened: what a server may need would be lost. One
    that lacks less than half the margin stays, so that a growing need does not change it each time.

    Args:
        present_ms: The topic's retention.
        kept_ms: The result of :func:`needed_ms`.
    """
    if present_ms == FOREVER_MS:
        return None
    if kept_ms == FOREVER_MS:
        return FOREVER_MS
    margin_ms = max(_LEAST_MARGIN_MS, kept_ms // _MARGIN_PART)
    return kept_ms + margin_ms if present_ms < kept_ms + margin_ms // 2 else None


_TIMEOUT_S = 30.0

_EVERY_S = 60.0

_POLICY, _RETENTION, _SIZE = "cleanup.policy", "retention.ms", "retention.bytes"

_IN_SYNC = "min.insync.replicas"

_NO_LIMIT = "-1"


class TopicSettings:
    """The settings of one updates topic; not thread-safe.

    Args:
        stream: The table's stream config: the topic is in the same Kafka cluster.
        name: The topic's name.
        needed_ms: Returns for how long rows stay in the table, see :func:`.retention.needed_ms`.
        replication: Replication factor of a new topic; None: that of the input topic.
        clock: Time.
        note: Called with log lines.

    Raises:
        StreamUnknownError: The stream config uses security settings that only Kafka's Java client supports.
    """

    def __init__(
        self,
        stream: StreamConfig,
        name: str,
        *,
        needed_ms: Callable[[], int],
        replication: int | None,
        clock: Clock,
        note: Callable[[str], None],
    ) -> None:
        self._name = name
        self._stream = stream
        self._needed_ms = needed_ms
        self._replication = replication
        self._clock = clock
        self._note = note
        self._checked_s: float | None = None
        self._failure = ""
        # Another number than that of the input topic was asked for.
        self._is_replication_checked = replication is not None
        # librdkafka logs to stderr by default; whatever matters comes back as an error of the call.
        self._admin = AdminClient({**client_settings(stream.values), "log_level": 0})
        self._brokers = stream.values.get("stream.kafka.broker.list", "")

    def ensure(self, partitions: int) -> int:
        """Create the topic, or add partitions to it.

        Args:
            partitions: Minimum number of partitions.

        Returns:
            The number of partitions.

        Raises:
            ConfigError: A topic of that name exists and is compacted.
            SourceError: Kafka does not answer, or refuses the request.
            UnreachableError: ZooKeeper does not answer.
        """
        there = self._count()
        try:
            if there == 0:
                replicas = self._replication or self._replicas(self._stream.topic)
                config = {
                    _POLICY: "delete",
                    _RETENTION: str(longer_retention_ms(0, self._needed_ms())),
                    _SIZE: _NO_LIMIT,
                    _IN_SYNC: str(least_in_sync(replicas)),
                }
                new = NewTopic(self._name, partitions, replicas, config=config)
                self._admin.create_topics([new])[self._name].result(_TIMEOUT_S)
            else:
                self._refuse_compaction()
                if there < partitions:
                    more = NewPartitions(self._name, partitions)
                    self._admin.create_partitions([more])[self._name].result(_TIMEOUT_S)
        except KafkaException as error:
            raise self._fault("did not create or extend", error) from error
        return max(there, partitions)

    def check(self) -> None:
        """Lengthen the topic's retention if the table's has become longer; looks once a minute.

        A failure is noted and does not stop the versions: the margin leaves a day to resolve it.
        """
        now_s = self._clock.monotonic()
        if self._checked_s is not None and now_s - self._checked_s < _EVERY_S:
            return
        self._checked_s = now_s
        try:
            if self._count():
                self._keep_messages()
                self._compare_replication()
            self._failure = ""
        except PinotPluginError as error:
            if error.message != self._failure:
                self._note(f"the retention of {self._name} was not checked: {error.message}")
            self._failure = error.message

    def _keep_messages(self) -> None:
        kept_ms = self._needed_ms()
        present = self._read()
        changes = {}
        longer_ms = longer_retention_ms(int(present[_RETENTION]), kept_ms)
        if longer_ms is not None:
            changes[_RETENTION] = str(longer_ms)
        if present[_SIZE] != _NO_LIMIT:
            changes[_SIZE] = _NO_LIMIT
        if not changes:
            return
        entries = [
            ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
            for key, value in changes.items()
        ]
        resource = ConfigResource(ConfigResource.Type.TOPIC, self._name, incremental_configs=entries)
        try:
            self._admin.incremental_alter_configs([resource])[resource].result(_TIMEOUT_S)
        except KafkaException as error:
            raise self._fault("did not change the settings of", error) from error
        changed = ", ".join(f"{key} from {present[key]} to {value}" for key, value in changes.items())
        rows = "forever" if kept_ms == FOREVER_MS else f"for {kept_ms} ms"
        self._note(f"changed {changed} of the topic {self._name}: the table keeps rows {rows}")

    def _compare_replication(self) -> None:
        """Note once if the topic has fewer replicas than the input topic."""
        if self._is_replication_checked:
            return
        present, usual = self._replicas(self._name), self._replicas(self._stream.topic)
        if present < usual:
            self._note(
                f"the topic {self._name} has the replication factor {present}, {self._stream.topic} has "
                f"{usual}: if its brokers lose their disks, the versions of the table are lost; add replicas "
                f"with kafka-reassign-partitions.sh, and set {_IN_SYNC}={least_in_sync(usual)}"
            )
        self._is_replication_checked = True

    def _replicas(self, topic: str) -> int:
        """Return the number of replicas of a topic; the least, while partitions are being moved."""
        try:
            metadata = self._admin.list_topics(timeout=_TIMEOUT_S).topics.get(topic)
        except KafkaException as error:
            raise self._fault("did not return the replication of", error) from error
        if metadata is None or not metadata.partitions:
            raise SourceError(
                f"the topic {topic} does not exist",
                where=self._brokers,
                remedy="check the topic's name and the list of brokers",
            )
        return min(len(partition.replicas) for partition in metadata.partitions.values())

    def _refuse_compaction(self) -> None:
        policy = self._read()[_POLICY]
        if "compact" in policy:
            raise ConfigError(
                f"the topic {self._name} has the cleanup.policy {policy}",
                expected="delete, because its messages have no keys",
                where=self._name,
                remedy="change the policy, or choose another topic",
            )

    def _read(self) -> Mapping[str, str]:
        resource = ConfigResource(ConfigResource.Type.TOPIC, self._name)
        try:
            found = self._admin.describe_configs([resource])[resource].result(_TIMEOUT_S)
        except KafkaException as error:
            raise self._fault("did not return the settings of", error) from error
        return {key: str(found[key].value) for key in (_POLICY, _RETENTION, _SIZE)}

    def _count(self) -> int:
        return partition_count(self._admin, self._name, self._brokers)

    def _fault(self, what: str, error: KafkaException) -> SourceError:
        return topic_fault(self._name, self._brokers, what, error.args[0].str())


def partition_count(client: AdminClient | Producer, topic: str, brokers: str) -> int:
    """Return the number of partitions of a topic; 0 if there is no such topic.

    Raises:
        SourceError: Kafka does not answer, or a partition has no leader after half a minute.
    """
    what = "did not return the partitions of"
    partitions = ask_leader(
        lambda: topic_partitions(client, topic, _TIMEOUT_S),
        lambda reason: topic_fault(topic, brokers, what, reason),
        what=f"reading the partitions of {topic}",
    )
    return len(partitions)


def topic_fault(topic: str, brokers: str, what: str, reason: str) -> SourceError:
    """Return the error for a request about a topic that Kafka did not answer or refused."""
    return SourceError(
        f"Kafka {what} {topic}: {reason}",
        where=brokers,
        remedy="check that Kafka is running and that this machine can reach it",
    )


def least_in_sync(replicas: int) -> int:
    """Return how many replicas must have a message before Kafka accepts it: 1 of 1 or 2, 2 of 3, 3 of 5.

    With more, versions would stop when a single broker is down.
    """
    return (replicas + 1) // 2


def settings_of_topic(
    store: PropertyStore, plan: KeyedTable, replication: int | None, clock: Clock, note: Callable[[str], None]
) -> TopicSettings:
    """Return the settings of a table's updates topic; errors as of :class:`TopicSettings`.

    Args:
        store: The cluster's ZooKeeper.
        plan: The table.
        replication: Replication factor of a new topic; None: that of the input topic.
        clock: Time.
        note: Called with log lines.
    """
    return TopicSettings(
        plan.stream,
        plan.settings.updates_topic,
        needed_ms=lambda: needed_ms(store, plan.table, clock.now()),
        replication=replication,
        clock=clock,
        note=note,
    )
