"""Whether a server can continue after messages of the updates topic that were deleted before it read them.

Each version's events and its end are in the topic in the order of versions, and a row's events come after the
row was read. So the events of all rows from the end of a version on come after that version's end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller_client.errors import SourceError
from controller_client.upsert.generation import Generation

__all__ = ["Hole", "first_whole_version", "lost"]


@dataclass(frozen=True)
class Hole:
    """Messages of a partition that no longer exist.

    Attributes:
        expected: Offset of the message that would have been read next.
        first: Offset of the first message that exists; less than ``expected`` if it is another topic.
        version: Its version: of later versions, no message was deleted.
        row: Offset in the input topic: of the events about this row and later ones, none was deleted.
    """

    expected: int
    first: int
    version: int
    row: int


def first_whole_version(
    partition: int, hole: Hole, floors: Mapping[int, int], generation: Generation | None
) -> int | None:
    """Return the first version that is complete after a hole; None if rows of the table lack events.

    Args:
        partition: The partition.
        hole: The messages that were deleted.
        floors: By input partition, the offset of the first row that the table can have.
        generation: The generation of the coordinator's state.
    """
    since = generation.since if generation else 0
    if hole.first < hole.expected:
        return None
    if hole.version < since:
        return since  # what was deleted belongs to an earlier table with this name
    if hole.row <= floors.get(partition, 0):
        return since  # Pinot has deleted the rows as well
    if (
        generation is not None
        and generation.resent_from is not None
        and generation.resent_from > hole.version
        and all(begin <= floors.get(each, 0) for each, begin in generation.begins.items())
    ):
        return generation.base  # by then, the coordinator has sent the events of all rows again
    return None


def lost(table: str, partition: int, hole: Hole, floors: Mapping[int, int]) -> SourceError:
    """Return the error of a hole after which no version is complete; arguments as above."""
    where = f"the updates topic of {table}, partition {partition}"
    if hole.first < hole.expected:
        return SourceError(
            f"{where}, starts at offset {hole.first}, but this server has already read it up to "
            f"{hole.expected}: it was probably deleted and created again. Its messages are not applied",
            where=where,
            remedy="delete the table and create it again",
        )
    return SourceError(
        f"{where}: messages {hole.expected} to {hole.first - 1} were deleted before this server read them. "
        f"They may contain events of the rows {floors.get(partition, 0)} to {hole.row - 1}, so no later "
        "version becomes complete here",
        where=where,
        expected="all messages about rows that the table still has",
        remedy=f"run 'pinotctl upsert rebuild {table}': the coordinator sends the events of all rows again "
        "that are in the input topic. If the input topic no longer has these rows, delete their segments. "
        "The server then continues by itself, also when Pinot's retention has deleted the segments",
    )
