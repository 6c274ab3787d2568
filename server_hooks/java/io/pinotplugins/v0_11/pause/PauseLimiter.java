package io.pinotplugins.v0_11.pause;

import java.util.function.Predicate;
import org.apache.pinot.core.data.manager.realtime.RealtimeConsumptionRateManager.ConsumptionRateLimiter;

/**
 * Stands before the rate limiter of a consuming segment, which its consumer asks before each batch, empty
 * ones as well. A segment that went free is not asked for any more.
 */
public final class PauseLimiter implements ConsumptionRateLimiter {
    private static volatile Predicate<String> gate;

    private final ConsumptionRateLimiter own;
    private volatile boolean isFree;

    private PauseLimiter(ConsumptionRateLimiter own) {
        this.own = own;
    }

    /**
     * Before the first limiter is made.
     *
     * @param gate given the name of a consumer's thread, which is the segment's, returns, maybe after a long
     *     time, whether the segment is free; if not, its consumer goes on with this batch and asks again
     */
    public static void install(Predicate<String> gate) {
        PauseLimiter.gate = gate;
    }

    /** The limiter of a segment that is about to consume; Pinot's own where the hook could not start. */
    public static ConsumptionRateLimiter before(ConsumptionRateLimiter own) {
        return gate == null ? own : new PauseLimiter(own);
    }

    @Override
    public void throttle(int messages) {
        if (!isFree) {
            isFree = gate.test(Thread.currentThread().getName());
        }
        own.throttle(messages);
    }
}
