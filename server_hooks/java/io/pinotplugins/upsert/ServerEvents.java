package io.pinotplugins.upsert;

import org.apache.pinot.segment.local.data.manager.TableDataManager;
import org.apache.pinot.segment.spi.ImmutableSegment;

/** Passes events of a server's segments to a listener. */
public final class ServerEvents {
    /** Called in Pinot's threads (Helix transitions, commits); must not throw. */
    public interface Listener {
        /** Called before a table adds a sealed segment: queries do not see it yet. */
        void beforeAdd(TableDataManager table, ImmutableSegment segment);

        /** Called after a consuming segment was created; its transition waits for the return. */
        void consuming(TableDataManager table, String segment);

        /** Called after a segment was removed from the table. */
        void removed(TableDataManager table, String segment);

        /** Called in the main thread before the server accepts queries. */
        void beforeOpen();
    }

    private static volatile Listener listener;

    private ServerEvents() {
    }

    /** Sets the listener, before the first segment is added. */
    public static void install(Listener listener) {
        ServerEvents.listener = listener;
    }

    /** Whether there is a listener, so that the server maintains upsert tables. */
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
