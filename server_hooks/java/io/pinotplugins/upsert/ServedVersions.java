package io.pinotplugins.upsert;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.pinot.spi.exception.BadQueryRequestException;

/** The upsert tables of this server: what Python tells of their versions, and what queries ask. */
public final class ServedVersions {
    private static final Map<String, TableVersions> TABLES = new ConcurrentHashMap<>();
    private static volatile long waitMs;
    private static volatile boolean isWithoutAllowed;

    private ServedVersions() {
    }

    /**
     * @param waitMs how long queries wait for a version that is not complete here
     * @param isWithoutAllowed whether queries that name no version see all rows, and are not refused
     */
    public static void install(long waitMs, boolean isWithoutAllowed) {
        ServedVersions.waitMs = waitMs;
        ServedVersions.isWithoutAllowed = isWithoutAllowed;
    }

    /** The server is complete up to a version of a table; before anybody else is told. */
    public static void complete(String table, long version) {
        of(table).complete(version);
    }

    /** The table is gone. */
    public static void forget(String table) {
        TABLES.remove(table);
    }

    /** Whether it is an upsert table of this server. */
    public static boolean isServed(String table) {
        return TABLES.containsKey(table);
    }

    /** Returns when a table is complete up to a version, or refuses the query; in the query's thread. */
    public static void await(String table, long version) {
        of(table).await(version, waitMs);
    }

    /** As await, but it is the refusal of a later await that counts. */
    public static void awaitFor(String table, long version) {
        of(table).isComplete(version, waitMs);
    }

    /** Lets a query of an upsert table that names no version see all rows, or refuses it. */
    public static void askedWithoutVersion(String table) {
        if (!isWithoutAllowed) {
            Counter.REFUSED.add();
            throw new BadQueryRequestException(
                table + " is an upsert table, and the query names no version of it:"
                + " ask through a broker that runs the hook upsert or through the client of pinot-plugins,"
                + " or say skipUpsert=true");
        }
    }

    /** Asked for a table of this server: from then on it is served. */
    public static TableVersions of(String table) {
        TableVersions found = TABLES.get(table); // it locks nothing
        return found != null ? found : TABLES.computeIfAbsent(table, TableVersions::new);
    }
}
