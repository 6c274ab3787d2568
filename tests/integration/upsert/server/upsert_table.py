"""An upsert table on the two servers hosted in Python, and what its queries see."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress

from confluent_kafka import Message, Producer

from controller_client.common.names import SegmentName
from controller_client.errors import PartialResultError, PinotPluginError, QueryError
from controller_client.upsert.columns import visible_at
from controller_client.upsert.creating import create_upsert_table
from controller_client.upsert.low_water_mark import read_mark
from controller_client.upsert.version_option import VERSIONS, option_text
from tests.integration.upsert.model_coordinator import ModelCoordinator
from tests.integration.upsert.realtime_table import Clients, RealtimeTable
from tests.support.kafka_topics import Topic, read_committed
from tests.support.pinot_services import HOSTED_TENANT
from tests.support.realtime_tables import TRANSACTIONAL, planned_upsert, realtime_schema, realtime_table
from tests.support.wait import wait_for

TIMEOUT_S = 120.0


def cut_logs(table: RealtimeTable, role: str, chance: random.Random) -> None:
    """Cut the logs of updates on the disk of a killed hosted server, anywhere in their last files."""
    logs = table.pinot.data_folder(role) / "pythonUpsert" / table.full_name
    files = list(logs.glob("*/*/*.open"))
    assert files, f"{logs} has no open log"
    for file in files:
        content = file.read_bytes()
        file.write_bytes(content[: chance.randrange(len(content))])


class UpsertTable(RealtimeTable):
    """A table with the columns ``key``, ``part``, ``value`` and ``ts``; each row has a unique value.

    Args:
        clients: The clients.
        partitions: The number of partitions of the input topic.
        rows_per_segment: The number of rows at which a segment is sealed.
        replicas: The number of replicas.
        pauseless: Whether the next segment consumes while one is built (Pinot 1.4 and later).
    """

    def __init__(
        self,
        clients: Clients,
        *,
        partitions: int = 2,
        rows_per_segment: int = 100_000,
        replicas: int = 2,
        pauseless: bool = False,
    ) -> None:
        super().__init__(clients, "upsert", partitions)
        self._bootstrap = self.kafka.bootstrap
        Topic(self._bootstrap, self.updates_topic, partitions)
        self.model = ModelCoordinator(self._bootstrap, self.name, self.updates_topic, partitions)
        self._producer = Producer({"bootstrap.servers": self._bootstrap, "acks": "all", "linger.ms": 5})
        self._values = 0
        self._ts = 1_700_000_000_000
        config = realtime_table(
            self.name,
            self.kafka,
            rows_per_segment=rows_per_segment,
            replicas=replicas,
            tenant=HOSTED_TENANT,
            peers=replicas > 1,
            keeps_all=True,
            pauseless=pauseless,
            stream=TRANSACTIONAL,
        )
        schema = realtime_schema(self.name, {"key": "STRING", "part": "INT"}, {"value": "LONG"})
        create_upsert_table(self.client, planned_upsert(schema, config, ["key"]))

    def produce(self, partition: int, keys: Sequence[str], *, ts_step: int = 1) -> None:
        """Write a row for each of these keys; a negative step makes rows older than the previous ones."""
        for value in self._rows(partition, keys, ts_step):
            self.produce_raw(partition, value, flush=False)
        self._producer.flush(TIMEOUT_S)

    def _rows(self, partition: int, keys: Sequence[str], ts_step: int = 1) -> Iterator[bytes]:
        for key in keys:
            self._ts += ts_step
            self._values += 1
            row = {"key": key, "part": partition, "value": self._values, "ts": self._ts}
            yield json.dumps(row).encode()

    def produce_raw(
        self, partition: int, value: bytes | None, *, key: str | None = None, flush: bool = True
    ) -> None:
        """Write one message."""
        self._producer.produce(self.name, value, key=key, partition=partition)
        self._producer.poll(0)
        if flush:
            self._producer.flush(TIMEOUT_S)

    def produce_transaction(self, partition: int, keys: Sequence[str], *, commit: bool) -> None:
        """Write rows in a separate transaction; its marker takes an offset."""
        producer = Producer({"bootstrap.servers": self._bootstrap, "transactional.id": uuid.uuid4().hex})
        producer.init_transactions(TIMEOUT_S)
        producer.begin_transaction()
        for value in self._rows(partition, keys):
            producer.produce(self.name, value, partition=partition)
        producer.flush(TIMEOUT_S)
        if commit:
            producer.commit_transaction(TIMEOUT_S)
        else:
            producer.abort_transaction(TIMEOUT_S)

    def readable(self, partition: int) -> list[int]:
        """Offsets of the rows among the committed messages of the input topic, as Kafka returns them.

        The marker of a transaction may follow messages that were produced later.
        """
        found: list[int] = []

        def take(message: Message) -> None:
            with suppress(ValueError):
                json.loads(message.value() or b"")
                found.append(message.offset() or 0)

        read_committed(self._bootstrap, self.name, partition, take)
        return found

    def mark(self) -> int:
        """The table's low-water mark, as brokers read it."""
        return read_mark(self.store, self.full_name).version

    def rows(self, *conditions: str, **options: str | bool) -> list[tuple[int, int]]:
        """Partitions and offsets of the rows that match the conditions, sorted."""
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        sql = f'SELECT part, "$kafkaOffset" FROM {self.name} {where} LIMIT 1000000'
        answer = self.broker.query(sql, options=options)
        return sorted((int(partition), int(offset)) for partition, offset in answer.rows)

    def all_rows(self, *conditions: str) -> list[tuple[int, int]]:
        """As :meth:`rows`, for all versions."""
        return self.rows(*conditions, skipUpsert=True)

    def visible(self, version: int, *conditions: str) -> list[tuple[int, int]]:
        """As :meth:`rows`, as seen at a version: through a stock broker, as our client queries it."""
        if read_mark(self.store, self.full_name).cut_by_option:
            return self.rows(*conditions, **{VERSIONS: option_text({self.full_name: version}, "")})
        return self.rows(*conditions, visible_at(version))

    def wait_mark(self, version: int) -> None:
        """Wait until the table has reached this mark."""
        wait_for(lambda: self.mark() >= version, f"version {version} of {self.name}", TIMEOUT_S)

    def wait_checked(self, version: int) -> None:
        """Wait until the mark is at least this version, and queries see what the model expects."""
        self.wait_mark(version)
        wait_for(self._matches, f"the rows of {self.name} at version {version}", TIMEOUT_S)

    def check(self, version: int) -> None:
        """As :meth:`wait_checked`, but each answer is right, and there are enough for each replica.

        There may be none while a broker knows a new segment that no server has yet: an answer is whole or an
        error. Any other error fails.
        """

        def is_right() -> bool:
            try:
                mark = self.mark()
                seen, expected = set(self.visible(mark)), self.model.visible[mark]
            except PartialResultError:
                return False
            except PinotPluginError as error:
                raise AssertionError(f"no answer of {self.name}") from error
            assert seen == expected, f"version {mark}: more {seen - expected}, less {expected - seen}"
            return True

        self.wait_mark(version)
        wait_for(is_right, f"six answers of {self.name}", TIMEOUT_S, interval_s=0, times=6)

    def _matches(self) -> bool:
        mark = self.mark()
        try:
            return self.visible(mark) == sorted(self.model.visible[mark])
        except QueryError:
            return False  # a broker that still queries a stopped server

    def sealed(self) -> list[SegmentName]:
        """The sealed segments."""
        return sorted(
            segment
            for name, states in self.segments().items()
            if "CONSUMING" not in states.values() and (segment := SegmentName.parse(name))
        )

    def wait_sealed(self, count: int) -> None:
        """Wait until this number of segments is sealed, and all are served according to the ideal state."""
        wait_for(lambda: len(self.sealed()) >= count, f"{count} sealed segments of {self.name}", TIMEOUT_S)
        self.wait_served()

    def delete(self) -> None:
        """Delete table and topics; nothing can be produced after that."""
        # Otherwise their threads continue, and log errors when Kafka stops.
        self.__dict__.pop("_producer", None)
        self.model.close()
        super().delete()
