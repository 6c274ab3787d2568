"""A dead server: the rows of the other replica or an error, but never fewer rows."""

from __future__ import annotations

import pytest

from controller_client.filestore import open_store
from tests.integration.spark_connectors.conftest import (
    ID_COLUMN,
    IDS_ALONE,
    Connector,
    ConnectorError,
    MakeTable,
    SparkTable,
    with_ids,
)
from tests.support.cluster import PinotCluster
from tests.support.scheduling import DISTURBS
from tests.support.wait import wait_for

pytestmark = pytest.mark.cluster

COUNT, SEGMENTS = 200, 10


@DISTURBS
def test_a_server_is_killed(connector: Connector, make_table: MakeTable, pinot: PinotCluster) -> None:
    twice, once = make_table(IDS_ALONE, segmentsConfig={"replication": "2"}), make_table(IDS_ALONE)
    for table in (twice, once):
        rows = with_ids(range(COUNT))
        connector.write(table.options, "append", ID_COLUMN, rows, maxNumRecordsPerSegment="20")
        table.wait_rows("count(*), sum(id)", [COUNT, float(sum(range(COUNT)))])

    def ids(table: SparkTable, **options: str) -> list[int]:
        return sorted(row["id"] for row in connector.read(table.options, **options))

    assert len(set(_serving(once).values())) == 2, "the segments should be on both servers"
    pinot.kill("server_1")
    try:
        # Immediately, while the cluster still considers the server live, and later.
        assert ids(twice) == [*range(COUNT)]
        with pytest.raises(ConnectorError, match=r"no server returned segment|not served by any server"):
            ids(once)
        wait_for(lambda: len(set(_serving(once).values())) == 1, "the cluster to notice that it is gone")
        assert ids(twice) == [*range(COUNT)]
        with pytest.raises(ConnectorError, match="not served by any server"):
            ids(once)
        assert ids(once, readFrom="segments") == [*range(COUNT)]
    finally:
        pinot.start("server_1")
    wait_for(lambda: len(_serving(once)) == SEGMENTS, "all segments to be served again")
    # Without the tar files, servers send their segments to readers as to other servers.
    assert open_store(pinot.deep_store_uri, {}).delete_tree(f"{pinot.deep_store_uri}/{once.name}") > 0
    assert ids(once, readFrom="segments") == [*range(COUNT)]


def _serving(table: SparkTable) -> dict[str, str]:
    """Return the server of each segment that is served."""
    view = table.client.tables.external_view(table.typed)
    return {
        segment: server
        for segment, states in view.items()
        for server, state in states.items()
        if state == "ONLINE"
    }
