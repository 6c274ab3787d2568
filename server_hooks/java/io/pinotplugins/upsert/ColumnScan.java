package io.pinotplugins.upsert;

import java.io.IOException;
import java.util.Arrays;
import org.apache.pinot.segment.spi.index.reader.ForwardIndexReader;
import org.apache.pinot.segment.spi.index.reader.ForwardIndexReaderContext;
import org.roaringbitmap.buffer.BufferBitSetUtil;
import org.roaringbitmap.buffer.MutableRoaringBitmap;

/** One scan of a column: which rows have a value up to a version, and which have a later one. */
final class ColumnScan {
    private static final int PAGE_ROWS = 10_000;

    private final int rows;
    private final long version;
    private final int maxLater;
    private final long[] words;
    private int[] laterRows = new int[0];
    private long[] laterVersions = new long[0];
    private int later;

    private ColumnScan(int rows, long version, int maxLater) {
        this.rows = rows;
        this.version = version;
        this.maxLater = maxLater;
        this.words = new long[(rows + 63) >>> 6];
    }

    /** @param maxLater how many rows with later values are recorded at most */
    static <T extends ForwardIndexReaderContext> ColumnScan of(
            ForwardIndexReader<T> column, int rows, long version, int maxLater) throws IOException {
        ColumnScan made = new ColumnScan(rows, version, maxLater);
        made.read(column);
        return made;
    }

    /** The rows with a value from 0 to the version. */
    MutableRoaringBitmap found() {
        MutableRoaringBitmap found = BufferBitSetUtil.bitmapOf(words);
        found.runOptimize();
        return found;
    }

    /** Whether all rows with later values were recorded. */
    boolean hasAllLater() {
        return later <= maxLater;
    }

    /** Adds the rows with later values to a log. */
    void addLater(RowLog log) {
        log.add(laterRows, laterVersions, 0, later);
    }

    private <T extends ForwardIndexReaderContext> void read(ForwardIndexReader<T> column) throws IOException {
        int[] numbers = new int[PAGE_ROWS];
        long[] values = new long[PAGE_ROWS];
        try (T context = column.createContext()) {
            for (int start = 0; start < rows; start += PAGE_ROWS) {
                int count = Math.min(PAGE_ROWS, rows - start);
                for (int number = 0; number < count; number++) {
                    numbers[number] = start + number;
                }
                column.readValuesSV(numbers, count, values, context);
                for (int number = 0; number < count; number++) {
                    take(start + number, values[number]);
                }
            }
        }
    }

    private void take(int row, long value) {
        if (value < 0) {
            return;
        }
        if (value <= version) {
            words[row >>> 6] |= 1L << (row & 63);
        } else if (later < maxLater) {
            if (later == laterRows.length) {
                int more = Math.max(16, 2 * later);
                laterRows = Arrays.copyOf(laterRows, more);
                laterVersions = Arrays.copyOf(laterVersions, more);
            }
            laterRows[later] = row;
            laterVersions[later] = value;
            later++;
        } else {
            later = maxLater + 1;
        }
    }
}
