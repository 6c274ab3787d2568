package io.pinotplugins.v1_5.tables;

import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.apache.pinot.common.metadata.segment.SegmentZKMetadata;
import org.apache.pinot.common.metrics.ServerMetrics;
import org.apache.pinot.common.utils.LLCSegmentName;
import org.apache.pinot.core.data.manager.realtime.ConsumerCoordinator;
import org.apache.pinot.core.data.manager.realtime.RealtimeSegmentDataManager;
import org.apache.pinot.core.data.manager.realtime.RealtimeTableDataManager;
import org.apache.pinot.segment.local.dedup.PartitionDedupMetadataManager;
import org.apache.pinot.segment.local.segment.index.loader.IndexLoadingConfig;
import org.apache.pinot.segment.local.upsert.PartitionUpsertMetadataManager;
import org.apache.pinot.spi.config.table.TableConfig;
import org.apache.pinot.spi.data.Schema;
import org.apache.pinot.spi.utils.retry.AttemptsExceededException;
import org.apache.pinot.spi.utils.retry.RetriableOperationException;

/** A consuming segment that asks a gate before its first row, and is not closed while it is sealed. */
public final class ConsumingSegment extends RealtimeSegmentDataManager {
    private static volatile Consumer<ConsumingSegment> gate;

    private final RealtimeTableDataManager manager;
    private final String name;
    private final String startOffset;
    private volatile boolean mustStop;
    private volatile boolean mustCommit;
    /** Used only by the consumer's thread. */
    private boolean hasAsked;

    ConsumingSegment(
            SegmentZKMetadata metadata,
            TableConfig table,
            RealtimeTableDataManager manager,
            String folder,
            IndexLoadingConfig loading,
            Schema schema,
            LLCSegmentName name,
            ConsumerCoordinator coordinator,
            ServerMetrics metrics,
            PartitionUpsertMetadataManager upsert,
            PartitionDedupMetadataManager dedup,
            BooleanSupplier isReady)
            throws AttemptsExceededException, RetriableOperationException {
        super(
                metadata,
                table,
                manager,
                folder,
                loading,
                schema,
                name,
                coordinator,
                metrics,
                upsert,
                dedup,
                isReady);
        this.manager = manager;
        this.name = name.getSegmentName();
        this.startOffset = metadata.getStartOffset();
    }

    /**
     * Sets the gate, before the first segment is created.
     *
     * @param gate given a segment, returns, possibly after a long time, when its consumer may continue: the
     *     segment is released, or stops before its first row; called once per segment, in its consumer's
     *     thread
     */
    public static void install(Consumer<ConsumingSegment> gate) {
        ConsumingSegment.gate = gate;
    }

    /** The start offset. */
    public String startOffset() {
        return startOffset;
    }

    /** Whether Pinot asked it to stop. */
    public boolean mustStop() {
        return mustStop;
    }

    /** Whether it was asked to commit. */
    public boolean mustCommit() {
        return mustCommit;
    }

    /** Also called in a Helix thread that catches up to the offset of another replica's commit. */
    @Override
    protected boolean consumeLoop() throws Exception {
        if (gate != null && !hasAsked && Thread.currentThread().getName().equals(name)) {
            hasAsked = true;
            gate.accept(this);
        }
        return super.consumeLoop();
    }

    /** Pinot closes the segments of a dropped table at once: reading the rows would crash the server then. */
    @Override
    public void goOnlineFromConsuming(SegmentZKMetadata metadata) throws InterruptedException {
        if (!increaseReferenceCount()) {
            return; // closed
        }
        try {
            super.goOnlineFromConsuming(metadata);
        } finally {
            manager.releaseSegment(this);
        }
    }

    @Override
    public void stop() throws InterruptedException {
        mustStop = true;
        super.stop();
    }

    @Override
    public void forceCommit() {
        super.forceCommit();
        mustCommit = true;
    }
}
