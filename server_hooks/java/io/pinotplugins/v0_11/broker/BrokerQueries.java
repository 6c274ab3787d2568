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

/** The requests that the broker handles: rewriters of queries are not given them. */
public final class BrokerQueries {
    /** The trace field with the versions that a query was answered at. */
    private static final String VERSIONS = "upsertVersions";
    private static final ThreadLocal<BrokerRequest> CURRENT = new ThreadLocal<>();
    private static volatile QueryPolicy policy;

    private BrokerQueries() {
    }

    /** Before the first query. */
    public static void install(QueryPolicy policy) {
        BrokerQueries.policy = policy;
    }

    /** A request begins in this thread; returns what it is refused with, or null. */
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

    /** The answer to this thread's request; a refusal where rows of a version are missing from it. */
    public static BrokerResponse answered(BrokerResponse response) {
        BrokerRequest request = CURRENT.get();
        if (request == null || request.versions().isEmpty()) {
            return response;
        }
        if (!request.lacking().isEmpty()) {
            return new BrokerResponseNative(QueryException.getException(
                QueryException.BROKER_SEGMENT_UNAVAILABLE_ERROR, request.refusal()));
        }
        // One without servers may be a constant of Pinot's.
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

    /** This thread's request is not sent to segments that its answer needs. */
    static void lacks(String table, List<String> segments) {
        BrokerRequest request = CURRENT.get();
        if (request != null) {
            request.lacking().put(table, segments);
        }
    }

    /** The request of this thread has ended. */
    public static void end() {
        CURRENT.remove();
    }

    /** Our rewriter comes after those of Pinot, which are there. */
    public static void addRewriter() {
        CalciteSqlParser.QUERY_REWRITERS.add(new VersionRewriter(policy));
    }

    /** The request that this thread handles; null where it does something else. */
    static BrokerRequest current() {
        return CURRENT.get();
    }
}
