"""Extends the filters of Pinot 0.11 for the condition of a version.

A query of an upsert table checks for each row whether ``$validFrom`` and ``$validUntil`` are between 0 and
the mark. The hook adds two things.

*A server that is not complete up to the version does not answer.* Brokers notice with a delay that a server
has started, so a query may arrive at a version that was published while the server was down. The server
briefly waits for the version, and rejects the query if it does not become complete: the answer would lack
rows. It waits before Pinot acquires segments, prunes some and counts the rows of the others
(``classes_0_11``): rows that arrive in the meantime belong to the version.

*Bitmaps instead of a scan.* Pinot would read both columns for every query, row by row, together with all
other conditions. But the inserts and deletes of a version do not change once it is complete. So they are
cached as a bitmap for each segment, column and version, and a log of the writes of later versions turns it
into the next bitmap. A segment whose bitmap has all rows or none is not scanned at all. Columns are scanned
only where the log does not reach back: for a segment's first query, for old versions, and after a write to a
version that was already queried.

Queries do not call Python: Pinot calls ``VersionFilters.java``.
"""

from __future__ import annotations

from jvm_bridge.patched_classes import PatchedClasses, patching
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
    """Patch Pinot's filters; call it before Pinot loads them.

    Raises:
        UnsupportedError: This Pinot is built differently, or has already loaded the class.
    """
    with patching(
        "the hook upsert cannot filter queries in this version of Pinot",
        remedy="run the server without the hook upsert, or check whether another hook uses these classes",
    ):
        load()
        classes = PatchedClasses(f"{_PLAN}.PlanNode")
        filters = classes.get(f"{_PLAN}.FilterPlanNode")
        filters.getDeclaredMethod("constructPhysicalOperator").insertBefore(_FILTER)
        classes.load(filters)
