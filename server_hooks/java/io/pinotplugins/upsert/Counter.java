package io.pinotplugins.upsert;

import java.util.concurrent.atomic.AtomicLong;

/** What was done for queries, counted for the metrics. */
public enum Counter {
    /** Bitmaps that were there. */
    HITS,
    /** Bitmaps that were made of another version's. */
    CARRIED,
    /** Bitmaps that were made by a scan of the column. */
    SCANS,
    /** Bitmaps that could not be made, so that Pinot scanned. */
    FAILURES,
    /** Queries that were refused since their version was not complete here. */
    REFUSED;

    private final AtomicLong value = new AtomicLong();

    public void add() {
        value.incrementAndGet();
    }

    public long count() {
        return value.get();
    }
}
