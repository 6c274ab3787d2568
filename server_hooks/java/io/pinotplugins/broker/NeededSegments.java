package io.pinotplugins.broker;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The segments that an answer of an upsert table must be of; Pinot leaves out those that no server has. */
public final class NeededSegments {
    private static final Map<String, Set<String>> BY_TABLE = new ConcurrentHashMap<>();

    private NeededSegments() {
    }

    /** Those of a table (with type) from now on; none: whatever Pinot has. */
    public static void set(String table, String[] segments) {
        if (segments.length == 0) {
            BY_TABLE.remove(table);
        } else {
            BY_TABLE.put(table, Set.of(segments));
        }
    }

    /** Those of a table that are in none of some collections. */
    public static List<String> missing(String table, Collection<? extends Collection<String>> asked) {
        return without(BY_TABLE.getOrDefault(table, Set.of()), asked);
    }

    /** Those of some segments that are in none of some collections. */
    public static List<String> without(
            Set<String> segments, Collection<? extends Collection<String>> asked) {
        int found = 0;
        for (Collection<String> each : asked) {
            for (String name : each) {
                found += segments.contains(name) ? 1 : 0;
            }
        }
        if (found >= segments.size()) {
            return List.of();
        }
        Set<String> left = new HashSet<>(segments);
        for (Collection<String> each : asked) {
            each.forEach(left::remove);
        }
        return new ArrayList<>(left);
    }
}
