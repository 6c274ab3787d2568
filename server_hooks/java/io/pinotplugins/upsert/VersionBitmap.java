package io.pinotplugins.upsert;

import java.util.ArrayDeque;
import java.util.Deque;
import org.roaringbitmap.buffer.ImmutableRoaringBitmap;
import org.roaringbitmap.buffer.MutableRoaringBitmap;

/** The rows of a segment with a value of 0 to a version in a column; never changed, so queries share it. */
final class VersionBitmap {
    /** Those that were asked for last, the newest question first. */
    static final class Recent {
        private final int most;
        private final Deque<VersionBitmap> kept = new ArrayDeque<>();

        /** @param most so many are kept */
        Recent(int most) {
            this.most = most;
        }

        /** That of a version; null for none. */
        VersionBitmap get(long version) {
            for (VersionBitmap each : kept) {
                if (each.version == version) {
                    return each;
                }
            }
            return null;
        }

        /** That of the greatest version up to one, else of the least after it; null for none. */
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

        /** The greatest version; SystemColumns.NIL for none. */
        long newest() {
            return kept.stream().mapToLong(each -> each.version).max().orElse(SystemColumns.NIL);
        }

        void put(VersionBitmap made) {
            kept.addFirst(made);
            if (kept.size() > most) {
                kept.removeLast();
            }
        }

        /** Forgets those of versions from one on. */
        void dropFrom(long version) {
            kept.removeIf(each -> each.version >= version);
        }

        /** Forgets those of versions before one. */
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

    /** This one at another version, as a log says that has all rows of the versions between. */
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
