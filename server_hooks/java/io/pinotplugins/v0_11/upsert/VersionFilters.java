package io.pinotplugins.v0_11.upsert;

import io.pinotplugins.upsert.Counter;
import io.pinotplugins.upsert.ServedVersions;
import io.pinotplugins.upsert.SystemColumns;
import io.pinotplugins.upsert.TableVersions;
import org.apache.pinot.common.request.context.FilterContext;
import org.apache.pinot.common.request.context.predicate.RangePredicate;
import org.apache.pinot.core.operator.filter.BaseFilterOperator;
import org.apache.pinot.core.operator.filter.BitmapBasedFilterOperator;
import org.apache.pinot.core.operator.filter.EmptyFilterOperator;
import org.apache.pinot.core.operator.filter.MatchAllFilterOperator;
import org.apache.pinot.core.query.request.context.QueryContext;
import org.apache.pinot.core.util.QueryOptionsUtils;
import org.apache.pinot.segment.spi.IndexSegment;
import org.apache.pinot.spi.exception.BadQueryRequestException;
import org.roaringbitmap.buffer.ImmutableRoaringBitmap;

/** The condition of a version, answered by bitmaps. */
public final class VersionFilters {
    private VersionFilters() {
    }

    /** Waits until the table is complete up to the query's version; rejects a query without a version. */
    public static void awaitVersion(QueryContext query) {
        String table = query.getTableName();
        boolean isNamed = query.getFilter() != null && awaitVersion(table, query.getFilter());
        boolean isToName = ServedVersions.isServed(table)
            && !QueryOptionsUtils.isSkipUpsert(query.getQueryOptions());
        if (isToName && !isNamed) {
            ServedVersions.askedWithoutVersion(table);
        }
    }

    /** Whether a filter names a version. */
    private static boolean awaitVersion(String table, FilterContext filter) {
        if (filter.getType() == FilterContext.Type.AND) {
            boolean isNamed = false;
            for (FilterContext child : filter.getChildren()) {
                isNamed |= awaitVersion(table, child);
            }
            return isNamed;
        }
        Long version = conditionOf(filter);
        if (version != null) {
            ServedVersions.await(table, version);
        }
        return version != null;
    }

    /** Returns the version in a condition that was added to a query, NOT (NOT ($validFrom ...)) or null. */
    private static Long conditionOf(FilterContext filter) {
        boolean isNegated = false;
        FilterContext inner = filter;
        while (inner.getType() == FilterContext.Type.NOT) {
            inner = inner.getChildren().get(0);
            isNegated = !isNegated;
        }
        RangePredicate range = filter == inner || isNegated ? null : versionRange(inner);
        boolean isOurs = range != null && range.getLhs().getIdentifier().equals(SystemColumns.VALID_FROM);
        return isOurs ? Long.valueOf(range.getUpperBound()) : null;
    }

    /** Returns the operator of a filter that starts with NOT or is a predicate; null if Pinot handles it. */
    public static BaseFilterOperator operator(
            IndexSegment segment, QueryContext query, FilterContext filter, int rows) {
        try {
            boolean isNegated = false;
            FilterContext inner = filter;
            while (inner.getType() == FilterContext.Type.NOT) {
                inner = inner.getChildren().get(0);
                isNegated = !isNegated;
            }
            RangePredicate range = versionRange(inner);
            if (range == null) {
                return null;
            }
            String column = range.getLhs().getIdentifier();
            long version = Long.parseLong(range.getUpperBound());
            TableVersions table = ServedVersions.of(query.getTableName());
            if (conditionOf(filter) != null) {
                table.await(version, 0); // a wait here would be too late: the rows are already counted
            }
            return operator(table.bitmap(segment, column, version, rows), isNegated, rows);
        } catch (BadQueryRequestException refused) {
            throw refused;
        } catch (Throwable error) {
            Counter.FAILURES.add();
            return null;
        }
    }

    private static BaseFilterOperator operator(ImmutableRoaringBitmap found, boolean isNegated, int rows) {
        int count = isNegated ? rows - found.getCardinality() : found.getCardinality();
        if (count == 0) {
            return EmptyFilterOperator.getInstance();
        }
        if (count == rows) {
            return new MatchAllFilterOperator(rows);
        }
        return new BitmapBasedFilterOperator(found, isNegated, rows);
    }

    /** Returns the predicate of a filter for values from 0 to a version in one of our columns, or null. */
    private static RangePredicate versionRange(FilterContext filter) {
        if (filter.getType() != FilterContext.Type.PREDICATE
                || !(filter.getPredicate() instanceof RangePredicate)) {
            return null;
        }
        RangePredicate range = (RangePredicate) filter.getPredicate();
        String column = range.getLhs().getIdentifier();
        boolean isOurs = SystemColumns.VALID_FROM.equals(column) || SystemColumns.VALID_UNTIL.equals(column);
        boolean isFromZero = range.isLowerInclusive() && range.getLowerBound().equals("0");
        boolean isBounded = !range.getUpperBound().equals(RangePredicate.UNBOUNDED);
        return isOurs && isFromZero && range.isUpperInclusive() && isBounded ? range : null;
    }
}
