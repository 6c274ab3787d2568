"""`pinotctl upsert create` and `drop` on a real cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from controller_client.cli import cli
from controller_client.errors import ConfigError
from controller_client.models import Schema, TableConfig
from controller_client.stream.config import StreamConfig
from controller_client.upsert.columns import SYSTEM_COLUMNS
from controller_client.upsert.dropping import plan_drop
from controller_client.upsert.queries import UpsertQueries
from controller_client.upsert.record import LOCK, CoordinatorRecord, write_coordinator
from controller_client.upsert.settings import UpsertSettings
from controller_client.upsert.updates import topic_exists
from controller_client.zookeeper import PropertyStore, TableLock
from tests.integration.upsert.broker.conftest import MakeTable
from tests.support.cluster import PinotCluster
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]

_KEY_FROM_A_TRANSFORM = {
    "ingestionConfig": {"transformConfigs": [{"columnName": "k", "transformFunction": "upper(name)"}]}
}


def test_create(pinot: PinotCluster, make_table: MakeTable, tmp_path: Path) -> None:
    table = make_table(1)
    schema, config = tmp_path / "schema.json", tmp_path / "config.json"
    schema.write_text(json.dumps(table.schema()))
    config.write_text(json.dumps(table.config()))

    def run(*more: str) -> tuple[int, str]:
        words = ["--controller", pinot.controller_url, "upsert", "create", "--primary-key", "k"]
        files = ["--schema", str(schema), "--config", str(config), "--timestamp", "ts"]
        done = CliRunner().invoke(cli, [*words, *files, *more])
        return done.exit_code, f"{done.output}{done.exception or ''}"

    with pinot.client() as client:
        code, text = run("--dry-run")
        assert (code, table.name in client.schemas.list()) == (0, False), text
        assert f"Would register schema {table.name} and table {table.table}." in text
        # The session's servers are stock servers.
        assert "never reported that they are hosted in Python" in text

        code, text = run()
        assert code == 0, text
        assert f"Registered schema {table.name} and table {table.table}." in text
        made = client.tables.get(table.table)
        assert UpsertSettings.of(made) == UpsertSettings(
            ("k",), "ts", f"{table.table}.updates", 10_000 * 86_400_000
        )
        assert made.table_index_config["noDictionaryColumns"] == list(SYSTEM_COLUMNS)

        # Again: nothing to do. With another topic: an error, and nothing changed.
        code, text = run()
        assert (code, "are already registered" in text) == (0, True), text
        code, text = run("--updates-topic", "another")
        assert code != 0
        assert "metadata.customConfigs.upsert.updatesTopic" in text
        changed = table.schema()
        changed["metricFieldSpecs"][0]["dataType"] = "LONG"
        schema.write_text(json.dumps(changed))
        code, text = run()
        assert code != 0
        assert "v.dataType" in text
        assert client.tables.get(table.table).to_json() == made.to_json()

    table.produce({0: [("a", 1, 3, -1)]})
    with pinot.broker() as broker:
        table.wait_rows(broker)
        answer = broker.query(f"select * from {table.name}")
        assert [column.name for column in answer.columns] == ["k", "ts", "v"]
        names = '"$validFrom", "$validUntil", "$kafkaOffset"'
        answer = broker.query(f"select {names} from {table.name} where $validFrom = 3")
        assert answer.rows == ((3, -1, 0),)


def test_nothing_is_written_before_all_is_checked(
    pinot: PinotCluster, make_table: MakeTable, tmp_path: Path
) -> None:
    table = make_table(1)
    schema, config = tmp_path / "schema.json", tmp_path / "config.json"
    # The original design's form of the files.
    schema.write_text(json.dumps({**table.schema(), "updateSemantic": "upsert", "primaryKey": "k"}))

    def run(document: dict[str, Any]) -> tuple[int, str]:
        config.write_text(json.dumps({**document, "updateSemantic": "upsert"}))
        words = ["--controller", pinot.controller_url, "upsert", "create"]
        done = CliRunner().invoke(cli, [*words, "--schema", str(schema), "--config", str(config)])
        return done.exit_code, f"{done.output}{done.exception or ''}"

    with pinot.client() as client:
        # Pinot rejects an index of a nonexistent column; Kafka has no such topic.
        wrong = table.config()
        wrong["tableIndexConfig"]["invertedIndexColumns"] = ["nope"]
        code, text = run(wrong)
        assert (code, table.name in client.schemas.list()) == (1, False), text
        assert "nope" in text
        elsewhere = table.config()
        elsewhere["tableIndexConfig"]["streamConfigs"]["stream.kafka.topic.name"] = f"{table.name}-nowhere"
        code, text = run(elsewhere)
        assert (code, table.name in client.schemas.list()) == (1, False), text
        assert f"the topic {table.name}-nowhere does not exist" in text
        code, text = run({**table.config(), **_KEY_FROM_A_TRANSFORM})
        assert (code, table.name in client.schemas.list()) == (2, False), text
        assert "the key k comes from a transform" in text

        code, text = run(table.config())
        assert code == 0, text
        assert UpsertSettings.of(client.tables.get(table.table)).primary_key == ("k",)


def test_a_key_coordinator_refuses_a_table_that_was_changed_later(
    pinot: PinotCluster, make_table: MakeTable, tmp_path: Path
) -> None:
    table = make_table(1)
    state = tmp_path / "state"
    with pinot.client() as client:
        table.create(client)
        # Pinot accepts it.
        changed = {**client.tables.get(table.table).to_json(), **_KEY_FROM_A_TRANSFORM}
        client.tables.update(TableConfig.from_json(changed))
        words = ["--controller", pinot.controller_url, "upsert", "coordinate", table.name]
        done = CliRunner().invoke(cli, [*words, "--checkpoint", str(state), "--once"])
    text = f"{done.output}{done.exception or ''}"
    assert (done.exit_code, "the key k comes from a transform" in text) == (2, True), text
    assert not state.exists()


def test_a_table_that_was_registered_in_another_way(
    pinot: PinotCluster, make_table: MakeTable, store: PropertyStore
) -> None:
    table = make_table(1)
    with pinot.client() as client, pinot.broker() as broker, UpsertQueries(broker, store) as queries:
        config = {**table.config(), "metadata": {"customConfigs": {"updateSemantic": "UPSERT"}}}
        client.schemas.create(Schema.from_json(table.schema()))
        client.tables.create(TableConfig.from_json(config))
        with pytest.raises(ConfigError, match="was registered as a plain one"):
            queries.query(f"select count(*) from {table.name}")
        done = CliRunner().invoke(cli, ["--controller", pinot.controller_url, "upsert", "status", table.name])
        assert (done.exit_code, "pinotctl upsert create" in f"{done.output}{done.exception}") == (2, True)


def test_drop(pinot: PinotCluster, make_table: MakeTable, store: PropertyStore) -> None:
    table = make_table(1)
    records = f"/{store.cluster_name}/PINOT_PLUGINS/upsert/{table.table}"

    def run(*more: str) -> tuple[int, str]:
        words = ["--controller", pinot.controller_url, "upsert", "drop", table.name, *more]
        done = CliRunner().invoke(cli, words)
        return done.exit_code, f"{done.output}{done.exception or ''}"

    with pinot.client() as client:
        table.create(client)
        write_coordinator(store, table.table, CoordinatorRecord(1, 0))
        code, text = run("--dry-run")
        assert code == 0, text
        for part in (
            f"table {table.table} with 1 segments",
            f"schema {table.name}",
            f"topic {table.updates.name}",
        ):
            assert part in text
        with TableLock(store, table.table, LOCK, "a coordinator") as lock:
            lock.acquire(10)
            code, text = run("--yes")
            assert (code, "held by a coordinator" in text) == (1, True), text
        assert client.tables.exists(table.table)
        code, text = run()
        assert (code, "pass --yes" in text) == (2, True), text

        # The drop is killed after the table is deleted: the next one finds what remains.
        def killed(what: str) -> None:
            raise InterruptedError(what)

        with pytest.raises(InterruptedError, match="table"):
            plan_drop(client, store, table.name).run(store, killed)
        wait_for(lambda: not client.tables.exists(table.table), "the table to be gone")
        code, text = run("--yes")
        assert (code, f"schema {table.name}" in text, "with 1 segments" in text) == (0, True, False), text
        assert table.name not in client.schemas.list()
        assert not store.connection.exists(records)
        wait_for(
            lambda: not topic_exists(StreamConfig.of(table.planned().table), table.updates.name), "no topic"
        )
        code, text = run("--yes")
        assert (code, "does not exist" in text) == (1, True), text

        # The schema is kept on request.
        table.create(client)
        code, text = run("--yes", "--keep-schema")
        assert (code, table.name in client.schemas.list()) == (0, True), text
