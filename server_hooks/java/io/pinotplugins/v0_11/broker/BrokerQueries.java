package io.pinotplugins.v0_11.broker;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.pinot.common.exception.QueryException;
import org.apache.pinot.common.response.BrokerResponse;
import org.apache.pinot.common.response.broker.BrokerResponseNative;
import org.apache.pinot.sql.parsers.CalciteSqlParser;
import org.apache.pinot.sql.parsers.SqlNodeAndOptions;

/** The requests that the broker handles: rewriters of queries are not given them. */
public final class BrokerQueries {
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
