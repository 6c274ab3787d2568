package io.pinotplugins.v0_11.pause;

import java.util.function.Consumer;

/** Where the thread of each consuming segment passes once, before it consumes. */
public final class ConsumerGate {
    private static volatile Consumer<Object> gate;

    private ConsumerGate() {
    }

    /**
     * Sets the gate, before the first segment is created.
     *
     * @param gate given a segment's data manager, returns, possibly after a long time, when its consumer may
     *     continue
     */
    public static void install(Consumer<Object> gate) {
        ConsumerGate.gate = gate;
    }

    /** Called in a consumer's thread, with the segment's data manager. */
    public static void pass(Object segment) {
        gate.accept(segment);
    }
}
