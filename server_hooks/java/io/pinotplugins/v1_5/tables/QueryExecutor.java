package io.pinotplugins.v1_5.tables;

import io.pinotplugins.upsert.ServerEvents;
import java.util.concurrent.ExecutorService;
import org.apache.pinot.core.operator.blocks.InstanceResponseBlock;
import org.apache.pinot.core.query.executor.ResultsBlockStreamer;
import org.apache.pinot.core.query.executor.ServerQueryExecutorV1Impl;
import org.apache.pinot.core.query.request.ServerQueryRequest;

/**
 * Starts when upsert tables are as far as elsewhere, and has queries wait for their versions; the property
 * {@code pinot.server.query.executor.class} names this class. The multi-stage engine has an executor of its
 * own: its queries wait when their segments are taken, and are refused where one was exchanged meanwhile.
 */
public final class QueryExecutor extends ServerQueryExecutorV1Impl {
    /** Called in the main thread, when the segments are there and before the first query. */
    @Override
    public synchronized void start() {
        ServerEvents.beforeOpen();
        super.start();
    }

    @Override
    public InstanceResponseBlock execute(
            ServerQueryRequest request, ExecutorService executor, ResultsBlockStreamer streamer) {
        try {
            UpsertQueries.begin(request.getTableNameWithType(), request.getQueryContext().getQueryOptions());
            return super.execute(request, executor, streamer);
        } finally {
            UpsertQueries.end();
        }
    }
}
