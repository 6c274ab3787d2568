"""An upsert table read with ``format("pinot")``: the rows of one version, with each way of reading."""

from __future__ import annotations

import pytest

from controller_client.upsert.columns import SYSTEM_COLUMNS
from tests.integration.spark_connectors.conftest import Connector, ConnectorError
from tests.integration.upsert.server.conftest import MakeUpsertTable, make_upsert_table
from tests.integration.upsert.server.upsert_table import UpsertTable

__all__ = ["make_upsert_table"]

_WAYS = ("servers", "broker", "query")


def test_the_rows_of_a_version(connector: Connector, make_upsert_table: MakeUpsertTable) -> None:
    table = make_upsert_table(rows_per_segment=30)
    for step in range(3):
        for partition in (0, 1):
            table.produce(partition, [f"k{(5 * step + 3 * partition + number) % 20}" for number in range(12)])
        version = table.model.coordinate()
        table.wait_checked(version)
    table.wait_sealed(2)
    table.wait_checked(table.model.coordinate())
    newest, everything = table.mark(), len(table.all_rows())
    assert len(table.model.visible[newest]) < len(table.model.visible[1]) + everything

    now, then = (sorted(table.model.visible[version]) for version in (newest, 1))
    for way in _WAYS:
        assert _rows(connector, table, way) == now, way
        assert _rows(connector, table, way, filter="part = 1") == [row for row in now if row[0] == 1], way
        assert _rows(connector, table, way, asOfVersion="1") == then, way
        assert _rows(connector, table, way, queryOptions="asOfVersion=1") == then, way
        assert _rows(connector, table, way, asOfTimestamp=str(2**42)) == now, way
        assert len(_rows(connector, table, way, skipUpsert="true")) == everything, way
        with pytest.raises(ConnectorError, match="not complete on all servers yet"):
            _rows(connector, table, way, asOfVersion="1000")

    options = {"controller": table.pinot.controller_url, "table": table.name}
    rows = connector.read(options)
    assert (len(rows), sorted(rows[0])) == (len(now), ["key", "part", "ts", "value"])
    assert [*connector.read(options, columns=",".join(SYSTEM_COLUMNS))[0]] == list(SYSTEM_COLUMNS)
    with pytest.raises(ConnectorError, match="do not record which rows are replaced"):
        connector.read(options, readFrom="segments")


def _rows(connector: Connector, table: UpsertTable, way: str, **options: str) -> list[tuple[int, int]]:
    """Return partition and offset of the rows, sorted."""
    place = {"controller": table.pinot.controller_url, "table": table.name}
    if way == "query":
        condition = f"where {options.pop('filter')}" if "filter" in options else ""
        sql = f'select part, "$kafkaOffset" from {table.name} {condition} limit 100000'
        rows = connector.read(place, query=sql, **options)
    else:
        rows = connector.read(place, readFrom=way, columns="part,$kafkaOffset", **options)
    return sorted((row["part"], row["$kafkaOffset"]) for row in rows)
