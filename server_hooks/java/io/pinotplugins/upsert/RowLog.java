package io.pinotplugins.upsert;

import java.util.Arrays;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import org.roaringbitmap.buffer.MutableRoaringBitmap;

/** The rows into which the newest versions were written, for one column; used by one thread at a time. */
final class RowLog {
    /** In total 1 MiB per column, and briefly twice that. */
    private static final int MAX_ROWS = 1 << 18;
    private static final int MAX_VERSIONS = 256;
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

    /** @param since the version after which the log has all rows */
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

    /** Adds many rows, from one index to another. */
    void add(int[] numbers, long[] versions, int from, int to) {
        Rows last = null;
        for (int index = from; index < to; index++) {
            if (last == null || versions[index] != versions[index - 1]) {
                last = this.versions.computeIfAbsent(versions[index], each -> new Rows());
            }
            last.add(numbers[index]);
        }
        rows += to - from;
    }

    /** Returns the rows of the versions after one and up to another. */
    MutableRoaringBitmap between(long after, long upTo) {
        MutableRoaringBitmap found = new MutableRoaringBitmap();
        for (Rows each : versions.subMap(after, false, upTo, true).values()) {
            for (int index = 0; index < each.count; index++) {
                found.add(each.numbers[index]);
            }
        }
        return found;
    }

    /** Whether it has to be shortened; a log of one version is never full. */
    boolean isFull() {
        return versions.size() > 1 && (rows > MAX_ROWS || versions.size() > MAX_VERSIONS);
    }

    /** The version up to which a full log is dropped. */
    long middle() {
        Iterator<Long> each = versions.keySet().iterator();
        long found = each.next();
        for (int number = 2; number <= versions.size() / 2; number++) {
            found = each.next();
        }
        return found;
    }

    /** Drops the rows of versions up to one. */
    void dropUpTo(long upTo) {
        Map<Long, Rows> old = versions.headMap(upTo, true);
        for (Rows each : old.values()) {
            rows -= each.count;
        }
        old.clear();
        since = upTo;
    }
}
