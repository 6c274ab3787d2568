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

/** The version up to which one table is complete on this server, and the versions of its segments. */
public final class TableVersions {
    private final String table;
    private final Object completed = new Object();
    private volatile long complete = SystemColumns.NIL;

    /** An entry disappears when Pinot releases the segment. */
    private final Map<IndexSegment, SegmentVersions> segments =
        Collections.synchronizedMap(new WeakHashMap<>());

    public TableVersions(String table) {
        this.table = table;
    }

    /** The version up to which the table is complete; SystemColumns.NIL if none is. */
    public long complete() {
        return complete;
    }

    public void complete(long version) {
        synchronized (completed) {
            complete = version;
            completed.notifyAll();
        }
    }

    /** Waits until the table is complete up to a version, or rejects the query after the timeout. */
    public void await(long version, long waitMs) {
        if (!isComplete(version, waitMs)) {
            Counter.REFUSED.add();
            throw new BadQueryRequestException("this server is complete up to version " + complete
                + " of " + table + ", but the query needs version " + version + ": retry the query");
        }
    }

    /** Whether the table is complete up to a version, or becomes so before the timeout. */
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

    /** Registers a writer of versions into a segment's rows, which reports each write until its end. */
    public SegmentVersions attach(IndexSegment segment) {
        return segments.compute(
            segment, (each, last) -> last != null && last.isShared() ? last : new SegmentVersions(each));
    }

    /** Returns the rows, among a segment's first ones, whose value in a column is from 0 to the version. */
    public ImmutableRoaringBitmap bitmap(IndexSegment segment, String column, long version, int rows)
            throws IOException {
        return first(rows, of(segment).of(column, version, segment));
    }

    /** Returns the rows, among a segment's first ones, that are visible in a version; queries share it. */
    public MutableRoaringBitmap visible(IndexSegment segment, long version, int rows) throws IOException {
        return first(rows, of(segment).visible(version, segment));
    }

    /** Returns the versions of a segment; those of a segment without a writer are not stored. */
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
