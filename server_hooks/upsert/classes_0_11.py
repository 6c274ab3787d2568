"""Patches Pinot 0.11's classes for upsert tables: they call the classes in ``server_hooks/java``.

They are patched before they are loaded, with the Javassist in Pinot's jars:

==============================================  ==============================================================
patch point                                     what is added
==============================================  ==============================================================
LLRealtimeSegmentDataManager                    a decoded row gets the offset of its message, if the schema
``processStreamEvents``                         has the column for it
BaseTableDataManager.addSegment(segment)        calls the hook before Pinot adds a sealed segment
RealtimeTableDataManager.addSegment(name, ...)  calls the hook after a consuming segment was created
BaseTableDataManager ``removeSegment``          calls the hook after a segment was removed
``ServerQueryExecutorV1Impl.start``             calls the hook before the server accepts queries
``ServerQueryExecutorV1Impl.processQuery``      a query waits for its version before Pinot acquires segments
                                                for it, prunes some and counts the rows of the others
``MutableDataSource``, ``ImmutableDataSource``    their metadata have no minimum and no maximum version: the
                                                values from when Pinot built the segment or indexed the row
                                                are outdated
``TimestampIndexGranularity``                   Pinot loads our columns of a sealed segment: it skips names
                                                that start with ``$`` unless this class accepts them
==============================================  ==============================================================

**Filters for the condition of a version.**
A query of an upsert table checks for each row whether ``$validFrom`` and ``$validUntil`` are between 0 and
the mark. The hook adds two things.

*A server that is not complete up to the version does not answer.* Brokers notice with a delay that a server
has started, so a query may arrive at a version that was published while the server was down. The server
briefly waits for the version, and rejects the query if it does not become complete: the answer would lack
rows. It waits before Pinot acquires segments, prunes some and counts the rows of the others:
rows that arrive in the meantime belong to the version.

*Bitmaps instead of a scan.* Pinot would read both columns for every query, row by row, together with all
other conditions. But the inserts and deletes of a version do not change once it is complete. So they are
cached as a bitmap for each segment, column and version, and a log of the writes of later versions turns it
into the next bitmap. A segment whose bitmap has all rows or none is not scanned at all. Columns are scanned
only where the log does not reach back: for a segment's first query, for old versions, and after a write to a
version that was already queried.

Queries do not call Python: Pinot calls ``VersionFilters.java``.
"""

from __future__ import annotations

from typing import Any

import jpype

from jvm_bridge.java import JavaSources, load_java
from jvm_bridge.patched_classes import PatchedClasses, patching
from server_hooks.upsert.server_events import EVENTS, Listener, listen
from server_hooks.upsert.server_events import PACKAGE as SHARED

__all__ = ["PACKAGE", "install", "install_filters", "load"]


PACKAGE = "io.pinotplugins.v0_11.upsert"
"""Package of the classes."""


def load() -> None:
    """Load the classes; errors as for :func:`jvm_bridge.java.load_java`."""
    load_java(JavaSources.of("server_hooks", PACKAGE, SHARED))


_DATA_MANAGERS = "org.apache.pinot.core.data.manager"

_TABLE = f"{_DATA_MANAGERS}.BaseTableDataManager"

_REALTIME_TABLE = f"{_DATA_MANAGERS}.realtime.RealtimeTableDataManager"

_CONSUMING = f"{_DATA_MANAGERS}.realtime.LLRealtimeSegmentDataManager"

_EXECUTOR = "org.apache.pinot.core.query.executor.ServerQueryExecutorV1Impl"

_REQUEST = "org.apache.pinot.core.query.request.ServerQueryRequest"

_SEGMENT = "org.apache.pinot.segment.spi.ImmutableSegment"

_KEPT_COLUMNS = "org.apache.pinot.spi.config.table.TimestampIndexGranularity"

_COLUMNS = tuple(
    f"org.apache.pinot.segment.local.segment.index.datasource.{kind}DataSource${kind}DataSourceMetadata"
    for kind in ("Mutable", "Immutable")
)

_NO_BOUND = f"if ({SHARED}.SystemColumns.isVersion(this._fieldSpec.getName())) {{ return null; }}"

_OFFSET, _OFFSET_FIELD = f"{PACKAGE}.RowOffset", "pythonOffset"


def install(listener: Listener) -> None:
    """Patch the classes; call it before Pinot, or reflection on them, loads them.

    Args:
        listener: Called from then on.

    Raises:
        UnsupportedError: This Pinot is built differently, or has already loaded a class.
    """
    with patching(
        "the hook upsert cannot serve upsert tables in this version of Pinot",
        remedy="run the server without the hook upsert, or check whether another hook uses these classes",
    ):
        load()
        listen(listener)
        classes = PatchedClasses("org.apache.pinot.spi.stream.MessageBatch")
        kept = classes.get(_KEPT_COLUMNS)
        _method(kept, "isValidTimeColumnWithGranularityName").insertBefore(
            f"if ({SHARED}.SystemColumns.contains($1)) {{ return true; }}"
        )
        classes.load(kept)
        base = classes.get(_TABLE)
        _method(base, "addSegment", _SEGMENT, 1).insertBefore(f"{EVENTS}.beforeAdd(this, $1);")
        _method(base, "removeSegment").insertAfter(f"{EVENTS}.removed(this, $1);")
        consuming = classes.get(_CONSUMING)
        classes.add_field(consuming, f"private final {_OFFSET} {_OFFSET_FIELD} = new {_OFFSET}();")
        _method(consuming, "processStreamEvents").instrument(
            jpype.JClass(f"{PACKAGE}.OffsetEditor")(_OFFSET_FIELD)
        )
        executor = classes.get(_EXECUTOR)
        _method(executor, "start").insertBefore(f"{EVENTS}.beforeOpen();")
        _method(executor, "processQuery", _REQUEST).insertBefore(
            f"{PACKAGE}.VersionFilters.awaitVersion($1.getQueryContext());"
        )
        realtime = classes.get(_REALTIME_TABLE)
        _method(realtime, "addSegment", "java.lang.String", 3).insertAfter(f"{EVENTS}.consuming(this, $1);")
        for owner in _COLUMNS:
            for method in ("getMinValue", "getMaxValue"):
                _method(classes.get(owner), method).insertBefore(_NO_BOUND)
            classes.load(classes.get(owner))
        for each in (base, consuming, realtime, executor):
            classes.load(each)


def _method(owner: Any, name: str, first: str | None = None, count: int | None = None) -> Any:
    """Return a method that the class itself declares, by the type of its first parameter and their number."""
    methods = []
    for method in owner.getDeclaredMethods(name):
        types = [str(each.getName()) for each in method.getParameterTypes()]
        if (first is None or types[:1] == [first]) and count in (None, len(types)):
            methods.append(method)
    if len(methods) != 1:
        raise LookupError(f"{owner.getName()} has {len(methods)} methods {name}({first or ''}...)")
    return methods[0]


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
