"""Stock servers load segments built by columns, and answer queries from each of their indexes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, tzinfo
from functools import partial
from pathlib import Path

import pytest

from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.errors import PinotPluginError, RejectedError
from controller_client.models import Schema, TableConfig
from tests.contract.random_tables import random_table
from tests.contract.segment_child import SegmentChild
from tests.integration.jvm_bridge.served.checks import Checks, ServedTable
from tests.integration.jvm_bridge.served.questions import KINDS
from tests.integration.jvm_bridge.served.stored_rows import stored_columns
from tests.support.cluster import PinotCluster
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.jvm]

_EACH_RUN, _FULL, _AT_ONCE = 12, 400, 12
_FARTHEST = 4_000


def _is_whole(broker: BrokerClient, table: ServedTable) -> bool:
    result = broker.query(f"SELECT COUNT(*) FROM {table.name}")
    return bool(result.rows) and result.scalar() == table.random_table.rows.num_rows


@pytest.fixture
def builder(tmp_path: Path) -> Iterator[SegmentChild]:
    with SegmentChild(tmp_path) as running:
        yield running


@pytest.fixture
def client(pinot: PinotCluster) -> Iterator[ControllerClient]:
    with pinot.client() as client:
        yield client


def _served(
    client: ControllerClient, builder: SegmentChild, prefix: str, first: int, count: int
) -> Iterator[ServedTable]:
    """Create random tables with segments that are being loaded.

    These are a number of consecutive tables, and later ones with kinds of indexes that are still missing.
    """
    pushed, refused, missing = 0, Counter[str](), set(KINDS)
    for number in range(first, first + _FARTHEST):
        if number >= first + count and not missing:
            break
        random = random_table(number, of_pinot_1=builder.features["is_pinot_1"])
        columns = stored_columns(random, replaces_special_values=builder.features["special_values"])
        table = ServedTable(f"{prefix}_{number}", number, random, columns)
        if number >= first + count and missing.isdisjoint(table.kinds):
            continue
        refusal = _push(client, builder, table)
        if refusal:
            refused[refusal] += 1
        else:
            pushed += 1
            missing -= table.kinds
            yield table
    assert not missing
    # Of few tables, by chance up to half are refused.
    assert refused.total() < pushed / (2 if count == _FULL else 1), refused


def _push(client: ControllerClient, builder: SegmentChild, table: ServedTable) -> str | None:
    """Create a table and upload its segment; return who rejects it, or None."""
    config = {**table.random_table.config, "tableName": f"{table.name}_OFFLINE"}
    schema = {**table.random_table.schema, "schemaName": table.name}
    built = builder.build(config, schema, table.random_table.rows, "arrow", name=f"{table.name}_0")
    if "error" in built:
        return "the builder"
    client.schemas.create(Schema.from_json(schema))
    try:
        client.tables.create(TableConfig.from_json(config))
    except RejectedError:
        return "the controller"
    client.segments.upload_tar(f"{table.name}_OFFLINE", Path(built["tar"]))
    return None


def test_random_tables(
    pinot: PinotCluster,
    client: ControllerClient,
    unique_table: str,
    builder: SegmentChild,
    full: bool,
    random_seed: int,
) -> None:
    zone = UTC if pinot.backend == "containers" else None
    tables = _served(client, builder, unique_table, random_seed * _FULL, _FULL if full else _EACH_RUN)
    live: list[ServedTable] = []

    def check_and_drop() -> None:
        for table in live:
            _check(broker, table, zone)
        _drop(client, live)

    with pinot.broker() as broker:
        try:
            for table in tables:
                live.append(table)
                # Helix works through all tables at each change: with hundreds, other tests wait for it.
                if len(live) == _AT_ONCE:
                    check_and_drop()
            check_and_drop()
        finally:
            _drop(client, live)


def _drop(client: ControllerClient, tables: list[ServedTable]) -> None:
    while tables:
        with suppress(PinotPluginError):
            client.tables.delete(f"{tables.pop().name}_OFFLINE")


def _check(broker: BrokerClient, table: ServedTable, zone: tzinfo | None) -> None:
    wait_for(partial(_is_whole, broker, table), f"table {table.number} to be served")
    checks = Checks(broker, table, zone)
    checks.rows()
    checks.statistics()
    checks.star_tree()
    for each in table.filters:
        checks.rows(each)
