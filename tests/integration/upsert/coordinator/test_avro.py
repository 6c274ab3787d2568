"""Avro messages, a custom ranking, and a lost checkpoint."""

from __future__ import annotations

import io
import json
import random
import shutil
from collections.abc import Callable, Iterator
from functools import partial

import fastavro
import pytest
from confluent_kafka import Producer

from tests.integration.upsert.coordinator import ranks
from tests.integration.upsert.coordinator.conftest import CheckedTable, MakeTable
from tests.integration.upsert.coordinator.topics import Message, Record, check_versions, records_of
from tests.support.schema_registry import SchemaRegistry, schema_registry
from tests.support.tiers import FULL

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]

_AVRO = "org.apache.pinot.plugin.inputformat.avro"
_DECODER, _PROPERTY = "stream.kafka.decoder.class.name", "stream.kafka.decoder.prop.schema"
_TIMEOUT_S = 300.0
_FIRST_MS = 1_700_000_000_000
_SCHEMA = {
    "type": "record",
    "name": "Row",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "more", "type": ["null", "double"]},
        {"name": "priority", "type": ["null", "int"]},
        {"name": "ts", "type": "long"},
    ],
}
_PARSED = fastavro.parse_schema(_SCHEMA)
_LOGIN = "reader:secret"


@pytest.fixture
def registry() -> Iterator[SchemaRegistry]:
    """A schema registry that requires a password."""
    with schema_registry(_LOGIN) as running:
        yield running


def _feed(table: CheckedTable, header: bytes, count: int, seed: int) -> None:
    random_ = random.Random(seed)
    producer = Producer({"bootstrap.servers": table.kafka.bootstrap, "acks": "all", "linger.ms": 5})
    for _ in range(count):
        key, time_ms = f"k{random_.randrange(60)}", _FIRST_MS + random_.randrange(100)
        send = partial(producer.produce, table.name, partition=random_.randrange(2))
        kind = random_.random()
        if kind < 0.03:
            send(value=None, key=key, timestamp=time_ms)
        elif kind < 0.06:
            send(value=b"\x07" * 3)
        else:
            row = {"id": key, "more": 0.5, "priority": random_.choice([None, 1, 2, 3]), "ts": time_ms}
            data = io.BytesIO()
            fastavro.schemaless_writer(data, _PARSED, row)
            send(value=header + data.getvalue())
    assert producer.flush(_TIMEOUT_S) == 0


def _understand(header: bytes) -> Callable[[Message], Record | None]:
    def understand(message: Message) -> Record | None:
        place = message.partition, message.offset
        if message.value is None:
            key = (message.key or b"").decode()
            return Record(place, key, 9 * 10**13 + message.time_ms, tombstone=True)
        if len(message.value) < 10:
            return None
        row = fastavro.schemaless_reader(io.BytesIO(message.value[len(header) :]), _PARSED, None)
        assert isinstance(row, dict)
        priority = 9 if row["priority"] is None else row["priority"]
        return Record(place, row["id"], priority * 10**13 + row["ts"])

    return understand


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=FULL)])
@pytest.mark.parametrize(
    "confluent", [pytest.param(False, marks=FULL, id="plain"), pytest.param(True, id="confluent")]
)
def test_the_users_rank_decides_and_a_lost_checkpoint_is_rebuilt(
    make_table: MakeTable, registry: SchemaRegistry, confluent: bool, engine: str
) -> None:
    if confluent:
        header = b"\x00" + registry.register("Row", json.dumps(_SCHEMA)).to_bytes(4, "big")
        stream = {
            _DECODER: f"{_AVRO}.confluent.KafkaConfluentSchemaRegistryAvroMessageDecoder",
            f"{_PROPERTY}.registry.rest.url": registry.url,
            f"{_PROPERTY}.registry.basic.auth.user.info": _LOGIN,
        }
    else:
        header = b""
        stream = {_DECODER: f"{_AVRO}.SimpleAvroMessageDecoder", _PROPERTY: json.dumps(_SCHEMA)}
    columns = {"id": "STRING", "priority": "INT"}
    table = make_table(columns, ["id"], 2, stream, order=ranks.NAME)
    ranks.install(table.folder)
    table.engine = engine
    _feed(table, header, 1_000, seed=1)
    table.once("--max-rows-per-version=300")
    before = table.record()
    assert before.details["heldBack"] == "false"
    assert check_versions(table.replay(), records_of(table.input(), _understand(header))) >= 3

    shutil.rmtree(table.folder / "checkpoint")
    _feed(table, header, 300, seed=2)
    table.once("--max-rows-per-version=300")
    after = table.record()
    # The engine local reads the input again up to what was sent, so it sends nothing again.
    assert after.generation == before.generation + (engine == "spark")
    assert (after.base > before.version) == (engine == "spark")
    assert check_versions(table.replay(), records_of(table.input(), _understand(header))) >= 4
