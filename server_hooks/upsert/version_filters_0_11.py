"""What a server does with the condition of a version: Pinot 0.11's filters.

A query of an upsert table asks of each row whether ``$validFrom`` and ``$validUntil`` are between 0 and the
mark. Two things are added to that.

*A server that is not complete up to the version does not answer.* Brokers learn at a time of their own that a
server is there, or there again, so one may be asked at a version that was taken while it was away. It waits
for the version for a moment, and refuses the query when it does not come: the answer would lack rows. It
waits before Pinot takes segments, leaves some out and counts the rows of the others (``classes_0_11``): rows
that arrive in the meantime belong to the version.

*Bitmaps in the place of a scan.* Pinot would read both columns for every query, row by row, and with them all
other conditions. But what a version has inserted and deleted does not change once it is complete, so it is
kept as a bitmap for each segment, column and version, and the writes of the next versions, of which a log is
kept, make the next bitmap of it. A segment of which the bitmap says all or nothing is not looked at any more.
Columns are read where the log does not reach back: at a segment's first query, for old versions, and where
something is written about a version that was asked for all the same.

Queries do not come through Python: what Pinot calls is ``VersionFilters.java``.
"""

from __future__ import annotations

from jvm_bridge.changed_classes import ChangedClasses, changing
from server_hooks.upsert.java_0_11 import PACKAGE, load

__all__ = ["install_filters"]

_PLAN = "org.apache.pinot.core.plan"
_OPERATOR = "org.apache.pinot.core.operator.filter.BaseFilterOperator"
_JAVA = f"{PACKAGE}.VersionFilters"
_FILTER = (
    f"{{ {_OPERATOR} ours = {_JAVA}.operator(this._indexSegment, this._queryContext, $1, $2);"
    " if (ours != null) { return ours; } }"
)


def install_filters() -> None:
    """Put ours into Pinot's filters; before Pinot loads them.

    Raises:
        UnsupportedError: This Pinot is built otherwise, or the class is in use already.
    """
    with changing(
        "upsert tables cannot be queried in this version of Pinot",
        remedy="run the server without the hook upsert, or see which other hook uses these classes",
    ):
        load()
        classes = ChangedClasses(f"{_PLAN}.PlanNode")
        filters = classes.get(f"{_PLAN}.FilterPlanNode")
        filters.getDeclaredMethod("constructPhysicalOperator").insertBefore(_FILTER)
        classes.load(filters)
