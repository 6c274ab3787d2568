package io.pinotplugins.upsert;

import org.apache.pinot.segment.local.data.manager.TableDataManager;
import org.apache.pinot.segment.spi.ImmutableSegment;

/** What happens to the segments of a server, from where it happens to who listens. */
public final class ServerEvents {
    /** Called in threads of Pinot's (Helix' transitions, commits); must not throw. */
    public interface Listener {
        /** Before a table takes a sealed segment: queries do not see it yet. */
        void beforeAdd(TableDataManager table, ImmutableSegment segment);

        /** A consuming segment was made; it consumes, and its transition waits for the return. */
        void consuming(TableDataManager table, String segment);

        /** A segment was taken out of the table. */
        void removed(TableDataManager table, String segment);

        /** Before the server takes queries; in the main thread. */
        void beforeOpen();
    }

    private static volatile Listener listener;

    private ServerEvents() {
    }

    /** Before the first segment comes. */
    public static void install(Listener listener) {
        ServerEvents.listener = listener;
    }

    /** Whether somebody listens: the server keeps upsert tables. */
    public static boolean isInstalled() {
        return listener != null;
    }

    public static void beforeAdd(TableDataManager table, ImmutableSegment segment) {
        listener.beforeAdd(table, segment);
    }

    public static void consuming(TableDataManager table, String segment) {
        listener.consuming(table, segment);
    }

    public static void removed(TableDataManager table, String segment) {
        listener.removed(table, segment);
    }

    public static void beforeOpen() {
        listener.beforeOpen();
    }
}
