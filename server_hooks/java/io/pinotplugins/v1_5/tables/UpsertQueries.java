package io.pinotplugins.v1_5.tables;

import io.pinotplugins.upsert.Counter;
import io.pinotplugins.upsert.ServedVersions;
import io.pinotplugins.upsert.SystemColumns;
import io.pinotplugins.upsert.TableVersions;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Map;
import org.apache.pinot.common.utils.config.QueryOptionsUtils;
import org.apache.pinot.segment.spi.IndexSegment;
import org.apache.pinot.segment.spi.SegmentContext;
import org.apache.pinot.spi.exception.BadQueryRequestException;
import org.roaringbitmap.buffer.MutableRoaringBitmap;

/** Filters upsert tables for queries: of each segment, they see the rows of the version that they name. */
public final class UpsertQueries {
    /** The query option: {@code orders_REALTIME:17,users_REALTIME:4}. */
    static final String VERSIONS = "upsertVersions";
    /** Listed with the versions if the query may have conditions on $validFrom or $validUntil. */
    private static final String UNPRUNED = "unpruned";

    private static final class Outer {
        final String table;
        final Map<String, String> options;

        Outer(String table, Map<String, String> options) {
            this.table = table;
            this.options = options;
        }
    }

    /** The query that a thread answers; a query in IN_PARTITIONED_SUBQUERY has no options of its own. */
    private static final ThreadLocal<Outer> OUTER = new ThreadLocal<>();

    private UpsertQueries() {
    }

    /**
     * Called when a thread starts a query: waits for its version before Pinot acquires the segments of its
     * table, counts their rows and prunes some. Queries are rejected later.
     */
    static void begin(String table, Map<String, String> options) {
        OUTER.set(new Outer(table, options));
        try {
            Long version = isSkipping(options) ? null : versionOf(table, named(options));
            if (version != null) {
                ServedVersions.awaitFor(table, version);
            }
        } catch (BadQueryRequestException refused) {
            // It is rejected again later.
        }
    }

    /** Called when the thread has finished the query. */
    static void end() {
        OUTER.remove();
    }

    /** Returns the version up to which the server is complete. */
    static long completeUpTo(String table) {
        return ServedVersions.of(table).complete();
    }

    /** Whether a query sees all rows; rejects a query that neither requests that nor names a version. */
    public static boolean areAllSeen(String table, Map<String, String> options) {
        if (isSkipping(options)) {
            return true;
        }
        boolean isNamed = versionOf(table, named(options)) != null;
        if (!isNamed) {
            ServedVersions.askedWithoutVersion(table);
        }
        return !isNamed;
    }

    /** Whether Pinot may prune segments by the minimum and maximum values of columns. */
    static boolean isPruned(Map<String, String> options) {
        return !List.of(named(options).split(",")).contains(UNPRUNED);
    }

    /** Returns the version that a query names, once the server is complete up to it; in its thread. */
    public static long await(String table, Map<String, String> options) {
        long version = versionOf(table, named(options));
        Outer outer = OUTER.get();
        if (outer != null && outer.table.equals(table)) {
            ServedVersions.of(table).await(version, 0); // it has already waited
        } else {
            ServedVersions.await(table, version);
        }
        return version;
    }

    /** Hides all rows but those of a version; called in the query's thread, after await. */
    public static void filterRows(String table, List<SegmentContext> contexts, long version) {
        TableVersions versions = ServedVersions.of(table);
        try {
            for (SegmentContext context : contexts) {
                context.setQueryableDocIdsSnapshot(rows(versions, context.getIndexSegment(), version));
            }
        } catch (IOException error) {
            Counter.FAILURES.add();
            throw new UncheckedIOException("cannot find the rows of version " + version, error);
        }
    }

    private static MutableRoaringBitmap rows(TableVersions versions, IndexSegment segment, long version)
            throws IOException {
        int count = segment.getSegmentMetadata().getTotalDocs();
        // A segment without rows may have no columns.
        return count == 0 ? new MutableRoaringBitmap() : versions.visible(segment, version, count);
    }

    /** Returns the option of a query, or of the query that contains it. */
    private static String named(Map<String, String> options) {
        Outer outer = OUTER.get();
        String versions = options.get(VERSIONS);
        if (versions == null && outer != null) {
            versions = outer.options.get(VERSIONS);
        }
        return versions == null ? "" : versions;
    }

    private static boolean isSkipping(Map<String, String> options) {
        Outer outer = OUTER.get();
        return QueryOptionsUtils.isSkipUpsert(options)
            || outer != null && QueryOptionsUtils.isSkipUpsert(outer.options);
    }

    /** Returns the version of a table, or null if none is named. */
    private static Long versionOf(String table, String versions) {
        for (String pair : versions.split(",")) {
            int colon = pair.lastIndexOf(':');
            if (colon > 0 && pair.substring(0, colon).trim().equals(table)) {
                return parsed(pair.substring(colon + 1).trim(), table);
            }
        }
        return null;
    }

    private static long parsed(String version, String table) {
        try {
            return Long.parseLong(version);
        } catch (NumberFormatException error) {
            Counter.REFUSED.add();
            throw new BadQueryRequestException(
                "the version of " + table + " is not a number: " + version, error);
        }
    }
}
