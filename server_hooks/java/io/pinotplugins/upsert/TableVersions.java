package io.pinotplugins.upsert;

import java.io.IOException;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.pinot.segment.spi.IndexSegment;
import org.apache.pinot.spi.exception.BadQueryRequestException;
import org.roaringbitmap.buffer.ImmutableRoaringBitmap;
import org.roaringbitmap.buffer.MutableRoaringBitmap;

/** Up to which version one table is complete on this server, and the versions of its segments. */
public final class TableVersions {
    private final String table;
    private final Object completed = new Object();
    private volatile long complete = SystemColumns.NIL;

    /** A segment's go when Pinot forgets the segment. */
    private final Map<IndexSegment, SegmentVersions> segments =
        Collections.synchronizedMap(new WeakHashMap<>());

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
        if (!isComplete(version, waitMs)) {
            Counter.REFUSED.add();
            throw new BadQueryRequestException("this server is complete up to version " + complete
                + " of " + table + ", and version " + version + " is asked for: ask again");
        }
    }

    /** Whether the table is complete up to a version, or becomes so. */
    boolean isComplete(long version, long waitMs) {
        if (complete >= version) {
            return true;
        }
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(waitMs);
        synchronized (completed) {
            while (complete < version) {
                long leftMs = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
                if (leftMs <= 0 || !waited(leftMs)) {
                    return false;
                }
            }
        }
        return true;
    }

    /** Somebody writes versions into a segment's rows from now on, and tells of each, up to its end. */
    public SegmentVersions attach(IndexSegment segment) {
        return segments.compute(
            segment, (each, known) -> known != null && known.isShared() ? known : new SegmentVersions(each));
    }

    /** The rows of a segment whose value in a column is of 0 to the version, among its first rows. */
    public ImmutableRoaringBitmap bitmap(IndexSegment segment, String column, long version, int rows)
            throws IOException {
        return first(rows, of(segment).of(column, version, segment));
    }

    /** The rows of a segment that a version shows, among its first rows; queries share it. */
    public MutableRoaringBitmap visible(IndexSegment segment, long version, int rows) throws IOException {
        return first(rows, of(segment).visible(version, segment));
    }

    /** Of a segment into which nobody writes, nothing is kept. */
    private SegmentVersions of(IndexSegment segment) {
        SegmentVersions found = segments.get(segment);
        return found != null ? found : new SegmentVersions(segment);
    }

    private static MutableRoaringBitmap first(int rows, MutableRoaringBitmap all) {
        if (all.isEmpty() || all.last() < rows) {
            return all;
        }
        MutableRoaringBitmap less = all.toMutableRoaringBitmap();
        less.remove((long) rows, 1L << 32);
        return less;
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
