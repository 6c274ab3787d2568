package io.pinotplugins.upsert;

import java.util.ArrayDeque;
import java.util.Deque;
import org.roaringbitmap.buffer.ImmutableRoaringBitmap;
import org.roaringbitmap.buffer.MutableRoaringBitmap;

/** The rows of a segment with a value from 0 to a version in a column; immutable, so queries share it. */
final class VersionBitmap {
    /** The most recently used bitmaps, newest first. */
    static final class Recent {
        private final int capacity;
        private final Deque<VersionBitmap> kept = new ArrayDeque<>();

        /** @param capacity how many are kept */
        Recent(int capacity) {
            this.capacity = capacity;
        }

        /** Returns the bitmap of a version, or null. */
        VersionBitmap get(long version) {
            for (VersionBitmap each : kept) {
                if (each.version == version) {
                    return each;
                }
            }
            return null;
        }

        /** Returns the bitmap of the greatest version up to one, else of the least after it, or null. */
        VersionBitmap nearest(long version) {
            VersionBitmap below = null;
            VersionBitmap above = null;
            for (VersionBitmap each : kept) {
                if (each.version <= version) {
                    below = below == null || below.version < each.version ? each : below;
                } else {
                    above = above == null || above.version > each.version ? each : above;
                }
            }
            return below != null ? below : above;
        }

        /** Returns the greatest version, or SystemColumns.NIL. */
        long newest() {
            return kept.stream().mapToLong(each -> each.version).max().orElse(SystemColumns.NIL);
        }

        void put(VersionBitmap made) {
            kept.addFirst(made);
            if (kept.size() > capacity) {
                kept.removeLast();
            }
        }

        /** Drops the bitmaps of versions from one on. */
        void dropFrom(long version) {
            kept.removeIf(each -> each.version >= version);
        }

        /** Drops the bitmaps of versions before one. */
        void dropBefore(long version) {
            kept.removeIf(each -> each.version < version);
        }

        void clear() {
            kept.clear();
        }

        boolean isEmpty() {
            return kept.isEmpty();
        }
    }

    final long version;
    final MutableRoaringBitmap rows;

    VersionBitmap(long version, MutableRoaringBitmap rows) {
        this.version = version;
        this.rows = rows;
    }

    /** Derives the bitmap of another version from a log that has all rows of the versions between. */
    VersionBitmap at(long other, RowLog log) {
        MutableRoaringBitmap changed = log.between(Math.min(version, other), Math.max(version, other));
        if (changed.isEmpty()) {
            return new VersionBitmap(other, rows);
        }
        return new VersionBitmap(
            other,
            other > version
                ? ImmutableRoaringBitmap.or(rows, changed)
                : ImmutableRoaringBitmap.andNot(rows, changed));
    }
}
