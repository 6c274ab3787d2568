"""A table without a store, its move to one, and back to commits through the controller."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.deepstore.conftest import Audit, MakeTable, Run
from tests.integration.deepstore.peer_table import PeerTable
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = [FULL, pytest.mark.cluster, pytest.mark.kafka, pytest.mark.s3]

_SCHEME = "peerSegmentDownloadScheme"


def _config(table: PeerTable) -> dict[str, Any]:
    return table.client.tables.get(table.table).to_json()


def test_servers_only_then_a_store_then_no_peers(make_table: MakeTable, run: Run, audit: Audit) -> None:
    table = make_table(partitions=1)
    table.fill(2)
    segments = set(table.committed())
    assert audit(table.table) == {"no_url": segments}

    run("deepstore", "enable", table.name, "--policy", "servers", "--yes")
    assert _config(table)["metadata"]["customConfigs"]["pinotPlugins.deepStore"] == "servers"
    assert audit(table.table) == {}
    assert audit(table.table, "--min-copies", "3") == {"few_copies": segments}
    assert "Nothing to do" in run("deepstore", "repair", table.name, "--yes").output
    table.fill(1)
    assert audit(table.table) == {}

    # Without peers, segments that only servers have would be lost.
    refused = run("deepstore", "disable", table.name, "--yes", "--output", "json", code=1)
    findings = json.loads(refused.stdout)
    assert any(each["verdict"] == "wrong" and "--policy store" in each["finding"] for each in findings)
    assert _config(table)["segmentsConfig"][_SCHEME] == "http"

    table.open_store()
    run("deepstore", "enable", table.name, "--policy", "store", "--yes")
    assert set(audit(table.table)) == {"no_url"}
    run("deepstore", "repair", table.name, "--yes")
    assert audit(table.table) == {}
    run("deepstore", "disable", table.name, "--read-tars", "--dry-run")
    assert _config(table)["segmentsConfig"][_SCHEME] == "http"
    run("deepstore", "disable", table.name, "--read-tars", "--yes")
    assert _SCHEME not in _config(table)["segmentsConfig"]
    assert "already configured" in run("deepstore", "disable", table.name, "--read-tars", "--yes").output

    # The segment that was started before the change, and the next one.
    table.fill(2)
    run("deepstore", "repair", table.name, "--yes")
    wait_for(lambda: audit(table.table) == {}, f"all segments of {table.name} to be in the store")
