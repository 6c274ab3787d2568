"""The segment lineage: which segments replace which (SegmentLineage, Pinot's replacement protocol).

An entry goes IN_PROGRESS -> COMPLETED or REVERTED. Brokers hide ``segmentsTo`` unless the entry is
COMPLETED, and hide ``segmentsFrom`` when it is; so ending an entry swaps at once. These are the bare calls;
:class:`controller_client.publishing.replacement.SegmentReplacement` is the protocol with its faults.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence, Set

from controller_client.common.names import TableName
from controller_client.errors import ConfigError, ConflictError
from controller_client.rest.capabilities import Capabilities, Capability
from controller_client.rest.lineage_entry import LineageEntry, LineageState, parse_lineage
from controller_client.rest.segments import SegmentsApi
from controller_client.rest.transport import Transport, path_of

__all__ = ["LineageApi", "LineageEntry", "LineageState"]

# endReplaceSegments waits inside the call for the segments to be online.
_END_TIMEOUT_S = 120.0
_START_TIMEOUT_S = 60.0


class LineageApi:
    """Resource group of the replacement calls under ``/segments/{table}``; names with type."""

    def __init__(
        self, transport: Transport, segments: SegmentsApi, capabilities: Callable[[], Capabilities]
    ) -> None:
        self._transport = transport
        self._segments = segments
        self._capabilities = capabilities

    def start(self, table: str, segments_from: Sequence[str], segments_to: Sequence[str]) -> str:
        """Open an entry.

        The conditions that Pinot checks are checked before, because its own answer to some of them is one
        text for everything. ``forceCleanup`` is never used: it blocks for up to 20 minutes.

        Args:
            table: Table.
            segments_from: What is replaced; may be empty.
            segments_to: What comes instead, under names that the table has not.

        Returns:
            The entry's id.

        Raises:
            ConfigError: Both lists are empty, a name is listed twice or in both.
            UnsupportedError: ``segments_to`` is empty and the version refuses that.
            ConflictError: A segment to replace is missing or replaced already, a new name is taken or was
                used by a reverted entry, another entry holds one of them; nothing was applied.
            OutcomeUnknownError: The reply was lost, or Pinot's answer is ambiguous: read the lineage.
        """
        self.check_start(table, segments_from, segments_to)
        response = self._transport.request(
            "POST",
            self._path(table, "startReplaceSegments"),
            params={"type": TableName(table).type, "forceCleanup": "false"},
            json={"segmentsFrom": list(segments_from), "segmentsTo": list(segments_to)},
            read_timeout_s=_START_TIMEOUT_S,
        )
        entry_id: str = self._transport.json_of(response)["segmentLineageEntryId"]
        return entry_id

    def end(self, table: str, entry_id: str) -> None:
        """Complete an entry: from now on brokers see ``segmentsTo``. Completing it twice is no error.

        Pinot waits inside the call until the segments are online: wait for that before.

        Raises:
            NotFoundError: There is no such table.
            OutcomeUnknownError: The reply was lost, or Pinot's answer is ambiguous (it answers a refusal, a
                time-out and a fault after the write with the same text): read the lineage.
        """
        self._change(table, "endReplaceSegments", entry_id, {})

    def revert(self, table: str, entry_id: str, force: bool = False) -> None:
        """Undo an entry; Pinot then deletes ``segmentsTo``.

        Args:
            table: Table.
            entry_id: Entry.
            force: Needed for an entry that is IN_PROGRESS.

        Raises:
            NotFoundError: There is no such table.
            OutcomeUnknownError: As of :meth:`end`.
        """
        self._change(table, "revertReplaceSegments", entry_id, {"forceRevert": str(force).lower()})

    def check_start(self, table: str, segments_from: Sequence[str], segments_to: Sequence[str]) -> None:
        """Check what :meth:`start` needs, without changing anything; errors as there."""
        check_lists(segments_from, segments_to)
        if not segments_to:
            self._capabilities().require(
                Capability.EMPTY_SEGMENTS_TO, remedy="replace them with one segment without rows"
            )
        visible = set(self._segments.list(table, exclude_replaced=True))
        missing = sorted(set(segments_from) - visible)
        if missing:
            raise ConflictError(
                f"{len(missing)} segments to be replaced are not visible in {table}: {missing}",
                expected="segmentsFrom out of the list without replaced segments",
                where=table,
                remedy="list the segments again: they were replaced or deleted meanwhile",
            )
        taken = sorted(set(segments_to) & set(self._segments.list(table, exclude_replaced=False)))
        if taken:
            raise ConflictError(
                f"{len(taken)} new segments have names that {table} has already: {taken}",
                where=table,
                remedy="choose other names, or let the doctor clean up what an earlier run left",
            )
        old, new = frozenset(segments_from), frozenset(segments_to)
        for entry in self.list(table):
            check_against(entry, table, old, new)

    def list(self, table: str) -> list[LineageEntry]:
        """Return the entries, oldest first; none when the table never had one.

        Raises:
            NotFoundError: There is no such table.
        """
        self._capabilities().require(Capability.LIST_LINEAGE)
        table_type = TableName(table).type
        return parse_lineage(
            self._transport.get_json(self._path(table, "lineage"), params={"type": table_type})
        )

    def _change(self, table: str, call: str, entry_id: str, params: dict[str, str | None]) -> None:
        self._transport.request(
            "POST",
            self._path(table, call),
            params={
                "type": TableName(table).type,
                "segmentLineageEntryId": entry_id,
                **params,
            },
            read_timeout_s=_END_TIMEOUT_S,
        )

    @staticmethod
    def _path(table: str, call: str) -> str:
        return path_of("segments", TableName(table).raw, call)


def check_lists(segments_from: Sequence[str], segments_to: Sequence[str]) -> None:
    """Check the two lists of a replacement against each other.

    Raises:
        ConfigError: Both are empty, a name is listed twice or in both.
    """
    if not segments_from and not segments_to:
        raise ConfigError(
            "segmentsFrom and segmentsTo are both empty", expected="a segment in one of the two lists"
        )
    for name, segments in (("segmentsFrom", segments_from), ("segmentsTo", segments_to)):
        twice = sorted(name for name, count in Counter(segments).items() if count > 1)
        if twice:
            raise ConfigError(f"{name} lists segments twice: {twice}")
    both = sorted(set(segments_from) & set(segments_to))
    if both:
        raise ConfigError(
            f"segments are to be replaced by themselves: {both}", remedy="choose other names for the new ones"
        )


def check_against(entry: LineageEntry, table: str, segments_from: Set[str], segments_to: Set[str]) -> None:
    """Check the segments of a new replacement against an entry of the lineage.

    Raises:
        ConflictError: The entry holds one of the segments, or would hide a new one.
    """
    # Brokers, and the list without replaced segments, leave out the segmentsTo of each entry that is not
    # COMPLETED and the segmentsFrom of each that is, whatever another entry does with the same names.
    # Pinot takes the names of a reverted entry again, completes the new one, and nobody sees the segments.
    hides = entry.segments_to if entry.state is LineageState.REVERTED else entry.segments_from
    used_up = sorted({name for name in hides if name in segments_to})
    if used_up:
        raise ConflictError(
            f"lineage entry {entry.entry_id} ({entry.state}) of {table} has already used names of"
            f" new segments, so queries would never see them: {used_up}",
            where=table,
            remedy="choose other names",
        )
    shared = {name for name in entry.segments_from if name in segments_from}
    shared |= {name for name in entry.segments_to if name in segments_to}
    if entry.live and shared:
        raise ConflictError(
            f"lineage entry {entry.entry_id} ({entry.state}) of {table} already replaces or adds "
            f"{sorted(shared)}",
            where=table,
            remedy="wait until it is completed, or revert it if its owner is gone",
        )
