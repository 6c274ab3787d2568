"""The key coordinator of a table: one Spark query, its supervision and its recovery."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from controller_client.clock import Clock
from controller_client.errors import ConflictError, SetupError, SourceError
from controller_client.stream.offsets import open_offsets
from controller_client.upsert.columns import NIL
from controller_client.upsert.floors import Floors
from controller_client.upsert.generation import (
    Generation,
    read_request,
    write_generation,
)
from controller_client.upsert.record import CoordinatorRecord, read_coordinator, write_coordinator
from controller_client.zookeeper import PropertyStore, TableLock
from key_coordinator.current_generation import current_generation
from key_coordinator.plan import KeyedTable
from key_coordinator.report import VersionReport
from key_coordinator.retries import Retries
from key_coordinator.sent_versions import SentVersions
from key_coordinator.topic_settings import settings_of_topic
from key_coordinator.updates_topic import UpdatesWriter
from spark_connectors.faults import in_short
from spark_connectors.upsert.checkpoint import Checkpoint
from spark_connectors.upsert.delivery import Delivery
from spark_connectors.upsert.kafka_source import source_options
from spark_connectors.upsert.processor import RESULT_SCHEMA, BucketProcessor
from spark_connectors.upsert.records import records_of

__all__ = ["ENGINE", "Coordinator", "CoordinatorOptions"]

logger = logging.getLogger(__name__)

ENGINE = "spark"
_CHECK_EVERY_S = 1
_NEW_FLOORS_S = 6 * 3600.0
"""Interval at which the query is restarted, to forget keys whose rows no longer exist."""
_SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    # A batch writes its changes instead of all files of the store.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # "k" and "K" are different columns in Pinot.
    "spark.sql.caseSensitive": "true",
}


@dataclass(frozen=True)
class CoordinatorOptions:
    """The options of a coordinator.

    Attributes:
        checkpoint: Location of the generations' checkpoints, reachable by driver and executors.
        partitions: Number of state partitions in a new generation.
        buckets: Number of key buckets in a new generation.
        trigger_interval_s: Minimum time from the start of one version to the start of the next.
        max_rows: Maximum number of rows in a version.
        replication: Replication factor of a new updates topic; None: that of the input topic.
        once: End once all available rows are processed.
        fail_on_data_loss: Whether it is an error if Kafka has deleted rows that were not read yet.
    """

    checkpoint: str
    partitions: int
    buckets: int
    trigger_interval_s: float
    max_rows: int
    replication: int | None
    once: bool = False
    fail_on_data_loss: bool = True


class Coordinator:
    """Runs the query until it is told to stop, recovering from failures and handling rebuilds.

    Args:
        spark: The session that runs it; not a Spark Connect session.
        store: The cluster's ZooKeeper.
        plan: The table.
        options: The coordinator's options.
        clock: The clock.
        lock: The table's lock, acquired.
        on_version: Called after each version, in a thread of Spark.
        note: Prints a line for the operator.
        on_check: As in :class:`~key_coordinator.engines.CoordinatorRun`.
        on_failure: As in :class:`~key_coordinator.engines.CoordinatorRun`.
    """

    def __init__(
        self,
        spark: SparkSession,
        store: PropertyStore,
        plan: KeyedTable,
        options: CoordinatorOptions,
        clock: Clock,
        lock: TableLock,
        *,
        on_version: Callable[[VersionReport], None],
        note: Callable[[str], None],
        on_check: Callable[[int | None], None],
        on_failure: Callable[[str], None],
    ) -> None:
        self._spark = spark
        self._store = store
        self._plan = plan
        self._options = options
        self._clock = clock
        self._lock = lock
        self._on_version = on_version
        self._note = note
        self._on_check = on_check
        self._retries = Retries(note, on_failure)
        self._floors = Floors(store, plan.table, clock)
        for key, value in _SETTINGS.items():
            spark.conf.set(key, value)

    def run(self, stop: threading.Event) -> None:
        """Run until ``stop`` is set or, with ``once``, until all available rows are processed.

        Raises:
            ConflictError: The lock was lost.
            FormatVersionError: A later release has coordinated the table; this one cannot read its state.
            SourceError: The query failed ten times in a row without a version, or Kafka did not answer.
            UnreachableError: The same, because ZooKeeper did not answer.
            OutcomeUnknownError: The same, because its answers were lost.
        """
        self._retries.run(lambda: self._run_query(stop), stop)

    def _run_query(self, stop: threading.Event) -> bool:
        """Run the query once; return whether all is done."""
        self._refuse_without_lock()
        try:
            return self._watch_query(stop)
        except (PySparkException, Py4JError) as error:
            raise SourceError(
                f"the query failed: {in_short(error)}",
                where=self._plan.table,
                remedy="see Spark's output on stderr; if it reports data loss in the topic, start again with "
                "--allow-data-loss",
            ) from error

    def _watch_query(self, stop: threading.Event) -> bool:
        stream, name = self._plan.stream, self._plan.settings.updates_topic
        topic_settings = settings_of_topic(
            self._store, self._plan, self._options.replication, self._clock, self._note
        )
        with UpdatesWriter(stream, name, topic_settings) as topic, SentVersions(stream, name) as sent:
            topic.ensure(len(open_offsets(stream).read()))
            generation = self._generation(sent)
            began_s = self._clock.monotonic()
            self._lag: int | None = None
            delivery = self._delivery(generation, topic)
            query = self._start(generation, delivery)
            try:
                while not stop.is_set():
                    self._on_check(self._lag)
                    self._refuse_without_lock()
                    topic_settings.check()
                    if query.awaitTermination(_CHECK_EVERY_S):
                        return self._options.once
                    self._lag = _lag(query)
                    request = read_request(self._store, self._plan.table)
                    if request is not None and request.number > generation.number:
                        return False
                    if self._clock.monotonic() - began_s > _NEW_FLOORS_S:
                        return False
                return True
            finally:
                delivery.close()
                with suppress(PySparkException, Py4JError):  # of a query that has failed
                    query.stop()

    def _refuse_without_lock(self) -> None:
        if self._lock.lost:
            raise ConflictError(
                "the table's lock was lost",
                where=self._lock.path,
                remedy="start the coordinator again, unless another one is running by now",
            )

    def _start(self, generation: Generation, delivery: Delivery) -> StreamingQuery:
        self._spark.conf.set("spark.sql.shuffle.partitions", str(generation.partitions))
        options = self._options
        source = source_options(
            self._plan.stream, options.max_rows, fail_on_data_loss=options.fail_on_data_loss
        )
        messages = self._spark.readStream.format("kafka").options(**source).load()
        records = records_of(messages, self._plan.recipe, generation.buckets)
        processor = BucketProcessor(generation.floors)
        results = records.groupBy("bucket").transformWithStateInPandas(
            processor, RESULT_SCHEMA, "Append", "None"
        )
        writer = results.writeStream.foreachBatch(delivery).queryName(f"upsert {self._plan.table}")
        writer = writer.option("checkpointLocation", self._uri(generation))
        trigger = f"{round(options.trigger_interval_s * 1000)} milliseconds"
        writer = writer.trigger(availableNow=True) if options.once else writer.trigger(processingTime=trigger)
        try:
            return writer.start()
        except (PySparkException, Py4JError) as error:
            raise SetupError(
                f"the query failed to start: {in_short(error)}",
                where=self._plan.table,
                remedy="see Spark's output on stderr",
            ) from error

    def _delivery(self, generation: Generation, sink: UpdatesWriter) -> Delivery:
        table, store = self._plan.table, self._store
        none_yet = CoordinatorRecord(generation.number, generation.base)

        def on_version(batch: VersionReport) -> None:
            self._retries.succeeded()
            self._on_version(batch)

        return Delivery(
            generation,
            self._checkpoint(generation),
            sink,
            read_coordinator(store, table) or none_yet,
            write=lambda record: write_coordinator(store, table, record),
            on_version=on_version,
            may_send=lambda: not self._lock.lost,
            lag=lambda: self._lag,
            clock=self._clock,
        )

    def _generation(self, sent: SentVersions) -> Generation:
        """Return the current generation, or a new one if requested or if the current one cannot continue."""
        record = read_coordinator(self._store, self._plan.table)
        recorded = max(record.version, int(record.details.get("sent", NIL))) if record else NIL
        newest = max(sent.newest(), recorded)

        def flaw_of(generation: Generation) -> str | None:
            if not generation.has_sent(newest, self._checkpoint(generation).newest_batch()):
                return (
                    f"the checkpoint {self._uri(generation)} does not match version {newest}, which was sent"
                )
            return f"the updates topic has lost version {recorded}" if recorded > sent.newest() else None

        current = current_generation(
            self._store,
            self._plan,
            ENGINE,
            newest,
            flaw_of,
            meets_requests=True,
            partitions=self._options.partitions,
            buckets=self._options.buckets,
        )
        generation = current.generation
        if current.reason is None:
            return self._with_floors(generation)
        write_generation(self._store, self._plan.table, generation)
        if current.previous is not None and current.previous.engine == ENGINE:
            self._checkpoint(current.previous).remove()
        self._note(
            f"generation {generation.number} starts at version {generation.base} with "
            f"{generation.partitions} partitions and {generation.buckets} buckets: {current.reason}"
        )
        return generation

    def _with_floors(self, generation: Generation) -> Generation:
        """Return the generation with the current floors, unless a batch of it has to be repeated."""
        checkpoint = self._checkpoint(generation)
        batch = checkpoint.newest_batch()
        if (
            batch is None
            or not checkpoint.is_committed(batch)
            or generation.holds_back(checkpoint.ends(batch))
        ):
            return generation
        raised = self._floors.after(generation.floors)
        if raised == generation.floors:
            return generation
        changed = replace(generation, floors=raised)
        write_generation(self._store, self._plan.table, changed)
        return changed

    def _checkpoint(self, generation: Generation) -> Checkpoint:
        return Checkpoint(self._spark, self._uri(generation))

    def _uri(self, generation: Generation) -> str:
        return f"{self._options.checkpoint.rstrip('/')}/{self._plan.table}/{generation.folder}"


def _lag(query: StreamingQuery) -> int | None:
    progress = query.lastProgress
    source = json.loads(progress.json)["sources"][0] if progress is not None else {}
    latest, end = source.get("latestOffset"), source.get("endOffset")
    if not latest or not end:
        return None
    return sum(sum(each.values()) for each in latest.values()) - sum(
        sum(each.values()) for each in end.values()
    )
