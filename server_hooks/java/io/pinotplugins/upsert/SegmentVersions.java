package io.pinotplugins.upsert;

import java.io.IOException;
import org.apache.pinot.segment.spi.IndexSegment;
import org.apache.pinot.segment.spi.MutableSegment;
import org.apache.pinot.segment.spi.index.mutable.MutableForwardIndex;
import org.roaringbitmap.buffer.ImmutableRoaringBitmap;
import org.roaringbitmap.buffer.MutableRoaringBitmap;

/** The versions of a segment's rows: who writes them tells of it here, and queries ask here. */
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
    /** Of a consuming segment. */
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
     * Writes versions into rows of a consuming segment, whose memory Pinot must not free meanwhile.
     *
     * @param rows each once, and once more where it gets both
     * @param inserted so many of them are inserted by the versions at their places, the others deleted
     * @param isLower whether a row had a later version before
     */
    public void write(int[] rows, long[] versions, int inserted, boolean isLower) {
        for (int place = 0; place < rows.length; place++) {
            (place < inserted ? fromColumn : untilColumn).setLong(rows[place], versions[place]);
        }
        wrote(rows, versions, inserted, isLower);
    }

    /** As write, of a segment whose columns have them already. */
    public void wrote(int[] rows, long[] versions, int inserted, boolean isLower) {
        if (isLower) {
            from.forget();
            until.forget();
        } else {
            from.wrote(rows, versions, 0, inserted);
            until.wrote(rows, versions, inserted, rows.length);
        }
    }

    /** Who attached itself writes nothing more. */
    public synchronized void end() {
        writers--;
        if (writers == 0) {
            from.end();
            until.end();
            last = null;
        }
    }

    /** One writer more; false where there is none any more. */
    synchronized boolean isShared() {
        writers += writers > 0 ? 1 : 0;
        return writers > 0;
    }

    MutableRoaringBitmap of(String column, long version, IndexSegment segment) throws IOException {
        return (column.equals(SystemColumns.VALID_FROM) ? from : until).at(version, segment);
    }

    /** The rows that a version shows; queries share the bitmap. */
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
