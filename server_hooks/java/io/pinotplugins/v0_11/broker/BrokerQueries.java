package io.pinotplugins.v0_11.broker;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.pinot.common.exception.QueryException;
import org.apache.pinot.common.response.BrokerResponse;
import org.apache.pinot.common.response.broker.BrokerResponseNative;
import org.apache.pinot.sql.parsers.CalciteSqlParser;
import org.apache.pinot.sql.parsers.SqlNodeAndOptions;

/** The requests that the broker handles, by thread: query rewriters do not get them. */
public final class BrokerQueries {
    /** The trace field with the versions at which a query was answered. */
    private static final String VERSIONS = "upsertVersions";
    private static final ThreadLocal<BrokerRequest> CURRENT = new ThreadLocal<>();
    private static volatile QueryPolicy policy;

    private BrokerQueries() {
    }

    /** Sets the policy, before the first query. */
    public static void install(QueryPolicy policy) {
        BrokerQueries.policy = policy;
    }

    /** Called when a request begins in this thread; returns an answer that rejects it, or null. */
    public static BrokerResponse begin(JsonNode json, SqlNodeAndOptions parsed, boolean isMultistage) {
        BrokerRequest request = new BrokerRequest(json, parsed);
        String refusal = isMultistage ? policy.refusal(request) : null;
        if (refusal != null) {
            return new BrokerResponseNative(
                QueryException.getException(QueryException.QUERY_VALIDATION_ERROR, refusal));
        }
        CURRENT.set(request);
        return null;
    }

    /** Returns the answer to this thread's request, or an error if rows of a version are missing from it. */
    public static BrokerResponse answered(BrokerResponse response) {
        BrokerRequest request = CURRENT.get();
        if (request == null || request.versions().isEmpty()) {
            return response;
        }
        if (!request.lacking().isEmpty()) {
            return new BrokerResponseNative(QueryException.getException(
                QueryException.BROKER_SEGMENT_UNAVAILABLE_ERROR, request.refusal()));
        }
        // An answer without servers may be one of Pinot's constants.
        if (response instanceof BrokerResponseNative && response.getNumServersQueried() > 0) {
            BrokerResponseNative answer = (BrokerResponseNative) response;
            Map<String, String> trace = new HashMap<>();
            if (answer.getTraceInfo() != null) {
                trace.putAll(answer.getTraceInfo());
            }
            trace.put(VERSIONS, request.versionText());
            answer.setTraceInfo(trace);
        }
        return response;
    }

    /** Records segments that the answer to this thread's request needs but that are not queried. */
    static void lacks(String table, List<String> segments) {
        BrokerRequest request = CURRENT.get();
        if (request != null) {
            request.lacking().put(table, segments);
        }
    }

    /** Called when this thread's request has ended. */
    public static void end() {
        CURRENT.remove();
    }

    /** Adds our rewriter after Pinot's own, which are already in the list. */
    public static void addRewriter() {
        CalciteSqlParser.QUERY_REWRITERS.add(new VersionRewriter(policy));
    }

    /** Returns the request that this thread handles; null if it does something else. */
    static BrokerRequest current() {
        return CURRENT.get();
    }
}
