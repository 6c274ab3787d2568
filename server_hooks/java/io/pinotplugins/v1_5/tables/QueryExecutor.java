package io.pinotplugins.v1_5.tables;

import io.pinotplugins.upsert.ServerEvents;
import java.util.concurrent.ExecutorService;
import org.apache.pinot.core.operator.blocks.InstanceResponseBlock;
import org.apache.pinot.core.query.executor.ResultsBlockStreamer;
import org.apache.pinot.core.query.executor.ServerQueryExecutorV1Impl;
import org.apache.pinot.core.query.request.ServerQueryRequest;

/**
 * Starts once upsert tables have caught up with the other servers, and makes queries wait for their versions;
 * set in the property {@code pinot.server.query.executor.class}. The multi-stage engine has its own executor:
 * its queries wait when their segments are acquired, and are rejected if one was replaced meanwhile.
 */
public final class QueryExecutor extends ServerQueryExecutorV1Impl {
    /** Called in the main thread, after the segments are loaded and before the first query. */
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
