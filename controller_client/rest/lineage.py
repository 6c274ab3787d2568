"""The segment lineage: which segments replace which (SegmentLineage, Pinot's replacement protocol).

An entry goes from IN_PROGRESS to COMPLETED or REVERTED. Brokers hide ``segmentsTo`` until the entry is
COMPLETED and ``segmentsFrom`` from then on, so ending an entry swaps the segments atomically. These are the
bare calls; :class:`controller_client.publishing.replacement.SegmentReplacement` implements the protocol with
its faults.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass

from controller_client.common.names import TableName
from controller_client.errors import ConfigError, ConflictError
from controller_client.rest.capabilities import Capabilities, Capability
from controller_client.rest.lineage_entry import LineageEntry, LineageState, read_lineage
from controller_client.rest.paths import path_of
from controller_client.rest.replies import parse_reply
from controller_client.rest.segments import SegmentsApi
from controller_client.rest.transport import Transport

__all__ = ["LineageApi", "LineageEntry", "LineageState", "TableView"]

# endReplaceSegments waits for the segments to be online before it returns.
_END_TIMEOUT_S = 120.0
_START_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class TableView:
    """A table's segments and lineage, read together; a writer reads them once, under the table's lock.

    Attributes:
        entries: The entries of the lineage, oldest first.
        visible: The segments that queries see.
        existing: All segments, also those that the lineage hides.
    """

    entries: tuple[LineageEntry, ...]
    visible: frozenset[str]
    existing: frozenset[str]


class LineageApi:
    """Resource group of the replacement calls under ``/segments/{table}``; table names with type."""

    def __init__(
        self, transport: Transport, segments: SegmentsApi, capabilities: Callable[[], Capabilities]
    ) -> None:
        self._transport = transport
        self._segments = segments
        self._capabilities = capabilities

    def view(self, table: str) -> TableView:
        """Return a table's segments and lineage.

        Raises:
            NotFoundError: There is no such table.
        """
        return TableView(
            tuple(self.list(table)),
            frozenset(self._segments.list(table, exclude_replaced=True)),
            frozenset(self._segments.list(table, exclude_replaced=False)),
        )

    def start(
        self,
        table: str,
        segments_from: Sequence[str],
        segments_to: Sequence[str],
        view: TableView | None = None,
    ) -> str:
        """Open an entry.

        Pinot's conditions are checked here first, because Pinot reports several of them with the same text.
        ``forceCleanup`` is never used: it blocks for up to 20 minutes.

        Args:
            table: Table.
            segments_from: The segments to replace; may be empty.
            segments_to: The new segments, with names that the table does not have yet.
            view: The table as the caller has just read it; default: it is read here.

        Returns:
            The entry's id.

        Raises:
            ConfigError: Both lists are empty, or a name appears twice or in both.
            UnsupportedError: ``segments_to`` is empty and the version refuses that.
            ConflictError: A segment to replace is missing or already replaced, a new name is taken or was
                used by a reverted entry, or another entry contains one of them; nothing was applied.
            OutcomeUnknownError: The reply was lost, or Pinot's response is ambiguous: read the lineage.
        """
        self.check_start(table, segments_from, segments_to, view)
        response = self._transport.request(
            "POST",
            self._path(table, "startReplaceSegments"),
            params={"type": TableName(table).type, "forceCleanup": "false"},
            json={"segmentsFrom": list(segments_from), "segmentsTo": list(segments_to)},
            read_timeout_s=_START_TIMEOUT_S,
        )
        return parse_reply(response, str, key="segmentLineageEntryId", clean=self._transport.clean)

    def end(self, table: str, entry_id: str) -> None:
        """Complete an entry: from now on brokers see ``segmentsTo``. Completing it twice is not an error.

        Pinot waits within the call until the segments are online: wait for that before calling.

        Raises:
            NotFoundError: There is no such table.
            OutcomeUnknownError: The reply was lost, or Pinot's response is ambiguous (it reports a refusal, a
                timeout and a fault after the write with the same text): read the lineage.
        """
        self._change(table, "endReplaceSegments", entry_id, {})

    def revert(self, table: str, entry_id: str, force: bool = False) -> None:
        """Undo an entry; Pinot then deletes ``segmentsTo``.

        Args:
            table: Table.
            entry_id: Entry.
            force: Required for an entry that is IN_PROGRESS.

        Raises:
            NotFoundError: There is no such table.
            OutcomeUnknownError: See :meth:`end`.
        """
        self._change(table, "revertReplaceSegments", entry_id, {"forceRevert": str(force).lower()})

    def check_start(
        self,
        table: str,
        segments_from: Sequence[str],
        segments_to: Sequence[str],
        view: TableView | None = None,
    ) -> None:
        """Check the conditions of :meth:`start` without changing anything; same errors."""
        check_lists(segments_from, segments_to)
        if not segments_to:
            self._capabilities().require(
                Capability.EMPTY_SEGMENTS_TO, remedy="replace them with an empty segment"
            )
        view = view or self.view(table)
        missing = sorted(set(segments_from) - view.visible)
        if missing:
            raise ConflictError(
                f"{len(missing)} segments to replace are not visible in {table}: {missing}",
                expected="segmentsFrom from the list without replaced segments",
                where=table,
                remedy="list the segments again: they were replaced or deleted meanwhile",
            )
        taken = sorted(view.existing.intersection(segments_to))
        if taken:
            raise ConflictError(
                f"{len(taken)} new segments have names that already exist in {table}: {taken}",
                where=table,
                remedy="choose other names, or let the doctor clean up after an earlier run",
            )
        old, new = frozenset(segments_from), frozenset(segments_to)
        for entry in view.entries:
            check_against(entry, table, old, new)

    def list(self, table: str) -> list[LineageEntry]:
        """Return the entries, oldest first; empty if the table never had one.

        Raises:
            NotFoundError: There is no such table.
        """
        self._capabilities().require(Capability.LIST_LINEAGE)
        return read_lineage(self._transport, table)

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
        ConfigError: Both are empty, or a name appears twice or in both.
    """
    if not segments_from and not segments_to:
        raise ConfigError(
            "segmentsFrom and segmentsTo are both empty",
            expected="a segment in at least one of the two lists",
        )
    for name, segments in (("segmentsFrom", segments_from), ("segmentsTo", segments_to)):
        twice = sorted(name for name, count in Counter(segments).items() if count > 1)
        if twice:
            raise ConfigError(f"{name} lists segments twice: {twice}")
    both = sorted(set(segments_from) & set(segments_to))
    if both:
        raise ConfigError(
            f"segments cannot be replaced by themselves: {both}", remedy="choose other names for the new ones"
        )


def check_against(entry: LineageEntry, table: str, segments_from: Set[str], segments_to: Set[str]) -> None:
    """Check the segments of a new replacement against an entry of the lineage.

    Raises:
        ConflictError: The entry contains one of the segments, or would hide a new one.
    """
    # Brokers, and the list without replaced segments, hide the segmentsTo of each entry that is not COMPLETED
    # and the segmentsFrom of each that is, whatever other entries do with the same names. Pinot accepts the
    # names of a reverted entry again and completes the new entry, but its segments are never visible.
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
            remedy="wait until it is completed, or revert it if its owner no longer exists",
        )
