"""A pause and a recipe of a later release: this one refuses them and leaves the table unchanged."""

from __future__ import annotations

import json

import pytest

from controller_client.consumption.recipes.plan import PLAN_FORMAT
from controller_client.consumption.state.pause_record import PAUSE_FORMAT, plugin_path
from controller_client.helix.ideal_state import read_flags
from controller_client.zookeeper import PropertyStore
from tests.faults.file_ingestion.killing import kill_when
from tests.faults.upgrade.place import assert_refused, pinotctl, znodes
from tests.integration.consumption.conftest import MakeTable
from tests.support.cluster import PinotCluster
from tests.support.releases import THIS, Release
from tests.support.tiers import FULL

pytestmark = [FULL, pytest.mark.cluster, pytest.mark.kafka]


def test_a_pause(
    pinot: PinotCluster, store: PropertyStore, later: Release, make_stream_table: MakeTable
) -> None:
    table = make_stream_table(partitions=1)
    table.produce(10)
    table.wait_rows()
    words = ("consumption", "pause", table.name, "--reason", "maintenance")
    paused = pinotctl(later, pinot, *words)
    assert paused.code == 0, paused
    records, where = plugin_path(table.table, "").rstrip("/"), plugin_path(table.table, "pause")
    before = znodes(store, records)
    for command in ("status", "resume", "pause", "recover"):
        assert_refused(pinotctl(THIS, pinot, "consumption", command, table.name), PAUSE_FORMAT, where)
    assert znodes(store, records) == before
    assert read_flags(store, table.table).table_paused
    table.produce(10)

    shown = pinotctl(later, pinot, "consumption", "status", table.name, "--output", "json")
    (status,) = json.loads(shown.out)
    assert (status["state"], status["paused"][0]["reason"]) == ("paused", "maintenance")
    resumed = pinotctl(later, pinot, "consumption", "resume", table.name)
    assert resumed.code == 0, resumed
    assert store.get(where) is None
    table.wait_rows()


def test_a_recipe(
    pinot: PinotCluster, store: PropertyStore, later: Release, make_stream_table: MakeTable
) -> None:
    table = make_stream_table(partitions=1)
    table.produce(10)
    table.wait_rows()
    where = plugin_path(table.table, "plan")
    drain = ("consumption", "drain", table.name)
    begun = later.start(*drain, "--until", "0=20", controller=pinot.controller_url)
    kill_when(begun, lambda: store.get(where) is not None, "the plan to be written")
    before = znodes(store, where)
    stream = ("consumption", "change-stream", table.name, "--set", "stream.kafka.topic.name=x")
    for words in (drain, (*stream, "--consume-from", "smallest")):
        assert_refused(pinotctl(THIS, pinot, *words), PLAN_FORMAT, where)
    assert znodes(store, where) == before
    assert not read_flags(store, table.table).table_paused

    table.produce(10)
    ended = pinotctl(later, pinot, *drain, "--output", "json")
    assert ended.code == 0, ended
    assert json.loads(ended.out)["ends"] == {"0": 20}
    assert store.get(where) is None
    table.wait_rows()
