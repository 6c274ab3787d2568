"""Identifies which incarnation of a table currently has a name."""

from __future__ import annotations

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from controller_client.errors import ConflictError, NotFoundError, SourceError
from controller_client.helix.table_config import table_config_path
from controller_client.stream.config import StreamConfig
from controller_client.stream.offsets import client_settings
from controller_client.upsert.generation import Generation, Incarnation
from controller_client.zookeeper import PropertyStore
from key_coordinator.plan import KeyedTable

__all__ = ["check_incarnation", "incarnation_of", "topic_id"]

_TIMEOUT_S = 30.0


def incarnation_of(store: PropertyStore, plan: KeyedTable) -> Incarnation:
    """Read the table's current incarnation.

    Raises:
        NotFoundError: There is no such table.
        SourceError: Kafka does not answer, or has no such topic.
        UnreachableError: ZooKeeper does not answer.
    """
    order = store.creation_order(table_config_path(plan.table))
    if order is None:
        raise NotFoundError(f"the table {plan.table} does not exist", where=store.cluster_name)
    return Incarnation(order, topic_id(plan.stream), plan.fingerprint())


def topic_id(stream: StreamConfig) -> str:
    """Return Kafka's id of a table's input topic; empty if Kafka returns none.

    Raises:
        SourceError: Kafka does not answer, or has no such topic.
    """
    admin = AdminClient({**client_settings(stream.values), "log_level": 0})
    try:
        asked = admin.describe_topics(TopicCollection([stream.topic]), request_timeout=_TIMEOUT_S)
        found = asked[stream.topic].result(_TIMEOUT_S * 2)
    except KafkaException as error:
        raise SourceError(
            f"Kafka did not describe the topic {stream.topic}: {error.args[0].str()}",
            where=stream.values.get("stream.kafka.broker.list", ""),
            remedy="check that the topic exists and that this machine can reach Kafka",
        ) from error
    return "" if found.topic_id is None else str(found.topic_id)


def check_incarnation(plan: KeyedTable, generation: Generation, present: Incarnation) -> None:
    """Check that a generation belongs to the current table, or to one that no longer exists.

    Raises:
        ConflictError: It is the same table with another topic or other keys: rows are identified by their
            offsets in the topic, and the keys decided which of them are visible.
    """
    of = generation.incarnation
    if of is None or of.table != present.table:
        return
    if of.topic != present.topic:
        raise ConflictError(
            f"the topic {plan.stream.topic} was deleted and recreated: the offsets of {plan.table}'s rows "
            "now refer to other messages",
            where=plan.table,
            expected=f"the topic with the id {of.topic}, not {present.topic}",
            remedy="drop the table with 'pinotctl upsert drop' and create it again",
        )
    if of.rules != present.rules:
        raise ConflictError(
            f"the key, timestamp, order or topic of {plan.table} has changed since its coordinator started: "
            "the existing versions of its rows depend on the old ones",
            where=plan.table,
            remedy="restore them, or create a new table that reads the topic from its beginning",
        )
