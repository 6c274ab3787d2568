"""`pinotctl upsert create` and `drop` on a real cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from controller_client.errors import ConfigError
from controller_client.models import Schema, TableConfig
from controller_client.stream.config import StreamConfig
from controller_client.upsert.columns import SYSTEM_COLUMNS
from controller_client.upsert.dropping import plan_drop, topic_exists
from controller_client.upsert.queries import UpsertQueries
from controller_client.upsert.record import LOCK, CoordinatorRecord, write_coordinator
from controller_client.upsert.settings import UpsertSettings
from controller_client.zookeeper import TableLock
from tests.integration.upsert.broker.conftest import MakeTable, Pinotctl
from tests.integration.upsert.broker.versioned_table import VersionedTable
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]

_KEY_FROM_A_TRANSFORM = {
    "ingestionConfig": {"transformConfigs": [{"columnName": "k", "transformFunction": "upper(name)"}]}
}


class Files:
    """A schema and a config in files, from which a table is created."""

    def __init__(self, pinotctl: Pinotctl, folder: Path, table: VersionedTable) -> None:
        self._pinotctl = pinotctl
        self.schema, self.config = folder / "schema.json", folder / "config.json"
        self.write(table.schema(), table.config())

    def write(self, schema: dict[str, Any], config: dict[str, Any]) -> None:
        self.schema.write_text(json.dumps(schema))
        self.config.write_text(json.dumps(config))

    def create(self, *more: str) -> tuple[int, str]:
        """Run the command; return its exit code and its messages."""
        files = ("--schema", str(self.schema), "--config", str(self.config))
        code, out, text = self._pinotctl("upsert", "create", *files, *more)
        return code, out + text


def test_create(pinotctl: Pinotctl, make_table: MakeTable, tmp_path: Path) -> None:
    table = make_table(1)
    client, files = table.client, Files(pinotctl, tmp_path, table)
    given = ("--primary-key", "k", "--timestamp", "ts")
    code, text = files.create(*given, "--dry-run")
    assert (code, table.name in client.schemas.list()) == (0, False), text
    assert f"Would register schema {table.name} and table {table.full_name}." in text
    # The session's servers are stock servers.
    assert "never reported that they are hosted in Python" in text

    code, text = files.create(*given)
    assert code == 0, text
    assert f"Registered schema {table.name} and table {table.full_name}." in text
    made = client.tables.get(table.full_name)
    assert UpsertSettings.of(made) == UpsertSettings(("k",), "ts", table.updates_topic)
    assert made.table_index_config["noDictionaryColumns"] == list(SYSTEM_COLUMNS)

    # Again: nothing to do. With another topic: an error, and nothing changed.
    code, text = files.create(*given)
    assert (code, "are already registered" in text) == (0, True), text
    code, text = files.create(*given, "--updates-topic", "another")
    assert code != 0
    assert "metadata.customConfigs.upsert.updatesTopic" in text
    changed = table.schema()
    changed["metricFieldSpecs"][0]["dataType"] = "LONG"
    files.write(changed, table.config())
    code, text = files.create(*given)
    assert code != 0
    assert "v.dataType" in text
    assert client.tables.get(table.full_name).to_json() == made.to_json()

    table.produce({0: [("a", 1, 3, -1)]})
    table.wait_rows()
    answer = table.broker.query(f"select * from {table.name}")
    assert [column.name for column in answer.columns] == ["k", "ts", "v"]
    names = '"$validFrom", "$validUntil", "$kafkaOffset"'
    answer = table.broker.query(f"select {names} from {table.name} where $validFrom = 3")
    assert answer.rows == ((3, -1, 0),)


def test_nothing_is_written_before_all_is_checked(
    pinotctl: Pinotctl, make_table: MakeTable, tmp_path: Path
) -> None:
    table, state = make_table(1), tmp_path / "state"
    client, files = table.client, Files(pinotctl, tmp_path, table)
    wrong, elsewhere = table.config(), table.config()
    wrong["tableIndexConfig"]["invertedIndexColumns"] = ["nope"]
    elsewhere["tableIndexConfig"]["streamConfigs"]["stream.kafka.topic.name"] = f"{table.name}-nowhere"
    # The original design's form of the files.
    schema = {**table.schema(), "updateSemantic": "upsert", "primaryKey": "k"}
    for config, code, text in (
        (wrong, 1, "nope"),  # Pinot rejects it
        (elsewhere, 1, f"the topic {table.name}-nowhere does not exist"),
        ({**table.config(), **_KEY_FROM_A_TRANSFORM}, 2, "the key k comes from a transform"),
    ):
        files.write(schema, {**config, "updateSemantic": "upsert"})
        done = files.create()
        assert (done[0], text in done[1], table.name in client.schemas.list()) == (code, True, False), done
    files.write(schema, {**table.config(), "updateSemantic": "upsert"})
    done = files.create()
    assert done[0] == 0, done
    made = client.tables.get(table.full_name)
    assert UpsertSettings.of(made).primary_key == ("k",)

    # Pinot accepts a change that the key coordinator refuses.
    client.tables.update(TableConfig.from_json({**made.to_json(), **_KEY_FROM_A_TRANSFORM}))
    code, out, text = pinotctl("upsert", "coordinate", table.name, "--checkpoint", str(state), "--once")
    assert (code, "the key k comes from a transform" in out + text, state.exists()) == (2, True, False), text


def test_a_table_that_was_registered_in_another_way(pinotctl: Pinotctl, make_table: MakeTable) -> None:
    table = make_table(1)
    config = {**table.config(), "metadata": {"customConfigs": {"updateSemantic": "UPSERT"}}}
    table.client.schemas.create(Schema.from_json(table.schema()))
    table.client.tables.create(TableConfig.from_json(config))
    with (
        UpsertQueries(table.broker, table.store) as queries,
        pytest.raises(ConfigError, match="was registered as a plain one"),
    ):
        queries.query(f"select count(*) from {table.name}")
    code, out, text = pinotctl("upsert", "status", table.name)
    assert (code, "pinotctl upsert create" in out + text) == (2, True)


def test_drop(pinotctl: Pinotctl, make_table: MakeTable) -> None:
    table = make_table(1)
    client, store = table.client, table.store
    records = f"/{store.cluster_name}/PINOT_PLUGINS/upsert/{table.full_name}"

    def drop(*more: str) -> tuple[int, str]:
        code, out, text = pinotctl("upsert", "drop", table.name, *more)
        return code, out + text

    table.create()
    write_coordinator(store, table.full_name, CoordinatorRecord(1, 0))
    code, text = drop("--dry-run")
    assert code == 0, text
    for part in (
        f"table {table.full_name} with 1 segments",
        f"schema {table.name}",
        f"topic {table.updates_topic}",
    ):
        assert part in text
    with TableLock(store, table.full_name, LOCK, "a coordinator") as lock:
        lock.acquire(10)
        code, text = drop("--yes")
        assert (code, "held by a coordinator" in text) == (1, True), text
    assert client.tables.exists(table.full_name)
    code, text = drop()
    assert (code, "pass --yes" in text) == (2, True), text

    # The drop is killed after the table is deleted: the next one finds what remains.
    def killed(what: str) -> None:
        raise InterruptedError(what)

    with pytest.raises(InterruptedError, match="table"):
        plan_drop(client, store, table.name).run(store, killed)
    wait_for(lambda: not client.tables.exists(table.full_name), "the table to be gone")
    code, text = drop("--yes")
    assert (code, f"schema {table.name}" in text, "with 1 segments" in text) == (0, True, False), text
    assert table.name not in client.schemas.list()
    assert not store.connection.exists(records)
    stream = StreamConfig.of(table.planned().table)
    wait_for(lambda: not topic_exists(stream, table.updates_topic), "the updates topic to be gone")
    code, text = drop("--yes")
    assert (code, "does not exist" in text) == (1, True), text

    # The schema is kept on request.
    table.create()
    code, text = drop("--yes", "--keep-schema")
    assert (code, table.name in client.schemas.list()) == (0, True), text
