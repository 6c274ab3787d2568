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
 * The segments that a query acquired, of which Pinot chooses some. It prunes by what it knows of a segment at
 * that moment: not the rows that come while the query waits, nor the versions that are written into rows.
 */
final class Acquired {
    private static final List<WeakReference<IndexSegment>> NONE = List.of();

    /** Weak: a thread may have no further query for long, and the segments go. */
    private final List<WeakReference<IndexSegment>> segments = new ArrayList<>();
    private final long complete;

    /** @param complete up to which version the server was complete before they were acquired */
    Acquired(List<SegmentDataManager> segments, long complete) {
        this.complete = complete;
        segments.forEach(each -> this.segments.add(new WeakReference<>(each.getSegment())));
    }

    /**
     * Refuses a query that waited for its version with segments in whose place others are by now: what the
     * version wrote may be in these alone.
     *
     * @param current given a name, returns the segment that has it now, or null
     */
    void checkHere(long version, Function<String, IndexSegment> current) {
        for (WeakReference<IndexSegment> each : complete >= version ? NONE : segments) {
            IndexSegment segment = each.get();
            if (segment == null || current.apply(segment.getSegmentName()) != segment) {
                throw new BadQueryRequestException(
                    "a segment was exchanged while the query waited for version " + version + ": ask again");
            }
        }
    }

    /** Pinot's choice, and segments that may have got rows of the version since. */
    List<IndexSegment> of(long version, List<IndexSegment> chosen) {
        return complete >= version ? chosen : with(chosen, false);
    }

    /** Pinot's choice, and all others. */
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
