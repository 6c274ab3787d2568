package io.pinotplugins.upsert;

import java.util.concurrent.atomic.AtomicLong;

/** Counters of queries, for the metrics. */
public enum Counter {
    /** Bitmaps found in the cache. */
    HITS,
    /** Bitmaps derived from another version's. */
    CARRIED,
    /** Bitmaps built by a scan of the column. */
    SCANS,
    /** Bitmaps that could not be built, so that Pinot scanned the column. */
    FAILURES,
    /** Queries that were rejected because their version was not complete here. */
    REFUSED;

    private final AtomicLong value = new AtomicLong();

    public void add() {
        value.incrementAndGet();
    }

    public long count() {
        return value.get();
    }
}
