package io.pinotplugins.v1_5.broker;

import io.pinotplugins.broker.NeededSegments;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.pinot.broker.routing.manager.BrokerRoutingManager;
import org.apache.pinot.common.metrics.BrokerMetrics;
import org.apache.pinot.common.request.BrokerRequest;
import org.apache.pinot.common.request.DataSource;
import org.apache.pinot.common.request.PinotQuery;
import org.apache.pinot.common.utils.config.QueryOptionsUtils;
import org.apache.pinot.core.routing.RoutingTable;
import org.apache.pinot.core.routing.SegmentsToQuery;
import org.apache.pinot.core.transport.server.routing.stats.ServerRoutingStatsManager;
import org.apache.pinot.spi.env.PinotConfiguration;
import org.apache.pinot.sql.parsers.CalciteSqlCompiler;

/** Routes as Pinot does, but segments that an answer needs and no server has count as unavailable. */
public final class WholeRouting extends BrokerRoutingManager {
    WholeRouting(BrokerMetrics metrics, ServerRoutingStatsManager stats, PinotConfiguration config) {
        super(metrics, stats, config);
    }

    @Override
    public RoutingTable getRoutingTable(BrokerRequest request, String table, long requestId) {
        RoutingTable found = super.getRoutingTable(request, table, requestId);
        List<String> missing = missing(request, table, requestId, found);
        if (missing.isEmpty()) {
            return found;
        }
        if (found == null) {
            return new RoutingTable(Map.of(), missing, 0);
        }
        Set<String> unavailable = new LinkedHashSet<>(found.getUnavailableSegments());
        unavailable.addAll(missing);
        return new RoutingTable(
            found.getServerInstanceToSegmentsMap(),
            new ArrayList<>(unavailable),
            found.getNumPrunedSegments());
    }

    /** Returns which of the given segments of a table a query without a condition would not be sent to. */
    public List<String> unrouted(String table, String[] segments) {
        return NeededSegments.without(Set.of(segments), asked(everything(table, 0)));
    }

    private List<String> missing(BrokerRequest request, String table, long requestId, RoutingTable found) {
        List<String> missing = NeededSegments.missing(table, asked(found));
        if (missing.isEmpty() || found == null || found.getNumPrunedSegments() == 0 && !isSampled(request)) {
            return missing;
        }
        // Some were pruned because no row of them meets the condition: route again without it.
        return NeededSegments.missing(table, asked(everything(table, requestId)));
    }

    private static boolean isSampled(BrokerRequest request) {
        return QueryOptionsUtils.getTableSampler(request.getPinotQuery().getQueryOptions()) != null;
    }

    private RoutingTable everything(String table, long requestId) {
        DataSource source = new DataSource();
        source.setTableName(table);
        PinotQuery query = new PinotQuery();
        query.setDataSource(source);
        query.setQueryOptions(new HashMap<>());
        return super.getRoutingTable(CalciteSqlCompiler.convertToBrokerRequest(query), table, requestId);
    }

    /** Returns the queried segments without the optional ones, which servers may skip. */
    private static Collection<List<String>> asked(RoutingTable found) {
        return found == null
            ? List.of()
            : found.getServerInstanceToSegmentsMap().values().stream()
                .map(SegmentsToQuery::getSegments)
                .collect(Collectors.toList());
    }
}
