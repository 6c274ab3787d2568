"""A table in a database (Pinot 1.2 and later): created, written and read."""

from __future__ import annotations

import uuid

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.rest.capabilities import Capability
from tests.support.cluster import PinotCluster
from tests.support.needs import needs

pytestmark = [pytest.mark.cluster, pytest.mark.jvm]


@needs(Capability.DATABASES, raises=PySparkException, match="containing '.' is not allowed")
def test_a_table_of_a_database(spark: SparkSession, pinot: PinotCluster, client: ControllerClient) -> None:
    name = f"db_{uuid.uuid4().hex[:8]}.t_{uuid.uuid4().hex[:8]}"
    options = {"controller": pinot.controller_url, "table": name}
    try:
        frame = spark.range(10)
        frame.write.format("pinot").mode("append").options(**options, createTable="true").save()
        frame.write.format("pinot").mode("overwrite").options(**options).save()
        assert TableName(f"{name}_OFFLINE") in client.tables.list("OFFLINE")
        assert name in client.schemas.list()
        for way in ("servers", "segments", "broker"):
            read = spark.read.format("pinot").options(**options, readFrom=way, filter="id > 3").load()
            assert sorted(row.id for row in read.collect()) == [4, 5, 6, 7, 8, 9], way
        query = f'select count(*) as n from "{name}" limit 1'
        assert spark.read.format("pinot").options(**options, query=query).load().collect()[0].n == 10
    finally:
        if client.tables.exists(f"{name}_OFFLINE"):
            client.tables.delete(f"{name}_OFFLINE")
        client.schemas.delete(name)
