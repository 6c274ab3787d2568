package io.pinotplugins.v1_5.tables;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.apache.pinot.segment.local.data.manager.SegmentDataManager;
import org.apache.pinot.segment.spi.IndexSegment;
import org.apache.pinot.segment.spi.MutableSegment;
import org.apache.pinot.spi.exception.BadQueryRequestException;

/**
 * The segments that a query acquired, and from which Pinot prunes some. Pruning uses the state of a segment
 * at that moment: it misses rows that arrive while the query waits, and versions that are written into rows.
 */
final class Acquired {
    private static final List<WeakReference<IndexSegment>> NONE = List.of();

    /** Weak references: a thread may be idle for a long time, and must not keep the segments alive. */
    private final List<WeakReference<IndexSegment>> segments = new ArrayList<>();
    private final long complete;

    /** @param complete the version up to which the server was complete before they were acquired */
    Acquired(List<SegmentDataManager> segments, long complete) {
        this.complete = complete;
        segments.forEach(each -> this.segments.add(new WeakReference<>(each.getSegment())));
    }

    /**
     * Rejects a query that waited for its version while one of its segments was replaced: only the new
     * segment may have what the version wrote.
     *
     * @param current given a name, returns the segment that has it now, or null
     */
    void checkHere(long version, Function<String, IndexSegment> current) {
        for (WeakReference<IndexSegment> each : complete >= version ? NONE : segments) {
            IndexSegment segment = each.get();
            if (segment == null || current.apply(segment.getSegmentName()) != segment) {
                throw new BadQueryRequestException(
                    "a segment was replaced while the query waited for version " + version
                    + ": retry the query");
            }
        }
    }

    /** Returns the segments chosen by Pinot, and those that may have got rows of the version since. */
    List<IndexSegment> of(long version, List<IndexSegment> chosen) {
        return complete >= version ? chosen : with(chosen, false);
    }

    /** Returns the segments chosen by Pinot, and all others. */
    List<IndexSegment> all(List<IndexSegment> chosen) {
        return with(chosen, true);
    }

    private List<IndexSegment> with(List<IndexSegment> chosen, boolean sealedToo) {
        List<IndexSegment> found = new ArrayList<>(chosen);
        for (WeakReference<IndexSegment> each : segments) {
            IndexSegment segment = each.get();
            boolean matters = sealedToo || segment instanceof MutableSegment;
            if (segment != null && matters && !found.contains(segment)) {
                found.add(segment);
            }
        }
        return found;
    }
}
