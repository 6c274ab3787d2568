"""Segments are sealed, reloaded and moved, and servers die: queries still see the same rows."""

from __future__ import annotations

import random
from collections.abc import Sequence

from controller_client.models import TableConfig
from tests.integration.upsert.server.conftest import MakeUpsertTable
from tests.integration.upsert.server.upsert_table import UpsertTable
from tests.support.needs import Need, inside
from tests.support.pinot_services import HOSTED_TENANT
from tests.support.wait import wait_for

_TIMEOUT_S = 300.0
_SEED = 20
_COMPLETED_TAG = "Completed_OFFLINE"


def _change(table: UpsertTable, chance: random.Random, rows: int = 15) -> int:
    """Replace some keys in both partitions, sometimes with rows that are too old; return the version."""
    for partition in (0, 1):
        keys = [f"k{chance.randrange(60)}" for _ in range(rows)]
        table.produce(partition, keys, ts_step=chance.choice([1, 1, 1, -7]))
    return table.model.coordinate(ends=chance.random() < 0.8)


def _complete(table: UpsertTable) -> int:
    """Make a version with its ends, to have one to wait for."""
    return table.model.coordinate()


def test_segments_are_sealed_reloaded_and_moved(make_upsert_table: MakeUpsertTable, full: bool) -> None:
    chance = random.Random(_SEED)
    table = make_upsert_table(rows_per_segment=50, replicas=1)
    for _ in range(12):
        _change(table, chance)
    table.wait_checked(_complete(table))
    table.wait_sealed(6)
    version = _complete(table)
    table.check(version)
    # Also with other conditions, and at earlier versions.
    for each in (version, version // 2):
        rows = sorted(row for row in table.model.visible[each] if row[0] == 1)
        assert table.visible(each, "part = 1", "value > 0") == rows

    # New files of the same segments contain what was written into the old ones.
    table.ask_controller("POST", f"segments/{table.full_name}/reload")
    for _ in range(3):
        _change(table, chance)
    table.wait_checked(_complete(table))
    table.wait_served()
    table.check(_complete(table))

    # Without a consuming segment, and with sealed segments that have no visible row.
    for count in (5, 0) if full else (0,):
        _change(table, chance, count)
        table.wait_checked(_complete(table))
        table.ask_controller("POST", f"tables/{table.full_name}/pauseConsumption")
        wait_for(lambda: not table.consuming(), "no segment to consume", _TIMEOUT_S)
        table.wait_served()
        table.wait_checked(_complete(table))
        table.ask_controller("POST", f"tables/{table.full_name}/resumeConsumption")
        wait_for(lambda: len(table.consuming()) == 2, "segments to consume", _TIMEOUT_S)
        # Pinot loses a pause that is requested before a server consumes.
        table.wait_served()

    # Each server gets the segments that only the other one had.
    table.set_replicas(2)
    wait_for(
        lambda: all(len(states) == 2 for states in table.segments().values()),
        "two servers for each segment",
        _TIMEOUT_S,
    )
    _change(table, chance)
    table.wait_served()
    table.wait_checked(_complete(table))
    table.check(_complete(table))


def test_completed_segments_move_to_another_server(
    make_upsert_table: MakeUpsertTable, hosted_servers: Sequence[str]
) -> None:
    chance = random.Random(_SEED)
    table = make_upsert_table(rows_per_segment=50, replicas=1)
    for _ in range(8):
        _change(table, chance)
    table.wait_checked(_complete(table))
    table.wait_sealed(4)
    assert {server for states in table.segments().values() for server in states} == set(hosted_servers)

    target = hosted_servers[1]
    instances = table.client.instances
    tags = instances.tags(target)
    instances.set_tags(target, [*tags, _COMPLETED_TAG])
    try:
        config = table.client.tables.get(table.full_name).to_json()
        config["tenants"]["tagOverrideConfig"] = {
            "realtimeConsuming": f"{HOSTED_TENANT}_REALTIME",
            "realtimeCompleted": _COMPLETED_TAG,
        }
        table.client.tables.update(TableConfig.from_json(config))
        for _ in range(2):
            table.run_periodic_task("SegmentRelocator")
            wait_for(lambda: _completed_are_on(table, target), "the segments to be relocated", _TIMEOUT_S)
            table.wait_served()
            # New versions replace rows of segments that were moved, while their partition consumes elsewhere.
            for _ in range(4):
                _change(table, chance)
            # The only replica of a segment that has just been sealed may not be online for a moment.
            table.wait_checked(_complete(table))
            table.wait_served()
            table.wait_checked(_complete(table))
    finally:
        instances.set_tags(target, tags)


def _completed_are_on(table: UpsertTable, server: str) -> bool:
    segments = table.segments()
    return all(set(segments[segment.name]) == {server} for segment in table.sealed())


@inside(Need.PAUSELESS_TABLES)
def test_segments_of_a_pauseless_table_are_sealed_while_versions_come(
    make_upsert_table: MakeUpsertTable,
) -> None:
    chance = random.Random(_SEED)
    table = make_upsert_table(rows_per_segment=50, pauseless=True)
    for _ in range(14):  # each version is visible while a segment is built, or next to a built one
        _change(table, chance)
        table.wait_checked(_complete(table))
    table.wait_sealed(6)
    _change(table, chance)
    table.check(_complete(table))

    table.pinot.kill("hosted_1")
    for _ in range(4):
        _change(table, chance)
    table.pinot.start("hosted_1")
    table.wait_served()
    table.wait_checked(_complete(table))
    table.check(_complete(table))
