package io.pinotplugins.v0_11.pause;

import java.util.function.Predicate;
import org.apache.pinot.core.data.manager.realtime.RealtimeConsumptionRateManager.ConsumptionRateLimiter;

/**
 * Wraps the rate limiter of a consuming segment, which its consumer calls before each batch, even an empty
 * one. For a released segment the gate is not called any more.
 */
public final class PauseLimiter implements ConsumptionRateLimiter {
    private static volatile Predicate<String> gate;

    private final ConsumptionRateLimiter own;
    private volatile boolean isReleased;

    private PauseLimiter(ConsumptionRateLimiter own) {
        this.own = own;
    }

    /**
     * Sets the gate, before the first limiter is created.
     *
     * @param gate given the name of a consumer's thread, which is the segment's, returns, possibly after a
     *     long time, whether the segment is released; if not, its consumer continues with this batch and asks
     *     again before the next
     */
    public static void install(Predicate<String> gate) {
        PauseLimiter.gate = gate;
    }

    /** Returns the limiter of a segment that is about to consume; Pinot's own if the hook could not start. */
    public static ConsumptionRateLimiter before(ConsumptionRateLimiter own) {
        return gate == null ? own : new PauseLimiter(own);
    }

    @Override
    public void throttle(int messages) {
        if (!isReleased) {
            isReleased = gate.test(Thread.currentThread().getName());
        }
        own.throttle(messages);
    }
}
