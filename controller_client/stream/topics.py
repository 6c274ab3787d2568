"""Tables of several topics (Pinot 1.4 and later): which partition of which topic a partition of the table is.

Pinot numbers the partitions of such a table through: partition ``p`` of the topic with the index ``i`` among
the table's stream configs is the table's partition ``i * 10000 + p``. In a table of one topic the numbers are
the topic's own, however large.
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
    """Return what a partition of a table is in the stream; None: the table's config has no such topic.

    Args:
        streams: All of the table's stream configs.
        partition: As Pinot numbers it.
    """
    if len(streams) == 1:
        return TopicPartition(streams[0].topic, partition)
    index, number = topic_index(partition), partition % _PADDING
    return TopicPartition(streams[index].topic, number) if index < len(streams) else None


def topic_index(partition: int) -> int:
    """Return the index of a partition's topic, in a table of several topics."""
    return partition // _PADDING


class _OffsetsOfTopics:
    """Reads the offsets of several topics, by the numbers that the table's partitions have."""

    def __init__(self, topics: Sequence[StreamOffsets]) -> None:
        self._topics = topics

    def read(self) -> Mapping[int, OffsetRange]:
        """As of :class:`StreamOffsets`."""
        return {
            index * _PADDING + partition: offsets
            for index, topic in enumerate(self._topics)
            for partition, offsets in topic.read().items()
        }


def open_table_offsets(streams: Sequence[StreamConfig]) -> StreamOffsets:
    """Return what reads the offsets of all topics of a table, by the table's partitions.

    Raises:
        StreamUnknownError: Nothing can, for one of them; the message explains why.
    """
    topics = [open_offsets(each) for each in streams]
    return topics[0] if len(topics) == 1 else _OffsetsOfTopics(topics)
