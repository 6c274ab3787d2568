"""Tables with several topics (Pinot 1.4 and later): maps a table's partitions to those of its topics.

Pinot numbers the partitions of such a table consecutively: partition ``p`` of the topic with index ``i`` in
the table's stream configs is partition ``i * 10000 + p`` of the table. A table with one topic uses the
topic's own numbers, however large.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from controller_client.stream.config import StreamConfig
from controller_client.stream.offsets import OffsetRange, StreamOffsets, open_offsets

__all__ = ["TopicPartition", "may_have_topics", "open_table_offsets", "topic_index", "topic_partition"]

_PADDING = 10_000


@dataclass(frozen=True)
class TopicPartition:
    """A partition of one of a table's topics.

    Attributes:
        topic: The topic's name.
        partition: Its number in that topic.
    """

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"partition {self.partition} of {self.topic}"


def may_have_topics(partitions: Iterable[int]) -> bool:
    """Return whether a table with these partitions may have several topics."""
    return any(each >= _PADDING for each in partitions)


def topic_partition(streams: Sequence[StreamConfig], partition: int) -> TopicPartition | None:
    """Return the topic's partition of a table's partition; None if the table's config has no such topic.

    Args:
        streams: All of the table's stream configs.
        partition: Pinot's number of it.
    """
    if len(streams) == 1:
        return TopicPartition(streams[0].topic, partition)
    index, number = topic_index(partition), partition % _PADDING
    return TopicPartition(streams[index].topic, number) if index < len(streams) else None


def topic_index(partition: int) -> int:
    """Return the index of a partition's topic, in a table with several topics."""
    return partition // _PADDING


class _OffsetsOfTopics:
    """Reads the offsets of several topics, by partition of the table."""

    def __init__(self, topics: Sequence[StreamOffsets]) -> None:
        self._topics = topics

    def read(self) -> Mapping[int, OffsetRange]:
        """See :class:`StreamOffsets`."""
        return {
            index * _PADDING + partition: offsets
            for index, topic in enumerate(self._topics)
            for partition, offsets in topic.read().items()
        }


def open_table_offsets(streams: Sequence[StreamConfig]) -> StreamOffsets:
    """Return a reader for the offsets of all topics of a table, by partition of the table.

    Raises:
        StreamUnknownError: Those of a topic cannot be read; the message explains why.
    """
    topics = [open_offsets(each) for each in streams]
    return topics[0] if len(topics) == 1 else _OffsetsOfTopics(topics)
