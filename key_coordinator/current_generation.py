"""Which generation of state a coordinator works on, and which incarnation of the table it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from controller_client.errors import ConflictError, NotFoundError, SourceError
from controller_client.helix.table_config import table_config_path
from controller_client.stream.config import StreamConfig
from controller_client.stream.offsets import client_settings, open_offsets
from controller_client.upsert.generation import (
    Generation,
    Incarnation,
    following,
    new_folder,
    read_generation,
    read_request,
    why_new,
)
from controller_client.zookeeper import PropertyStore
from controller_client.zookeeper.cluster_id import cluster_id
from key_coordinator.plan import KeyedTable

__all__ = ["CurrentGeneration", "current_generation", "incarnation_of", "topic_id"]

_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class CurrentGeneration:
    """The generation to work on.

    Attributes:
        generation: The current one, or the next one, which is not written yet.
        previous: The one that the next one follows, if any; None if the current one continues.
        reason: Why there is a next one; None if the current one continues.
    """

    generation: Generation
    previous: Generation | None = None
    reason: str | None = None


def current_generation(
    store: PropertyStore,
    plan: KeyedTable,
    engine: str,
    newest: int,
    flaw_of: Callable[[Generation], str | None],
    *,
    meets_requests: bool,
    partitions: int = 0,
    buckets: int = 0,
) -> CurrentGeneration:
    """Return the current generation, or the next one if the current one cannot continue.

    Args:
        store: The cluster's ZooKeeper.
        plan: The table.
        engine: The engine that asks.
        newest: The newest version sent by any generation; ``NIL`` for none.
        flaw_of: Returns why the engine cannot continue a generation; None if it can.
        meets_requests: Whether a requested generation begins here; otherwise, the engine builds it beside the
            current one.
        partitions: For the engine's first generation, unless a request says otherwise.
        buckets: Also for the first generation.

    Raises:
        ConflictError: The table has another topic or other keys than its current generation.
        NotFoundError: There is no such table.
        SourceError: Kafka does not answer, or has no such topic.
        UnreachableError: ZooKeeper does not answer.
    """
    now = read_generation(store, plan.table)
    present = incarnation_of(store, plan)
    if now is not None:
        _check_incarnation(plan, now, present)
    request = read_request(store, plan.table)
    reason = why_new(now, engine, request if meets_requests else None, present)
    if reason is None and now is not None:
        reason = flaw_of(now)
        if reason is None:
            return CurrentGeneration(now)
    generation = following(
        now,
        request,
        newest,
        open_offsets(plan.stream).read(),
        engine=engine,
        incarnation=present,
        folder=new_folder(cluster_id(store)),
        partitions=partitions,
        buckets=buckets,
    )
    return CurrentGeneration(generation, now, reason)


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
        description = asked[stream.topic].result(_TIMEOUT_S * 2)
    except KafkaException as error:
        raise SourceError(
            f"Kafka did not describe the topic {stream.topic}: {error.args[0].str()}",
            where=stream.values.get("stream.kafka.broker.list", ""),
            remedy="check that the topic exists and that this machine can reach Kafka",
        ) from error
    return "" if description.topic_id is None else str(description.topic_id)


def _check_incarnation(plan: KeyedTable, generation: Generation, present: Incarnation) -> None:
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
