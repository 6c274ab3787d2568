package io.pinotplugins.upsert;

/** The bitmaps that are kept of a segment. */
final class SegmentBitmaps {
    private final RecentBitmaps from = new RecentBitmaps();
    private final RecentBitmaps until = new RecentBitmaps();

    RecentBitmaps of(String column) {
        return column.equals(SystemColumns.VALID_FROM) ? from : until;
    }

    void drop(long version) {
        from.drop(version);
        until.drop(version);
    }
}
