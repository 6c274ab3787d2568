package io.pinotplugins.upsert;

import java.util.Arrays;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import org.roaringbitmap.buffer.MutableRoaringBitmap;

/** Which rows had which version written into one column, for the newest versions; one thread at a time. */
final class RowLog {
    /** Together 1 MiB a column, and twice that for a moment. */
    private static final int MOST_ROWS = 1 << 18;
    private static final int MOST_VERSIONS = 256;
    private static final int FIRST_ROWS = 16;

    private static final class Rows {
        int[] numbers = new int[FIRST_ROWS];
        int count;

        void add(int row) {
            if (count == numbers.length) {
                numbers = Arrays.copyOf(numbers, 2 * count);
            }
            numbers[count] = row;
            count++;
        }
    }

    private final TreeMap<Long, Rows> versions = new TreeMap<>();
    private int rows;
    private long since;

    /** @param since the log has all rows of later versions */
    RowLog(long since) {
        this.since = since;
    }

    /** The version after which it has all rows. */
    long since() {
        return since;
    }

    void add(int row, long version) {
        versions.computeIfAbsent(version, each -> new Rows()).add(row);
        rows++;
    }

    /** As add, for many rows. */
    void add(int[] numbers, long[] versions, int from, int to) {
        Rows last = null;
        for (int place = from; place < to; place++) {
            if (last == null || versions[place] != versions[place - 1]) {
                last = this.versions.computeIfAbsent(versions[place], each -> new Rows());
            }
            last.add(numbers[place]);
        }
        rows += to - from;
    }

    /** The rows of versions after one and up to another. */
    MutableRoaringBitmap between(long after, long upTo) {
        MutableRoaringBitmap found = new MutableRoaringBitmap();
        for (Rows each : versions.subMap(after, false, upTo, true).values()) {
            for (int place = 0; place < each.count; place++) {
                found.add(each.numbers[place]);
            }
        }
        return found;
    }

    /** Whether it is to be cut; one version alone is not. */
    boolean isFull() {
        return versions.size() > 1 && (rows > MOST_ROWS || versions.size() > MOST_VERSIONS);
    }

    /** The version up to which a full log is cut. */
    long middle() {
        Iterator<Long> each = versions.keySet().iterator();
        long found = each.next();
        for (int number = 2; number <= versions.size() / 2; number++) {
            found = each.next();
        }
        return found;
    }

    /** Forgets the rows of versions up to one. */
    void cut(long upTo) {
        Map<Long, Rows> old = versions.headMap(upTo, true);
        for (Rows each : old.values()) {
            rows -= each.count;
        }
        old.clear();
        since = upTo;
    }
}
