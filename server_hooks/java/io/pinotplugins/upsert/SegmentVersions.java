package io.pinotplugins.upsert;

import java.io.IOException;
import org.apache.pinot.segment.spi.IndexSegment;
import org.apache.pinot.segment.spi.MutableSegment;
import org.apache.pinot.segment.spi.index.mutable.MutableForwardIndex;
import org.roaringbitmap.buffer.ImmutableRoaringBitmap;
import org.roaringbitmap.buffer.MutableRoaringBitmap;

/** The versions of a segment's rows: writers report their changes here, and queries read them. */
public final class SegmentVersions {
    private static final class Visible {
        final MutableRoaringBitmap from;
        final MutableRoaringBitmap until;
        final MutableRoaringBitmap rows;

        Visible(MutableRoaringBitmap from, MutableRoaringBitmap until) {
            this.from = from;
            this.until = until;
            this.rows = until.isEmpty() ? from : ImmutableRoaringBitmap.andNot(from, until);
        }
    }

    private final ColumnVersions from = new ColumnVersions(SystemColumns.VALID_FROM);
    private final ColumnVersions until = new ColumnVersions(SystemColumns.VALID_UNTIL);
    /** The columns of a consuming segment; null for a sealed one. */
    private final MutableForwardIndex fromColumn;
    private final MutableForwardIndex untilColumn;
    private volatile Visible last;
    private int writers = 1;

    SegmentVersions(IndexSegment segment) {
        boolean isConsuming = segment instanceof MutableSegment;
        fromColumn = isConsuming ? column(segment, SystemColumns.VALID_FROM) : null;
        untilColumn = isConsuming ? column(segment, SystemColumns.VALID_UNTIL) : null;
    }

    /**
     * Writes versions into rows of a consuming segment; Pinot must not free its memory meanwhile.
     *
     * @param rows each row once, or twice if it is both inserted and deleted
     * @param inserted how many of the rows, from the first on, are inserted; the others are deleted
     * @param isLower whether a row had a later version before
     */
    public void write(int[] rows, long[] versions, int inserted, boolean isLower) {
        for (int index = 0; index < rows.length; index++) {
            (index < inserted ? fromColumn : untilColumn).setLong(rows[index], versions[index]);
        }
        wrote(rows, versions, inserted, isLower);
    }

    /** Records versions that were already written into the columns; parameters as for write. */
    public void wrote(int[] rows, long[] versions, int inserted, boolean isLower) {
        if (isLower) {
            from.forget();
            until.forget();
        } else {
            from.wrote(rows, versions, 0, inserted);
            until.wrote(rows, versions, inserted, rows.length);
        }
    }

    /** Detaches one writer, which writes nothing more. */
    public synchronized void end() {
        writers--;
        if (writers == 0) {
            from.end();
            until.end();
            last = null;
        }
    }

    /** Adds a writer; returns false if all writers have already detached. */
    synchronized boolean isShared() {
        writers += writers > 0 ? 1 : 0;
        return writers > 0;
    }

    MutableRoaringBitmap of(String column, long version, IndexSegment segment) throws IOException {
        return (column.equals(SystemColumns.VALID_FROM) ? from : until).at(version, segment);
    }

    /** Returns the rows that are visible in a version; queries share the bitmap. */
    MutableRoaringBitmap visible(long version, IndexSegment segment) throws IOException {
        // In this order: a row's delete is written after its insert.
        MutableRoaringBitmap deleted = until.at(version, segment);
        MutableRoaringBitmap inserted = from.at(version, segment);
        Visible found = last;
        if (found == null || found.from != inserted || found.until != deleted) {
            found = new Visible(inserted, deleted);
            last = found;
        }
        return found.rows;
    }

    private static MutableForwardIndex column(IndexSegment segment, String name) {
        return (MutableForwardIndex) segment.getDataSource(name).getForwardIndex();
    }
}
