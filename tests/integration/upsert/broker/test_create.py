"""`pinotctl upsert create` on a real cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from controller_client.cli import cli
from controller_client.upsert.columns import SYSTEM_COLUMNS
from controller_client.upsert.settings import UpsertSettings
from tests.integration.upsert.broker.conftest import MakeTable
from tests.support.cluster import PinotCluster

pytestmark = [pytest.mark.cluster, pytest.mark.kafka]


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
        assert f"schema {table.name} and table {table.table} would be registered" in text
        # The session's servers are stock ones.
        assert "never reported that it is hosted in Python" in text

        code, text = run()
        assert code == 0, text
        assert f"schema {table.name} and table {table.table} registered" in text
        made = client.tables.get(table.table)
        assert UpsertSettings.of(made) == UpsertSettings(
            ("k",), "ts", f"{table.table}.updates", 10_000 * 86_400_000
        )
        assert made.table_index_config["noDictionaryColumns"] == list(SYSTEM_COLUMNS)

        # Again: nothing to do. With something else: said, and nothing changed.
        code, text = run()
        assert (code, "are there already" in text) == (0, True), text
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
