package io.pinotplugins.upsert;

import java.io.IOException;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.pinot.segment.spi.IndexSegment;
import org.apache.pinot.spi.exception.BadQueryRequestException;
import org.roaringbitmap.buffer.ImmutableRoaringBitmap;

/** Up to which version one table is complete on this server, and the bitmaps of its segments. */
public final class TableVersions {
    private final String table;
    private final Object completed = new Object();
    private volatile long complete = SystemColumns.NIL;

    /** A segment's go when Pinot forgets the segment. */
    private final Map<IndexSegment, SegmentBitmaps> segments = new WeakHashMap<>();
    private volatile long writes;

    public TableVersions(String table) {
        this.table = table;
    }

    /** Up to which version the table is complete; SystemColumns.NIL: up to none. */
    public long complete() {
        return complete;
    }

    public void complete(long version) {
        synchronized (completed) {
            complete = version;
            completed.notifyAll();
        }
    }

    /** Returns when the table is complete up to a version; refuses the query when it does not become so. */
    public void await(long version, long waitMs) {
        if (complete >= version) {
            return;
        }
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(waitMs);
        synchronized (completed) {
            while (complete < version) {
                long leftMs = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
                if (leftMs <= 0 || !waited(leftMs)) {
                    Counter.REFUSED.add();
                    throw new BadQueryRequestException("this server is complete up to version " + complete
                        + " of " + table + ", and version " + version + " is asked for: ask again");
                }
            }
        }
    }

    /** The rows of a segment whose value in a column is of 0 to the version, among its first rows. */
    public ImmutableRoaringBitmap bitmap(IndexSegment segment, String column, long version, int rows)
            throws IOException {
        long before = writes;
        RecentBitmaps recent = of(segment).of(column);
        VersionBitmap known = recent.get(version);
        if (known.rows >= rows) {
            Counter.HITS.add();
            return known.first(rows);
        }
        Counter.SCANS.add();
        VersionBitmap made = known.upTo(rows, segment.getDataSource(column).getForwardIndex());
        synchronized (recent) {
            // Who writes counts first and drops then: what was written while this looked is not kept.
            if (writes == before) {
                recent.put(made);
            }
        }
        return made.first(rows);
    }

    /** Something was written about this version, or later ones: their bitmaps may lack it. */
    public synchronized void wrote(long version) {
        writes = writes + 1;
        synchronized (segments) {
            segments.values().forEach(each -> each.drop(version));
        }
    }

    private SegmentBitmaps of(IndexSegment segment) {
        synchronized (segments) {
            return segments.computeIfAbsent(segment, each -> new SegmentBitmaps());
        }
    }

    private boolean waited(long leftMs) {
        try {
            completed.wait(leftMs);
            return true;
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
