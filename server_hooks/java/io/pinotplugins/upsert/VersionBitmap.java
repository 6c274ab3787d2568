package io.pinotplugins.upsert;

import java.io.IOException;
import org.apache.pinot.segment.spi.index.reader.ForwardIndexReader;
import org.apache.pinot.segment.spi.index.reader.ForwardIndexReaderContext;
import org.roaringbitmap.buffer.BufferBitSetUtil;
import org.roaringbitmap.buffer.ImmutableRoaringBitmap;
import org.roaringbitmap.buffer.MutableRoaringBitmap;

/** Which of the first rows of a segment have a value of 0 to a version in a column; never changed. */
final class VersionBitmap {
    private static final int PAGE_ROWS = 10_000;

    final long version;
    final int rows;
    private final ImmutableRoaringBitmap found;

    private VersionBitmap(long version, int rows, ImmutableRoaringBitmap found) {
        this.version = version;
        this.rows = rows;
        this.found = found;
    }

    /** No rows were looked at yet. */
    static VersionBitmap empty(long version) {
        return new VersionBitmap(version, 0, new MutableRoaringBitmap());
    }

    /** The bitmap for fewer rows, or for as many. */
    ImmutableRoaringBitmap first(int fewer) {
        if (found.isEmpty() || found.last() < fewer) {
            return found;
        }
        MutableRoaringBitmap less = found.toMutableRoaringBitmap();
        less.remove((long) fewer, 1L << 32);
        return less;
    }

    /** This one with the rows that came since. */
    <T extends ForwardIndexReaderContext> VersionBitmap upTo(int more, ForwardIndexReader<T> column)
            throws IOException {
        long[] words = null;
        int[] numbers = new int[PAGE_ROWS];
        long[] values = new long[PAGE_ROWS];
        try (T context = column.createContext()) {
            for (int start = rows; start < more; start += PAGE_ROWS) {
                int count = Math.min(PAGE_ROWS, more - start);
                for (int number = 0; number < count; number++) {
                    numbers[number] = start + number;
                }
                column.readValuesSV(numbers, count, values, context);
                for (int number = 0; number < count; number++) {
                    if (values[number] >= 0 && values[number] <= version) {
                        if (words == null) {
                            words = new long[(more + 63) >>> 6];
                        }
                        int row = start + number;
                        words[row >>> 6] |= 1L << (row & 63);
                    }
                }
            }
        }
        return new VersionBitmap(version, more, words == null ? found : with(words));
    }

    private ImmutableRoaringBitmap with(long[] words) {
        MutableRoaringBitmap all = BufferBitSetUtil.bitmapOf(words);
        all.or(found);
        all.runOptimize();
        return all;
    }
}
