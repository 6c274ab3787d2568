package io.pinotplugins.upsert;

import java.util.ArrayDeque;
import java.util.Deque;

/** The bitmaps of the versions of one column that were asked for last; an eighth of a byte a row for each. */
final class RecentBitmaps {
    private static final int VERSIONS = 2;

    /** The newest one first. */
    private final Deque<VersionBitmap> kept = new ArrayDeque<>(VERSIONS + 1);

    /** The bitmap of a version, or an empty one of no rows. */
    synchronized VersionBitmap get(long version) {
        for (VersionBitmap each : kept) {
            if (each.version == version) {
                return each;
            }
        }
        return VersionBitmap.empty(version);
    }

    synchronized void put(VersionBitmap made) {
        kept.removeIf(each -> each.version == made.version);
        kept.addFirst(made);
        if (kept.size() > VERSIONS) {
            kept.removeLast();
        }
    }

    /** Something was written about this version, or later ones. */
    synchronized void drop(long version) {
        kept.removeIf(each -> each.version >= version);
    }
}
