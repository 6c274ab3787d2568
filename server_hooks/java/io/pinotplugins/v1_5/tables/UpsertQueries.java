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

/** What queries see of upsert tables: of each segment, the rows of the version that the query names. */
public final class UpsertQueries {
    /** The query option: {@code orders_REALTIME:17,users_REALTIME:4}. */
    static final String VERSIONS = "upsertVersions";
    /** Beside the versions: the query may have conditions on $validFrom or $validUntil. */
    private static final String UNPRUNED = "unpruned";

    /** Options of the query that a thread answers: a query in IN_PARTITIONED_SUBQUERY has none of its own. */
    private static final ThreadLocal<Map<String, String>> OUTER = new ThreadLocal<>();

    private UpsertQueries() {
    }

    /** A thread begins with a query. */
    static void begin(Map<String, String> options) {
        OUTER.set(options);
    }

    /** It has done with it. */
    static void end() {
        OUTER.remove();
    }

    /** Up to which version the server is complete. */
    static long completeUpTo(String table) {
        return ServedVersions.of(table).complete();
    }

    /** Whether the version of a query does not matter, as the query sees all rows. */
    static boolean areAllSeen(Map<String, String> options) {
        Map<String, String> outer = OUTER.get();
        return QueryOptionsUtils.isSkipUpsert(options)
            || outer != null && QueryOptionsUtils.isSkipUpsert(outer);
    }

    /** Whether segments may be left out by what Pinot knows of the least and greatest values of columns. */
    static boolean isPruned(Map<String, String> options) {
        return !List.of(named(options).split(",")).contains(UNPRUNED);
    }

    /** Returns the version that a query names, once the server is complete up to it; in its thread. */
    public static long await(String table, Map<String, String> options) {
        long version = versionOf(table, named(options));
        ServedVersions.await(table, version);
        return version;
    }

    /** Leaves the rows of a version in segments; called in the query's thread, after await. */
    public static void cut(String table, List<SegmentContext> contexts, long version) {
        TableVersions versions = ServedVersions.of(table);
        try {
            for (SegmentContext context : contexts) {
                context.setQueryableDocIdsSnapshot(rows(versions, context.getIndexSegment(), version));
            }
        } catch (IOException error) {
            Counter.FAILURES.add();
            throw new UncheckedIOException("the rows of version " + version + " cannot be found", error);
        }
    }

    private static MutableRoaringBitmap rows(TableVersions versions, IndexSegment segment, long version)
            throws IOException {
        int count = segment.getSegmentMetadata().getTotalDocs();
        // A segment without rows may have no columns.
        return count == 0 ? new MutableRoaringBitmap() : versions.visible(segment, version, count);
    }

    /** The option of a query, or of the one that it is in. */
    private static String named(Map<String, String> options) {
        Map<String, String> outer = OUTER.get();
        String versions = options.get(VERSIONS);
        if (versions == null && outer != null) {
            versions = outer.get(VERSIONS);
        }
        return versions == null ? "" : versions;
    }

    private static long versionOf(String table, String versions) {
        for (String pair : versions.split(",")) {
            int colon = pair.lastIndexOf(':');
            if (colon > 0 && pair.substring(0, colon).trim().equals(table)) {
                return parsed(pair.substring(colon + 1).trim(), table);
            }
        }
        Counter.REFUSED.add();
        throw new BadQueryRequestException(
            table + " is an upsert table, and the query names no version of it:"
            + " ask through a broker that runs the hook upsert or through the client of pinot-plugins,"
            + " or say skipUpsert=true");
    }

    private static long parsed(String version, String table) {
        try {
            return Long.parseLong(version);
        } catch (NumberFormatException error) {
            Counter.REFUSED.add();
            throw new BadQueryRequestException(
                "the version of " + table + " is no number: " + version, error);
        }
    }
}
