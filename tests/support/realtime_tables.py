"""Schemas and configs of the realtime tables, with and without upsert, of tests and benchmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controller_client.models import Schema, TableConfig
from controller_client.upsert.creating import UpsertTable, plan_upsert_table
from tests.support.kafka import Kafka

__all__ = ["TRANSACTIONAL", "planned_upsert", "realtime_schema", "realtime_table"]

TRANSACTIONAL = {"stream.kafka.fetch.timeout.millis": "300", "stream.kafka.isolation.level": "read_committed"}
"""Settings of a stream whose consumers read only committed messages, and do not wait long."""


def realtime_schema(
    name: str, dimensions: Mapping[str, str], metrics: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the schema of a table with the time column ``ts``, epoch milliseconds.

    Args:
        name: Name of the schema.
        dimensions: Types of the dimensions, by column.
        metrics: Types of the metrics, by column.
    """
    time = {"name": "ts", "dataType": "LONG", "format": "1:MILLISECONDS:EPOCH"}
    return {
        "schemaName": name,
        "dimensionFieldSpecs": _fields(dimensions),
        "metricFieldSpecs": _fields(metrics or {}),
        "dateTimeFieldSpecs": [{**time, "granularity": "1:MILLISECONDS"}],
    }


def realtime_table(
    name: str,
    kafka: Kafka,
    *,
    rows_per_segment: int = 100_000,
    replicas: int = 1,
    tenant: str | None = None,
    peers: bool = False,
    keeps_all: bool = False,
    pauseless: bool = False,
    further_topics: Sequence[str] = (),
    stream: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the config of a realtime table that reads the topic of the same name, with time column ``ts``.

    Args:
        name: Raw name.
        kafka: The Kafka node.
        rows_per_segment: The number of rows at which a segment is sealed.
        replicas: Number of replicas.
        tenant: Its server tenant; None: the default tenant.
        peers: Whether servers fetch segments from each other.
        keeps_all: Whether it has a retention (10,000 days), which upsert tables need.
        pauseless: Whether the next segment consumes while one is built (Pinot 1.4 and later).
        further_topics: Topics that it reads in addition to the first (Pinot 1.4 and later).
        stream: Further settings of the stream.
    """
    segments = {
        "timeColumnName": "ts",
        "replicasPerPartition": str(replicas),
        "replication": str(replicas),
        "schemaName": name,
    }
    if peers or (pauseless and replicas > 1):  # Pinot requires it for pauseless tables
        segments["peerSegmentDownloadScheme"] = "http"
    if keeps_all:
        segments |= {"retentionTimeUnit": "DAYS", "retentionTimeValue": "10000"}
    plugin = "org.apache.pinot.plugin.stream"
    streams = {
        "streamType": "kafka",
        "stream.kafka.topic.name": name,
        "stream.kafka.broker.list": kafka.bootstrap,
        "stream.kafka.consumer.type": "lowlevel",
        "stream.kafka.consumer.prop.auto.offset.reset": "smallest",
        "stream.kafka.consumer.factory.class.name": f"{plugin}.kafka20.KafkaConsumerFactory",
        "stream.kafka.decoder.class.name": f"{plugin}.kafka.KafkaJSONMessageDecoder",
        "realtime.segment.flush.threshold.rows": str(rows_per_segment),
        **(stream or {}),
    }
    table = {
        "tableName": name,
        "tableType": "REALTIME",
        "segmentsConfig": segments,
        "tenants": {"server": tenant, "broker": "DefaultTenant"} if tenant else {},
        "metadata": {},
    }
    if not pauseless and not further_topics:
        return {**table, "tableIndexConfig": {"streamConfigs": streams}}
    maps = [streams, *({**streams, "stream.kafka.topic.name": topic} for topic in further_topics)]
    ingestion = {"streamConfigMaps": maps, "pauselessConsumptionEnabled": pauseless}
    return {**table, "tableIndexConfig": {}, "ingestionConfig": {"streamIngestionConfig": ingestion}}


def planned_upsert(
    schema: Mapping[str, Any], config: Mapping[str, Any], key: Sequence[str], order: str | None = None
) -> UpsertTable:
    """Plan an upsert table from a schema and a config as above, with rows ordered by ``ts``."""
    return plan_upsert_table(
        Schema.from_json(schema),
        TableConfig.from_json(config),
        primary_key=key,
        timestamp_column="ts",
        order=order,
    )


def _fields(columns: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "dataType": kind} for name, kind in columns.items()]
