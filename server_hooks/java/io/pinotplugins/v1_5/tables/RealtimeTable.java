package io.pinotplugins.v1_5.tables;

import io.pinotplugins.upsert.ServerEvents;
import io.pinotplugins.upsert.SystemColumns;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.function.BooleanSupplier;
import org.apache.pinot.common.metadata.segment.SegmentZKMetadata;
import org.apache.pinot.common.utils.LLCSegmentName;
import org.apache.pinot.core.data.manager.realtime.ConsumerCoordinator;
import org.apache.pinot.core.data.manager.realtime.RealtimeSegmentDataManager;
import org.apache.pinot.core.data.manager.realtime.RealtimeTableDataManager;
import org.apache.pinot.segment.local.data.manager.SegmentDataManager;
import org.apache.pinot.segment.local.dedup.PartitionDedupMetadataManager;
import org.apache.pinot.segment.local.segment.index.loader.IndexLoadingConfig;
import org.apache.pinot.segment.local.upsert.PartitionUpsertMetadataManager;
import org.apache.pinot.segment.spi.ImmutableSegment;
import org.apache.pinot.segment.spi.IndexSegment;
import org.apache.pinot.segment.spi.SegmentContext;
import org.apache.pinot.spi.config.table.TableConfig;
import org.apache.pinot.spi.data.Schema;
import org.apache.pinot.spi.utils.retry.AttemptsExceededException;
import org.apache.pinot.spi.utils.retry.RetriableOperationException;

/** A realtime table: its consuming segments can be paused before their first row; maybe an upsert table. */
public final class RealtimeTable extends RealtimeTableDataManager {
    private final ThreadLocal<Acquired> acquired = new ThreadLocal<>();

    /** Parameters as of Pinot's class. */
    public RealtimeTable(Semaphore builds, BooleanSupplier isReady) {
        super(builds, isReady::getAsBoolean); // Pinot 1.4 takes a Supplier
    }

    /** Returns the names of the segments that are loaded now. */
    public Set<String> segmentNames() {
        return Set.copyOf(_segmentDataManagerMap.keySet());
    }

    @Override
    public void addSegment(ImmutableSegment segment, SegmentZKMetadata metadata) {
        if (isOurs()) {
            ServerEvents.beforeAdd(this, segment);
        }
        super.addSegment(segment, metadata);
    }

    @Override
    public void addConsumingSegment(String segment) throws Exception {
        super.addConsumingSegment(segment);
        if (!closesIfDropped(segment) && isOurs()) {
            ServerEvents.consuming(this, segment);
        }
    }

    @Override
    public void addOnlineSegment(String segment) throws Exception {
        super.addOnlineSegment(segment);
        closesIfDropped(segment);
    }

    /** Closes a segment if its table was dropped while it was added: Pinot would keep it, and consume. */
    private boolean closesIfDropped(String segment) {
        boolean isDropped = isShutDown();
        if (isDropped) {
            doOffloadSegment(segment);
        }
        return isDropped;
    }

    @Override
    protected void doOffloadSegment(String segment) {
        super.doOffloadSegment(segment);
        if (isOurs()) {
            ServerEvents.removed(this, segment);
        }
    }

    @Override
    public List<SegmentDataManager> acquireSegments(
            List<String> segments, List<String> optional, List<String> missing) {
        if (!isOurs()) {
            return super.acquireSegments(segments, optional, missing);
        }
        long complete = UpsertQueries.completeUpTo(getTableName());
        List<SegmentDataManager> found = super.acquireSegments(segments, optional, missing);
        acquired.set(new Acquired(found, complete));
        return found;
    }

    /** Called in the thread that acquired the query's segments, with those that Pinot did not prune. */
    @Override
    public List<SegmentContext> getSegmentContexts(List<IndexSegment> segments, Map<String, String> options) {
        if (!isOurs()) {
            return super.getSegmentContexts(segments, options);
        }
        Acquired all = acquired.get();
        if (UpsertQueries.areAllSeen(getTableName(), options)) {
            return Unbounded.of(super.getSegmentContexts(all.all(segments), options));
        }
        long version = UpsertQueries.await(getTableName(), options);
        all.checkHere(version, this::current);
        boolean isPruned = UpsertQueries.isPruned(options);
        List<SegmentContext> contexts =
            super.getSegmentContexts(isPruned ? all.of(version, segments) : all.all(segments), options);
        UpsertQueries.filterRows(getTableName(), contexts, version);
        return isPruned ? contexts : Unbounded.of(contexts);
    }

    /** Returns the segment that has a name now, or null. */
    private IndexSegment current(String name) {
        SegmentDataManager found = _segmentDataManagerMap.get(name);
        return found == null ? null : found.getSegment();
    }

    @Override
    protected RealtimeSegmentDataManager createRealtimeSegmentDataManager(
            SegmentZKMetadata metadata,
            TableConfig table,
            IndexLoadingConfig loading,
            Schema schema,
            LLCSegmentName name,
            ConsumerCoordinator coordinator,
            PartitionUpsertMetadataManager upsert,
            PartitionDedupMetadataManager dedup,
            BooleanSupplier isReady)
            throws AttemptsExceededException, RetriableOperationException {
        return new ConsumingSegment(
                metadata,
                isOurs() ? RowOffsets.in(table) : table,
                this,
                _indexDir.getAbsolutePath(),
                loading,
                schema,
                name,
                coordinator,
                _serverMetrics,
                upsert,
                dedup,
                isReady);
    }

    /** Whether it is one of our upsert tables, and the server maintains them. */
    private boolean isOurs() {
        Schema schema = getCachedTableConfigAndSchema().getRight();
        return ServerEvents.isInstalled() && schema.hasColumn(SystemColumns.OFFSET);
    }
}
