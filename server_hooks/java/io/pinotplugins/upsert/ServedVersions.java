package io.pinotplugins.upsert;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The upsert tables of this server: what Python tells of their versions, and what queries ask. */
public final class ServedVersions {
    private static final Map<String, TableVersions> TABLES = new ConcurrentHashMap<>();
    private static volatile long waitMs;

    private ServedVersions() {
    }

    /** @param waitMs how long queries wait for a version that is not complete here */
    public static void install(long waitMs) {
        ServedVersions.waitMs = waitMs;
    }

    /** The server is complete up to a version of a table; before anybody else is told. */
    public static void complete(String table, long version) {
        of(table).complete(version);
    }

    /** The table is gone. */
    public static void forget(String table) {
        TABLES.remove(table);
    }

    /** Returns when a table is complete up to a version, or refuses the query; in the query's thread. */
    public static void await(String table, long version) {
        of(table).await(version, waitMs);
    }

    public static TableVersions of(String table) {
        TableVersions found = TABLES.get(table); // it locks nothing
        return found != null ? found : TABLES.computeIfAbsent(table, TableVersions::new);
    }
}
