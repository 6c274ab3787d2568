package io.pinotplugins.v0_11.broker;

import io.pinotplugins.broker.NeededSegments;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.pinot.common.request.BrokerRequest;
import org.apache.pinot.common.request.DataSource;
import org.apache.pinot.common.request.PinotQuery;
import org.apache.pinot.core.routing.RoutingManager;
import org.apache.pinot.core.routing.RoutingTable;
import org.apache.pinot.sql.parsers.CalciteSqlCompiler;

/** Routes queries so that segments that an answer needs and no server has count as unavailable. */
public final class WholeRouting {
    private WholeRouting() {
    }

    /** Completes the routing that Pinot found for a request; called in the thread of the request. */
    public static RoutingTable whole(RoutingManager manager, BrokerRequest request, RoutingTable found) {
        String table = request.getQuerySource().getTableName();
        List<String> missing = missing(manager, table, request, found);
        if (missing.isEmpty()) {
            return found;
        }
        BrokerQueries.lacks(table, missing);
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
    public static List<String> unrouted(RoutingManager manager, String table, String[] segments) {
        RoutingTable all = manager.getRoutingTable(everything(table));
        return NeededSegments.without(Set.of(segments), asked(all));
    }

    private static List<String> missing(
            RoutingManager manager, String table, BrokerRequest request, RoutingTable found) {
        List<String> missing = NeededSegments.missing(table, asked(found));
        if (missing.isEmpty() || found == null || found.getNumPrunedSegments() == 0
                || request.getPinotQuery().getFilterExpression() == null) {
            return missing;
        }
        // Some were pruned because no row of them meets the condition: route again without it.
        return NeededSegments.missing(table, asked(manager.getRoutingTable(everything(table))));
    }

    private static Collection<List<String>> asked(RoutingTable found) {
        return found == null ? List.of() : found.getServerInstanceToSegmentsMap().values();
    }

    private static BrokerRequest everything(String table) {
        DataSource source = new DataSource();
        source.setTableName(table);
        PinotQuery query = new PinotQuery();
        query.setDataSource(source);
        query.setQueryOptions(new HashMap<>());
        return CalciteSqlCompiler.convertToBrokerRequest(query);
    }
}
