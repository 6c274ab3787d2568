"""What a server does with the condition of a version: Pinot 0.11's filters.

A query of an upsert table asks of each row whether ``$validFrom`` and ``$validUntil`` are between 0 and the
mark. Two things are added to that.

*A server that is not complete up to the version does not answer.* Brokers learn at a time of their own that a
server is there, or there again, so one may be asked at a version that was taken while it was away. It waits
for the version for a moment, and refuses the query when it does not come: the answer would lack rows.

*Bitmaps in the place of a scan.* Pinot would read both columns for every query, row by row, and with them all
other conditions. But what a version has inserted and deleted does not change once it is complete, so it is
kept as a bitmap for each segment, column and version; only rows that were indexed since are looked at. A
segment of which the bitmap says all or nothing is not looked at any more. Two versions are kept of each
column, an eighth of a byte a row for each. What is written about a kept version all the same (a segment that
is brought up to the present, a version of the future that somebody asks for) drops its bitmaps.

Queries do not come through Python.
"""

from __future__ import annotations

from typing import Any

import jpype

from controller_client.upsert.columns import NIL, VALID_FROM, VALID_UNTIL
from jvm_bridge.changed_classes import ChangedClasses, changing

__all__ = ["COUNTERS", "VersionFilters"]

COUNTERS = ("versionHits", "versionScans", "versionFailures", "queriesRefused")
"""Bitmaps that were there; that were made or made longer; that could not be made, so that Pinot scanned; and
queries that were refused since their version was not complete here."""

_PLAN = "org.apache.pinot.core.plan"
_CLASS = f"{_PLAN}.PythonVersionFilters"
_FILTERS = "org.apache.pinot.core.operator.filter"
_BITMAP = "org.roaringbitmap.buffer.ImmutableRoaringBitmap"
_SEGMENT = "org.apache.pinot.segment.spi.IndexSegment"
_PAGE_ROWS = 10_000
_WAIT_MS = 5_000

_MAP, _COUNT = "java.util.concurrent.ConcurrentHashMap", "java.util.concurrent.atomic.AtomicLong"
_REFUSAL = "org.apache.pinot.spi.exception.BadQueryRequestException"
_FIELDS = (
    "public static volatile long waitMs;",
    f"public static {_MAP} TABLES = new {_MAP}();",
    *(f"public static {_COUNT} {name} = new {_COUNT}();" for name in COUNTERS),
    # Of IndexSegment, as long as Pinot has it: Object[4], two of each column, the newer one first; each is
    # Object[] {version, rows that were looked at, bitmap}.
    "private java.util.WeakHashMap segments = new java.util.WeakHashMap();",
    "private volatile long writes;",
    f"private volatile long complete = {NIL}L;",
    "private final Object completed = new Object();",
)

