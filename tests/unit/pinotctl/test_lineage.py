"""``pinotctl lineage``: what can be tested without a cluster."""

from __future__ import annotations

from click.testing import CliRunner

from pinotctl.root import cli
from tests.unit.controller_client.rest.conftest import V11
from tests.unit.controller_client.scripted_server import ScriptedServer, answer

GONE = answer(404, {"error": "Table not found"})


def test_a_table_that_is_deleted_after_it_was_listed_is_not_checked() -> None:
    tables = (answer(200, {"tables": ["gone_OFFLINE"]}), V11, answer(200, {"tables": []}))
    with ScriptedServer(*tables, *[GONE] * 3) as server:
        result = CliRunner().invoke(cli, ("--controller", server.url, "lineage", "doctor"))
    assert result.exit_code == 0, result.output
    assert "Tables checked: 0. Remaining faults: 0." in result.stderr


def test_a_named_table_must_exist() -> None:
    with ScriptedServer(*[GONE] * 6) as server:
        result = CliRunner().invoke(cli, ("--controller", server.url, "lineage", "doctor", "gone_OFFLINE"))
    assert result.exit_code == 1
    assert "there is no table gone_OFFLINE" in result.stderr
