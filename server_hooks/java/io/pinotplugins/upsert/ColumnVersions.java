package io.pinotplugins.upsert;

import java.io.IOException;
import org.apache.pinot.segment.spi.IndexSegment;
import org.apache.pinot.segment.spi.MutableSegment;
import org.apache.pinot.segment.spi.index.reader.ForwardIndexReader;
import org.roaringbitmap.buffer.MutableRoaringBitmap;

/**
 * Which rows of a segment have a value from 0 to a version in one column. The column is scanned for the first
 * version that a query needs; from then on a log of writes turns the bitmap of one version into that of
 * another. For versions that the log does not reach back to, the column is scanned.
 */
final class ColumnVersions {
    /** With more rows of versions after the first query's than this, there is no log. */
    private static final int MAX_LATER = 1 << 18;

    private final String column;
    /** The lock of scans, so that there is one scan for each version. */
    private final Object scanning = new Object();
    /** Bitmaps of versions that the log reaches; while there is a log at least one, but in the first scan. */
    private final VersionBitmap.Recent recent = new VersionBitmap.Recent(2);
    /** Bitmaps of earlier versions. */
    private final VersionBitmap.Recent older = new VersionBitmap.Recent(1);
    /** Null while writes are not recorded. */
    private RowLog log;
    private boolean isEnded;
    private int forgotten;

    ColumnVersions(String column) {
        this.column = column;
    }

    /** Returns the rows of a segment, at least those that were indexed when the version was complete. */
    MutableRoaringBitmap at(long version, IndexSegment segment) throws IOException {
        MutableRoaringBitmap found = cached(version);
        if (found != null) {
            return found;
        }
        synchronized (scanning) {
            found = cached(version);
            return found != null ? found : scanned(version, segment);
        }
    }

    /** Records versions that were written into rows which had none before. */
    synchronized void wrote(int[] rows, long[] versions, int from, int to) {
        if (log == null && older.isEmpty() || from == to) {
            return;
        }
        long least = Long.MAX_VALUE;
        for (int place = from; place < to; place++) {
            least = Math.min(least, versions[place]);
        }
        older.dropFrom(least);
        if (log == null) {
            return;
        }
        if (least <= Math.max(log.since(), recent.newest())) {
            forget(); // queries may already have used this version: no bitmap may have half of it
            return;
        }
        log.add(rows, versions, from, to);
        while (log != null && log.isFull()) {
            truncate();
        }
    }

    /** Discards all bitmaps and the log, which may be wrong. */
    synchronized void forget() {
        log = null;
        recent.clear();
        older.clear();
        forgotten++;
    }

    /** Stops recording: writes are not reported from now on. */
    synchronized void end() {
        isEnded = true;
        forget();
    }

    private synchronized MutableRoaringBitmap cached(long version) {
        VersionBitmap found = recent.get(version);
        if (found == null) {
            found = older.get(version);
        }
        if (found != null) {
            Counter.HITS.add();
            return found.rows;
        }
        VersionBitmap near = log == null || version < log.since() ? null : recent.nearest(version);
        if (near == null) {
            return null;
        }
        Counter.CARRIED.add();
        VersionBitmap made = near.at(version, log);
        recent.put(made);
        return made.rows;
    }

    private MutableRoaringBitmap scanned(long version, IndexSegment segment) throws IOException {
        Counter.SCANS.add();
        int before;
        RowLog begun = null;
        synchronized (this) {
            before = forgotten;
            if (log == null && !isEnded) {
                // Later writes go into the log; the scan sees earlier ones.
                begun = new RowLog(version);
                log = begun;
            }
        }
        ForwardIndexReader<?> values = segment.getDataSource(column).getForwardIndex();
        ColumnScan scan = ColumnScan.of(values, rowsOf(segment), version, begun == null ? 0 : MAX_LATER);
        VersionBitmap made = new VersionBitmap(version, scan.found());
        synchronized (this) {
            if (forgotten == before && !isEnded) {
                if (begun != null && scan.hasAllLater()) {
                    scan.addLater(begun);
                    recent.put(made);
                } else {
                    log = begun == null ? log : null;
                    older.put(made);
                }
            }
        }
        return made.rows;
    }

    private static int rowsOf(IndexSegment segment) {
        return segment instanceof MutableSegment
            ? ((MutableSegment) segment).getNumDocsIndexed()
            : segment.getSegmentMetadata().getTotalDocs();
    }

    /** Shortens a full log. */
    private void truncate() {
        long upTo = log.middle();
        VersionBitmap newest = recent.nearest(Long.MAX_VALUE);
        if (newest == null) {
            forget(); // the first scan takes so long that the log is full before it ends
            return;
        }
        if (newest.version < upTo) {
            VersionBitmap later = newest.at(upTo, log);
            if (later.rows != newest.rows) {
                later.rows.runOptimize(); // no query uses it yet
            }
            recent.put(later);
        }
        recent.dropBefore(upTo);
        log.dropUpTo(upTo);
    }
}