# Javassist compiles a Java without generics, boxing, lambdas and inner classes.
_METHODS = (
    f"""
public static {_CLASS} of(String table) {{
    {_CLASS} found = ({_CLASS}) TABLES.get(table);
    if (found == null) {{
        TABLES.putIfAbsent(table, new {_CLASS}());
        found = ({_CLASS}) TABLES.get(table);
    }}
    return found;
}}
""",
    f"""
private Object[] kept({_SEGMENT} segment) {{
    synchronized (this.segments) {{
        Object[] found = (Object[]) this.segments.get(segment);
        if (found == null) {{
            found = new Object[4];
            this.segments.put(segment, found);
        }}
        return found;
    }}
}}
""",
    f"""
private static {_BITMAP} scan(
        {_SEGMENT} segment, String column, long version, int first, int rows, {_BITMAP} known) {{
    versionScans.incrementAndGet();
    org.apache.pinot.segment.spi.index.reader.ForwardIndexReader reader =
        segment.getDataSource(column).getForwardIndex();
    org.apache.pinot.segment.spi.index.reader.ForwardIndexReaderContext context = reader.createContext();
    int[] numbers = new int[{_PAGE_ROWS}];
    long[] values = new long[{_PAGE_ROWS}];
    long[] words = null;
    for (int start = first; start < rows; start += {_PAGE_ROWS}) {{
        int count = Math.min({_PAGE_ROWS}, rows - start);
        for (int number = 0; number < count; number++) {{
            numbers[number] = start + number;
        }}
        reader.readValuesSV(numbers, count, values, context);
        for (int number = 0; number < count; number++) {{
            long value = values[number];
            if (value >= 0L && value <= version) {{
                if (words == null) {{
                    words = new long[(rows + 63) >>> 6];
                }}
                int row = start + number;
                words[row >>> 6] = words[row >>> 6] | (1L << (row & 63));
            }}
        }}
    }}
    if (context != null) {{
        context.close();
    }}
    if (words == null) {{
        return known != null ? known : new org.roaringbitmap.buffer.MutableRoaringBitmap();
    }}
    org.roaringbitmap.buffer.MutableRoaringBitmap found =
        org.roaringbitmap.buffer.BufferBitSetUtil.bitmapOf(words);
    if (known != null) {{
        found.or(known);
    }}
    found.runOptimize();
    return found;
}}
""",
    # Rows whose value in the column is of 0 to the version, among the first so many rows.
    f"""
public {_BITMAP} bitmap({_SEGMENT} segment, String column, long version, int rows) {{
    Object[] kept = this.kept(segment);
    int place = column.equals("{VALID_FROM}") ? 0 : 2;
    {_BITMAP} known = null;
    int scanned = 0;
    synchronized (kept) {{
        for (int number = place; number < place + 2; number++) {{
            Object[] slot = (Object[]) kept[number];
            if (slot != null && ((Long) slot[0]).longValue() == version) {{
                scanned = ((Integer) slot[1]).intValue();
                known = ({_BITMAP}) slot[2];
            }}
        }}
    }}
    if (known != null && scanned >= rows) {{
        versionHits.incrementAndGet();
        if (known.isEmpty() || known.last() < rows) {{
            return known;
        }}
        org.roaringbitmap.buffer.MutableRoaringBitmap less = known.toMutableRoaringBitmap();
        less.remove((long) rows, 1L << 32);
        return less;
    }}
    long before = this.writes;
    {_BITMAP} found = scan(segment, column, version, scanned, rows, known);
    Object[] made = new Object[] {{Long.valueOf(version), Integer.valueOf(rows), found}};
    synchronized (kept) {{
        // Who writes counts first and drops then: what was written while this looked is not kept.
        if (this.writes == before) {{
            Object[] newer = (Object[]) kept[place];
            if (newer == null || ((Long) newer[0]).longValue() != version) {{
                kept[place + 1] = newer;
            }}
            kept[place] = made;
        }}
    }}
    return found;
}}
""",
    # The condition of a rewritten query, NOT (NOT ...), is one of a version that must be complete here.
    f"""
private void await(long version, String table) {{
    if (this.complete >= version) {{
        return;
    }}
    long end = System.nanoTime() + waitMs * 1000000L;
    synchronized (this.completed) {{
        while (this.complete < version) {{
            long left = (end - System.nanoTime()) / 1000000L;
            if (left <= 0L) {{
                queriesRefused.incrementAndGet();
                throw new {_REFUSAL}("this server is complete up to version " + this.complete + " of " + table
                    + ", and version " + version + " is asked for: ask again");
            }}
            this.completed.wait(left);
        }}
    }}
}}
""",
    """
public void complete(long version) {
    synchronized (this.completed) {
        this.complete = version;
        this.completed.notifyAll();
    }
}
""",
    # Given a filter that begins with NOT or is a predicate; null where it is none of ours.
    f"""
public static {_FILTERS}.BaseFilterOperator operator(
        {_SEGMENT} segment,
        org.apache.pinot.core.query.request.context.QueryContext query,
        org.apache.pinot.common.request.context.FilterContext filter,
        int rows) {{
    try {{
        boolean negated = false;
        org.apache.pinot.common.request.context.FilterContext inner = filter;
        while (inner.getType().name().equals("NOT")) {{
            inner = (org.apache.pinot.common.request.context.FilterContext) inner.getChildren().get(0);
            negated = !negated;
        }}
        if (!inner.getType().name().equals("PREDICATE")) {{
            return null;
        }}
        if (!(inner.getPredicate()
                instanceof org.apache.pinot.common.request.context.predicate.RangePredicate)) {{
            return null;
        }}
        org.apache.pinot.common.request.context.predicate.RangePredicate range =
            (org.apache.pinot.common.request.context.predicate.RangePredicate) inner.getPredicate();
        String column = range.getLhs().getIdentifier();
        boolean ours = "{VALID_FROM}".equals(column) || "{VALID_UNTIL}".equals(column);
        if (!ours || !range.isLowerInclusive() || !range.isUpperInclusive()
                || !range.getLowerBound().equals("0") || range.getUpperBound().equals("*")) {{
            return null;
        }}
        long version = Long.parseLong(range.getUpperBound());
        {_CLASS} table = of(query.getTableName());
        if (column.equals("{VALID_FROM}") && filter != inner && !negated) {{
            table.await(version, query.getTableName());
        }}
        {_BITMAP} found = table.bitmap(segment, column, version, rows);
        int count = negated ? rows - found.getCardinality() : found.getCardinality();
        if (count == 0) {{
            return {_FILTERS}.EmptyFilterOperator.getInstance();
        }}
        if (count == rows) {{
            return new {_FILTERS}.MatchAllFilterOperator(rows);
        }}
        return new {_FILTERS}.BitmapBasedFilterOperator(found, negated, rows);
    }} catch ({_REFUSAL} refused) {{
        throw refused;
    }} catch (Throwable error) {{
        versionFailures.incrementAndGet();
        return null;
    }}
}}
""",
    """
public synchronized void wrote(long version) {
    this.writes = this.writes + 1L;
    synchronized (this.segments) {
        java.util.Iterator each = this.segments.values().iterator();
        while (each.hasNext()) {
            Object[] kept = (Object[]) each.next();
            synchronized (kept) {
                for (int number = 0; number < 4; number++) {
                    Object[] slot = (Object[]) kept[number];
                    if (slot != null && ((Long) slot[0]).longValue() >= version) {
                        kept[number] = null;
                    }
                }
            }
        }
    }
}
""",
    """
public static void forget(String table) {
    TABLES.remove(table);
}
""",
)


