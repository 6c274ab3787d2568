"""A run whose table has a dead server: it completes if that is allowed, and names the server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.session.store import SessionStore
from tests.integration.file_ingestion.ingestion import IngestionTable, invoke, write_numbers
from tests.support.cluster import PinotCluster
from tests.support.scheduling import DISTURBS
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = pytest.mark.cluster

ROWS = 500
_TIMEOUT_S = 300.0


@contextmanager
def _without(pinot: PinotCluster, role: str, store: PropertyStore) -> Iterator[str]:
    """Kill a server for the duration of the block; yields its name in Helix."""
    before = set(store.live_instances())
    pinot.kill(role)
    try:
        wait_for(lambda: set(store.live_instances()) != before, "the server's session to end", _TIMEOUT_S)
        (name,) = before - set(store.live_instances())
        yield name
    finally:
        pinot.start(role)
        wait_for(lambda: set(store.live_instances()) == before, "the server to be back", _TIMEOUT_S)


def _faults(table: IngestionTable) -> list[dict[str, Any]]:
    arguments = ("lineage", "doctor", table.with_type, "--output", "json")
    done = invoke(table.controller_url, *arguments)
    found: list[dict[str, Any]] = json.loads(done.out)
    assert done.code == (1 if found else 0), done.err
    return found


@FULL
@DISTURBS
def test_a_run_completes_with_a_dead_server_and_the_doctor_confirms_when_it_has_caught_up(
    pinot: PinotCluster, store: PropertyStore, ingestion_table: IngestionTable, shared_folder: Path
) -> None:
    table = ingestion_table.create(replication=2)
    table.register(shared_folder, "csv", consistentPushEnabled="true", minServingReplicas="1")
    write_numbers(shared_folder, "first.csv", 0, ROWS)
    assert table.run().report["servers_behind"] == {}
    assert _faults(table) == []
    with _without(pinot, "server_2", store) as dead:
        write_numbers(shared_folder, "second.csv", ROWS, ROWS)
        ran = table.run()
        assert ran.report["servers_behind"] == {dead: 1}
        assert f"{dead} lacks 1 of 1 new segments" in ran.err
        table.wait_count(2 * ROWS)
        session = SessionStore(store, table.with_type).latest()
        assert session is not None
        assert session.behind == ((dead, 1),)
        findings = _faults(table)
        assert {each["finding"] for each in findings} == {"BEHIND"}
        assert all(dead in each["explanation"] for each in findings)
    wait_for(lambda: _faults(table) == [], "the server to catch up", _TIMEOUT_S)
    table.wait_count(2 * ROWS)
