package io.pinotplugins.broker;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The segments that an answer of an upsert table must include; Pinot skips those that no server has. */
public final class NeededSegments {
    private static final Map<String, Set<String>> BY_TABLE = new ConcurrentHashMap<>();

    private NeededSegments() {
    }

    /** Sets the segments of a table (with type) from now on; an empty array removes the requirement. */
    public static void set(String table, String[] segments) {
        if (segments.length == 0) {
            BY_TABLE.remove(table);
        } else {
            BY_TABLE.put(table, Set.of(segments));
        }
    }

    /** Returns the needed segments of a table that are in none of the collections. */
    public static List<String> missing(String table, Collection<? extends Collection<String>> asked) {
        return without(BY_TABLE.getOrDefault(table, Set.of()), asked);
    }

    /** Returns which of the given segments are in none of the collections. */
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