class VersionFilters:
    """Puts ours into Pinot's filters; before Pinot loads them.

    Args:
        wait_ms: How long queries wait for a version that is not complete here.

    Raises:
        UnsupportedError: This Pinot is built otherwise, or the class is in use already.
    """

    def __init__(self, *, wait_ms: int = _WAIT_MS) -> None:
        with changing(
            "upsert tables cannot be queried in this version of Pinot",
            remedy="run the server without the hook upsert, or see which other hook uses these classes",
        ):
            classes = ChangedClasses(f"{_PLAN}.PlanNode")
            made = classes.pool.makeClass(_CLASS)
            for field in _FIELDS:
                classes.add_field(made, field)
            made.addConstructor(jpype.JClass("javassist.CtNewConstructor").defaultConstructor(made))
            for source in _METHODS:
                classes.add_method(made, source)
            classes.load(made)
            filters = classes.get(f"{_PLAN}.FilterPlanNode")
            filters.getDeclaredMethod("constructPhysicalOperator").insertBefore(
                f"{{ {_FILTERS}.BaseFilterOperator ours ="
                f" {_CLASS}.operator(this._indexSegment, this._queryContext, $1, $2);"
                " if (ours != null) { return ours; } }"
            )
            classes.load(filters)
        self._java: Any = jpype.JClass(_CLASS)
        self._java.waitMs = wait_ms

    def wrote(self, table: str, version: int) -> None:
        """Something was written about a version or later ones; to be called after it.

        Args:
            table: Name with type.
            version: The least version that was written.
        """
        self._java.of(table).wrote(version)

    def complete(self, table: str, version: int) -> None:
        """The server is complete up to a version; to be called before anybody else is told.

        Args:
            table: Name with type.
            version: The version.
        """
        self._java.of(table).complete(version)

    def forget(self, table: str) -> None:
        """A table is gone."""
        self._java.forget(table)

    def count(self, name: str) -> int:
        """What one of :data:`COUNTERS` is at."""
        return int(getattr(self._java, name).get())
