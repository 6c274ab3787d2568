package io.pinotplugins.upsert;

import java.io.IOException;
import org.apache.pinot.segment.spi.IndexSegment;
import org.apache.pinot.segment.spi.MutableSegment;
import org.apache.pinot.segment.spi.index.reader.ForwardIndexReader;
import org.roaringbitmap.buffer.MutableRoaringBitmap;

/**
 * Which rows of a segment have a value of 0 to a version in one column. The column is scanned for the first
 * version that a query asks for; from then on a log of what is written makes the bitmap of one version into
 * that of another. Versions that the log does not reach back to are scanned for.
 */
final class ColumnVersions {
    /** So many rows of later versions than the first question's make no log. */
    private static final int MOST_LATER = 1 << 18;

    private final String column;
    /** Held for a scan, so that a version is scanned for once. */
    private final Object scanning = new Object();
    /** Of versions that the log reaches; one at least while there is a log, but in the first scan. */
    private final VersionBitmap.Recent recent = new VersionBitmap.Recent(2);
    /** Of versions before. */
    private final VersionBitmap.Recent older = new VersionBitmap.Recent(1);
    /** Null while nothing is followed. */
    private RowLog log;
    private boolean isEnded;
    private int forgotten;

    ColumnVersions(String column) {
        this.column = column;
    }

    /** The rows of a segment, at least those that were indexed when the version was complete. */
    MutableRoaringBitmap at(long version, IndexSegment segment) throws IOException {
        MutableRoaringBitmap found = known(version);
        if (found != null) {
            return found;
        }
        synchronized (scanning) {
            found = known(version);
            return found != null ? found : scanned(version, segment);
        }
    }

    /** Versions were written into rows, which had none before; after it was done. */
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
            forget(); // about a version that queries may have asked for: nobody is to know it half
            return;
        }
        log.add(rows, versions, from, to);
        while (log != null && log.isFull()) {
            cut();
        }
    }

    /** What is kept may be wrong. */
    synchronized void forget() {
        log = null;
        recent.clear();
        older.clear();
        forgotten++;
    }

    /** From now on nobody tells of what is written. */
    synchronized void end() {
        isEnded = true;
        forget();
    }

    private synchronized MutableRoaringBitmap known(long version) {
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
                // From here on what is written is noted, and what was before the scan sees.
                begun = new RowLog(version);
                log = begun;
            }
        }
        ForwardIndexReader<?> values = segment.getDataSource(column).getForwardIndex();
        ColumnScan scan = ColumnScan.of(values, rowsOf(segment), version, begun == null ? 0 : MOST_LATER);
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

    /** Makes a full log shorter. */
    private void cut() {
        long upTo = log.middle();
        VersionBitmap newest = recent.nearest(Long.MAX_VALUE);
        if (newest == null) {
            forget(); // the first scan takes so long that there is too much to note
            return;
        }
        if (newest.version < upTo) {
            VersionBitmap later = newest.at(upTo, log);
            if (later.rows != newest.rows) {
                later.rows.runOptimize(); // no query has it yet
            }
            recent.put(later);
        }
        recent.dropBefore(upTo);
        log.cut(upTo);
    }
}
