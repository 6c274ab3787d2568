package io.pinotplugins.upsert;

import java.util.Set;

/** The columns that an upsert table has in addition to its own; see controller_client/upsert/columns.py. */
public final class SystemColumns {
    public static final String VALID_FROM = "$validFrom";
    public static final String VALID_UNTIL = "$validUntil";
    public static final String OFFSET = "$kafkaOffset";

    /** No version. */
    public static final long NIL = -1;

    public static final Set<String> ALL = Set.of(VALID_FROM, VALID_UNTIL, OFFSET);

    private SystemColumns() {
    }

    /** Whether versions are written into the column after its rows were indexed. */
    public static boolean isVersion(Object column) {
        return VALID_FROM.equals(column) || VALID_UNTIL.equals(column);
    }

    public static boolean contains(String column) {
        return ALL.contains(column);
    }
}
