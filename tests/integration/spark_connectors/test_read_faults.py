"""A dead server: the rows of the other replica or an error, but never fewer rows."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from controller_client.filestore import open_store
from tests.integration.spark_connectors.conftest import MakeTable, SparkTable
from tests.support.cluster import PinotCluster
from tests.support.scheduling import DISTURBS
from tests.support.wait import wait_for

pytestmark = pytest.mark.cluster

SCHEMA = {"dimensionFieldSpecs": [{"name": "id", "dataType": "LONG"}]}


@DISTURBS
def test_a_server_is_killed(spark: SparkSession, make_table: MakeTable, pinot: PinotCluster) -> None:
    twice = make_table(SCHEMA, segmentsConfig={"replication": "2"})
    once = make_table(SCHEMA)
    for table in (twice, once):
        table.write(spark.range(0, 1000, 1, 2).toDF("id"), "append", maxNumRecordsPerSegment="100")
        table.wait_rows("count(*), sum(id)", [1000, 499500.0])

    def ids(table: SparkTable, **options: str) -> list[int]:
        read = spark.read.format("pinot").options(**table.options, **options).load()
        return sorted(row.id for row in read.collect())

    assert len(_servers(once)) == 2, "the segments should be on both servers"
    pinot.kill("server_1")
    try:
        # Immediately, while the cluster still considers the server live, and later.
        assert ids(twice) == list(range(1000))
        with pytest.raises(PySparkException, match=r"no server returned segment|not served by any server"):
            ids(once)
        wait_for(lambda: len(_servers(once)) == 1, "the cluster to notice that the server is gone")
        assert ids(twice) == list(range(1000))
        with pytest.raises(PySparkException, match="not served by any server"):
            ids(once)
        assert ids(once, readFrom="segments") == list(range(1000))
    finally:
        pinot.start("server_1")
    wait_for(lambda: len(_servers(once)) == 2, "the server to serve again")
    # Without the tar files, servers send their segments to readers as to other servers.
    assert open_store(pinot.deep_store_uri, {}).delete_tree(f"{pinot.deep_store_uri}/{once.name}") > 0
    assert ids(once, readFrom="segments") == list(range(1000))


def _servers(table: SparkTable) -> set[str]:
    view = table.client.tables.external_view(table.typed)
    return {server for states in view.values() for server, state in states.items() if state == "ONLINE"}
