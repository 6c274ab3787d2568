"""The version at which queries of an upsert table are answered, and the segments that an answer needs."""

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
    """What a broker can answer at.

    Attributes:
        version: The version.
        segments: An answer counts only if all of these were asked: else rows are missing. Brokers answer
            without segments that no server has, in many cases without a word.
    """

    version: int
    segments: frozenset[str]


class MarkKeeper:
    """What a table's queries are answered at, kept from look to look; for one thread.

    A greater version is taken only when the broker queries every segment that the table is to have: then it
    has all rows of it. A new segment is queried some moments after it is there, and until then the version
    stays. While a server has reported nothing it stays, too. What was kept of a table is forgotten when
    another one of its name is there: that one's versions are others.

    Args:
        by_option: As of :meth:`TableMark.check_asked`.
    """

    def __init__(self, *, by_option: bool | None = None) -> None:
        self._by_option = by_option
        self._kept: Answerable | None = None
        self._created: int | None = None

    def take(
        self,
        found: TableMark,
        wanted: frozenset[str],
        unrouted: Callable[[frozenset[str]], Collection[str]],
        with_rows: Callable[[Collection[str]], Collection[str]],
    ) -> Answerable:
        """Return what to answer at.

        Args:
            found: What was read just now.
            wanted: The segments that servers are to have, read after it.
            unrouted: Given segments, returns those that the broker does not query.
            with_rows: Given segments, returns those that may have rows; brokers may leave out the others.

        Raises:
            NoMarkError: There is no version, and was none before; or servers take versions otherwise.
        """
        found.check_asked(by_option=self._by_option)
        if found.created != self._created:
            self._kept, self._created = None, found.created
        kept = self._kept
        if kept is None:
            found.required()
        version = kept.version if kept and found.version == NIL else found.version
        needed = wanted | found.segments
        outside = frozenset(unrouted(needed))
        missing = frozenset(with_rows(outside)) if outside else outside
        if missing and kept is None:
            raise NoMarkError(
                f"a broker does not query {shown_names(missing)} of {found.table}",
                where=found.table,
                remedy="query again in a moment: brokers pick up new segments automatically; if it stays so, "
                "check that all servers of the table are up",
            )
        if missing and kept:
            # When the kept version was taken, all its rows were in the segments that were there then.
            self._kept = Answerable(min(version, kept.version), kept.segments & needed)
        else:
            self._kept = Answerable(version, needed - outside)
        return self._kept


def read_wanted(store: PropertyStore, table: TableName) -> frozenset[str]:
    """Return the segments of a table (with type) that servers are to have; none where there is no table.

    Raises:
        UnreachableError: ZooKeeper does not answer.
    """
    try:
        segments = read_ideal_state(store, table).segments
    except NotFoundError:
        return frozenset()
    return frozenset(name for name, states in segments.items() if not _SERVED.isdisjoint(states.values()))


def with_rows(store: PropertyStore, table: TableName, names: Collection[str]) -> frozenset[str]:
    """Return those of a table's segments that may have rows: not the sealed ones that were sealed without.

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
    """Name some segments in a message."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(sorted(names)[:_SHOWN])}{more}"
