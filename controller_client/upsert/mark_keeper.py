"""Chooses the version for queries of an upsert table, and the segments that a result must cover."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from controller_client.common.names import TableName
from controller_client.errors import NotFoundError
from controller_client.helix import read_records_at
from controller_client.helix.ideal_state import read_ideal_state
from controller_client.upsert.columns import NIL
from controller_client.upsert.low_water_mark import NoMarkError, TableMark
from controller_client.zookeeper import PropertyStore, segment_path

__all__ = ["Answerable", "MarkKeeper", "read_wanted", "shown_names", "with_rows"]

_SERVED = frozenset({"ONLINE", "CONSUMING"})
_SHOWN = 5


@dataclass(frozen=True)
class Answerable:
    """A version that a broker can answer queries at.

    Attributes:
        version: The version.
        segments: Segments that a result must cover, or else rows are missing. Brokers skip segments that no
            server has, often without reporting it.
    """

    version: int
    segments: frozenset[str]


class MarkKeeper:
    """Keeps the version that a table's queries are answered at; not thread-safe.

    The version advances only when the broker queries every segment that the table should have, because only
    then does the result contain all of the version's rows. A new segment is queried a moment after it
    appears; until then the version stays. It also stays while a server has not reported. If the table is
    replaced by another of the same name, the version is discarded, because the new table has versions of its
    own.

    Args:
        by_option: See :meth:`TableMark.check_asked`.
    """

    def __init__(self, *, by_option: bool | None = None) -> None:
        self._by_option = by_option
        self._kept: Answerable | None = None
        self._created: int | None = None

    def take(
        self,
        mark: TableMark,
        segments: frozenset[str],
        unrouted: Callable[[frozenset[str]], Collection[str]],
        with_rows: Callable[[Collection[str]], Collection[str]],
    ) -> Answerable:
        """Return the version to answer at.

        Args:
            mark: The mark read just now.
            segments: The segments that servers should have, read after the mark.
            unrouted: Returns those of some segments that the broker does not query.
            with_rows: Returns those of some segments that may have rows; brokers may skip the others.

        Raises:
            NoMarkError: There is no version, and there was none before; or servers expect versions in another
                form.
        """
        mark.check_asked(by_option=self._by_option)
        if mark.created != self._created:
            self._kept, self._created = None, mark.created
        kept = self._kept
        if kept is None:
            mark.required()
        version = kept.version if kept and mark.version == NIL else mark.version
        needed = segments | mark.segments
        outside = frozenset(unrouted(needed))
        missing = frozenset(with_rows(outside)) if outside else outside
        if missing and kept is None:
            raise NoMarkError(
                f"a broker does not query {shown_names(missing)} of {mark.table}",
                where=mark.table,
                remedy="query again in a moment: brokers pick up new segments automatically; if the error "
                "persists, check that all servers of the table are running",
            )
        if missing and kept:
            # When the kept version was chosen, all its rows were in the segments of that moment.
            self._kept = Answerable(min(version, kept.version), kept.segments & needed)
        else:
            self._kept = Answerable(version, needed - outside)
        return self._kept


def read_wanted(store: PropertyStore, table: TableName) -> frozenset[str]:
    """Return the segments of a table (name with type) that servers should have; empty if there is no table.

    Raises:
        UnreachableError: ZooKeeper does not answer.
    """
    try:
        segments = read_ideal_state(store, table).segments
    except NotFoundError:
        return frozenset()
    return frozenset(name for name, states in segments.items() if not _SERVED.isdisjoint(states.values()))


def with_rows(store: PropertyStore, table: TableName, names: Collection[str]) -> frozenset[str]:
    """Return those of a table's segments that may have rows: all but sealed segments without rows.

    Raises:
        UnreachableError: ZooKeeper does not answer.
    """
    ordered = sorted(names)
    records = read_records_at(
        store, [f"/{store.cluster_name}/PROPERTYSTORE{segment_path(table, name)}" for name in ordered]
    )
    return frozenset(
        name
        for name, record in zip(ordered, records, strict=True)
        if record is None or record.simple_fields.get("segment.total.docs") != "0"
    )


def shown_names(names: Collection[str]) -> str:
    """List some names for a message."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(sorted(names)[:_SHOWN])}{more}"
