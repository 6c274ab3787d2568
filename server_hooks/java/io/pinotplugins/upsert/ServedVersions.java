package io.pinotplugins.upsert;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.pinot.spi.exception.BadQueryRequestException;

/** The versions of this server's upsert tables: reported by Python, and used by queries. */
public final class ServedVersions {
    private static final Map<String, TableVersions> TABLES = new ConcurrentHashMap<>();
    private static volatile long waitMs;
    private static volatile boolean isWithoutAllowed;

    private ServedVersions() {
    }

    /**
     * @param waitMs how long queries wait for a version that is not complete here
     * @param isWithoutAllowed whether queries that name no version see all rows instead of being rejected
     */
    public static void install(long waitMs, boolean isWithoutAllowed) {
        ServedVersions.waitMs = waitMs;
        ServedVersions.isWithoutAllowed = isWithoutAllowed;
    }

    /** Records that the server is complete up to a version; called before the version is reported. */
    public static void complete(String table, long version) {
        of(table).complete(version);
    }

    /** Forgets a table that no longer exists. */
    public static void forget(String table) {
        TABLES.remove(table);
    }

    /** Whether it is an upsert table of this server. */
    public static boolean isServed(String table) {
        return TABLES.containsKey(table);
    }

    /** Waits in the query's thread until a table is complete up to a version, or rejects the query. */
    public static void await(String table, long version) {
        of(table).await(version, waitMs);
    }

    /** Waits as await does, but leaves it to a later await to reject the query. */
    public static void awaitFor(String table, long version) {
        of(table).isComplete(version, waitMs);
    }

    /** Lets a query of an upsert table that names no version see all rows, or rejects it. */
    public static void askedWithoutVersion(String table) {
        if (!isWithoutAllowed) {
            Counter.REFUSED.add();
            throw new BadQueryRequestException(
                table + " is an upsert table, and the query names no version of it:"
                + " query it through a broker with the hook upsert or through the client of pinot-plugins,"
                + " or set the option skipUpsert=true to see all rows");
        }
    }

    /** Returns the versions of a table; from then on it counts as served here. */
    public static TableVersions of(String table) {
        TableVersions found = TABLES.get(table); // takes no lock
        return found != null ? found : TABLES.computeIfAbsent(table, TableVersions::new);
    }
}
