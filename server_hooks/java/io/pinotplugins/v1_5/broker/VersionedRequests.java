package io.pinotplugins.v1_5.broker;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.StringJoiner;
import java.util.concurrent.Executor;
import javax.ws.rs.core.HttpHeaders;
import org.apache.hc.client5.http.io.HttpClientConnectionManager;
import org.apache.pinot.broker.requesthandler.BrokerRequestHandler;
import org.apache.pinot.common.response.BrokerResponse;
import org.apache.pinot.common.response.broker.BrokerResponseNative;
import org.apache.pinot.common.utils.request.RequestUtils;
import org.apache.pinot.spi.auth.broker.RequesterIdentity;
import org.apache.pinot.spi.exception.QueryErrorCode;
import org.apache.pinot.spi.exception.QueryException;
import org.apache.pinot.spi.trace.RequestContext;
import org.apache.pinot.spi.utils.CommonConstants.Broker.Request;
import org.apache.pinot.spi.utils.CommonConstants.Broker.Request.QueryOptionKey;
import org.apache.pinot.sql.parsers.SqlNodeAndOptions;
import org.apache.pinot.tsdb.spi.series.TimeSeriesBlock;

/** A broker's requests: adds the versions of its upsert tables to each query as an option. */
final class VersionedRequests implements BrokerRequestHandler {
    /** The same as in {@code v1_5.tables.UpsertQueries}. */
    private static final String VERSIONS = "upsertVersions";
    private static final List<String> OF_SUB_QUERIES = List.of(VERSIONS, QueryOptionKey.SKIP_UPSERT);

    private final BrokerRequestHandler pinot;
    private final VersionPolicy policy;

    VersionedRequests(BrokerRequestHandler pinot, VersionPolicy policy) {
        this.pinot = pinot;
        this.policy = policy;
    }

    @Override
    public BrokerResponse handleRequest(
            JsonNode request,
            SqlNodeAndOptions parsed,
            RequesterIdentity identity,
            RequestContext context,
            HttpHeaders headers)
            throws Exception {
        String sql = request.get(Request.SQL).asText();
        SqlNodeAndOptions query = parsed;
        if (query == null) {
            try {
                query = RequestUtils.parseQuery(sql, request);
            } catch (Exception error) {
                return pinot.handleRequest(request, null, identity, context, headers); // Pinot reports it
            }
        }
        Map<String, String> options = query.getOptions();
        if (!options.containsKey(VERSIONS)) {
            try {
                String versions = policy.versions(sql, options);
                if (versions != null) {
                    options.put(VERSIONS, versions);
                }
            } catch (RuntimeException refused) {
                context.setErrorCode(QueryErrorCode.QUERY_VALIDATION);
                return new BrokerResponseNative(QueryErrorCode.QUERY_VALIDATION, refused.getMessage());
            }
        }
        BrokerResponse answer =
            pinot.handleRequest(withOptions(request, options), query, identity, context, headers);
        String versions = options.get(VERSIONS);
        return versions == null ? answer : VersionedAnswer.of(answer, versions);
    }

    /** Adds the options for sub-queries to the request: these are parsed with the request's options only. */
    private static JsonNode withOptions(JsonNode request, Map<String, String> options) {
        if (OF_SUB_QUERIES.stream().noneMatch(options::containsKey)) {
            return request;
        }
        StringJoiner text = new StringJoiner(";");
        if (request.hasNonNull(Request.QUERY_OPTIONS)) {
            text.add(request.get(Request.QUERY_OPTIONS).asText());
        }
        for (String key : OF_SUB_QUERIES) {
            if (options.containsKey(key)) {
                text.add(key + "=" + options.get(key));
            }
        }
        ObjectNode changed = request.deepCopy();
        return changed.put(Request.QUERY_OPTIONS, text.toString());
    }

    /** Servers reject upsert tables in such a query, as it names no version. */
    @Override
    public TimeSeriesBlock handleTimeSeriesRequest(
            String language,
            String query,
            Map<String, String> parameters,
            RequestContext context,
            RequesterIdentity identity,
            HttpHeaders headers)
            throws QueryException {
        return pinot.handleTimeSeriesRequest(language, query, parameters, context, identity, headers);
    }

    @Override
    public BrokerResponse handleExplainTimeSeriesRequest(
            String language, String query, Map<String, String> parameters) {
        return pinot.handleExplainTimeSeriesRequest(language, query, parameters);
    }

    @Override
    public void start() {
        pinot.start();
    }

    @Override
    public void shutDown() {
        pinot.shutDown();
    }

    @Override
    public Map<Long, String> getRunningQueries() {
        return pinot.getRunningQueries();
    }

    @Override
    public boolean cancelQuery(
            long query, int timeoutMs, Executor executor, HttpClientConnectionManager connections,
            Map<String, Integer> answers)
            throws Exception {
        return pinot.cancelQuery(query, timeoutMs, executor, connections, answers);
    }

    @Override
    public boolean cancelQueryByClientId(
            String client, int timeoutMs, Executor executor, HttpClientConnectionManager connections,
            Map<String, Integer> answers)
            throws Exception {
        return pinot.cancelQueryByClientId(client, timeoutMs, executor, connections, answers);
    }

    @Override
    public OptionalLong getRequestIdByClientId(String client) {
        return pinot.getRequestIdByClientId(client);
    }
}
