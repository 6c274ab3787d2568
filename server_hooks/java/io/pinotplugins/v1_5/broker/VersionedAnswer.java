package io.pinotplugins.v1_5.broker;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.OutputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.pinot.common.response.BrokerResponse;
import org.apache.pinot.common.response.broker.BrokerResponseNative;
import org.apache.pinot.common.response.broker.BrokerResponseNativeV2;
import org.apache.pinot.common.response.broker.ResultTable;
import org.apache.pinot.spi.exception.QueryErrorCode;
import org.apache.pinot.spi.utils.JsonUtils;

/** An answer at versions of upsert tables: it names them, and has no rows if some are missing. */
final class VersionedAnswer {
    /** The trace field. */
    private static final String VERSIONS = "upsertVersions";
    private static final Set<Integer> MISSING_SEGMENTS = Set.of(
        QueryErrorCode.BROKER_SEGMENT_UNAVAILABLE.getId(), QueryErrorCode.SERVER_SEGMENT_MISSING.getId());

    private VersionedAnswer() {
    }

    /** Adds the versions to Pinot's answer. */
    static BrokerResponse of(BrokerResponse answer, String versions) {
        boolean isPartial = answer.getExceptions().stream()
            .anyMatch(each -> MISSING_SEGMENTS.contains(each.getErrorCode()));
        if (isPartial) {
            answer.setResultTable(null);
            return answer;
        }
        if (answer.getNumServersQueried() == 0) {
            return answer; // it may be one of Pinot's constants
        }
        if (answer instanceof BrokerResponseNative) {
            BrokerResponseNative response = (BrokerResponseNative) answer;
            Map<String, String> trace = new HashMap<>(response.getTraceInfo());
            trace.put(VERSIONS, versions);
            response.setTraceInfo(trace);
            return answer;
        }
        return answer instanceof BrokerResponseNativeV2
            ? traced((BrokerResponseNativeV2) answer, versions)
            : answer;
    }

    /** Adds the trace when an answer of the multi-stage engine is written, as it has no setter for it. */
    private static BrokerResponse traced(BrokerResponseNativeV2 answer, String versions) {
        return (BrokerResponse) Proxy.newProxyInstance(
            BrokerResponse.class.getClassLoader(),
            new Class<?>[] {BrokerResponse.class},
            (proxy, method, arguments) -> {
                switch (method.getName()) {
                    case "toJsonString":
                        return JsonUtils.objectToString(json(answer, versions));
                    case "toMetadataJsonString":
                        ObjectNode metadata = json(answer, versions);
                        metadata.remove("resultTable");
                        return JsonUtils.objectToString(metadata);
                    case "toOutputStream":
                        JsonUtils.objectToOutputStream(json(answer, versions), (OutputStream) arguments[0]);
                        return null;
                    case "getTraceInfo":
                        return Map.of(VERSIONS, versions);
                    default:
                        return call(answer, method, arguments);
                }
            });
    }

    private static ObjectNode json(BrokerResponseNativeV2 answer, String versions) {
        ResultTable rows = answer.getResultTable();
        answer.setResultTable(null);
        ObjectNode whole = JsonUtils.newObjectNode();
        if (rows != null) {
            whole.putPOJO("resultTable", rows); // not converted to a tree, as it may be large
        }
        whole.setAll((ObjectNode) JsonUtils.objectToJsonNode(answer));
        answer.setResultTable(rows);
        whole.putObject("traceInfo").put(VERSIONS, versions);
        return whole;
    }

    private static Object call(BrokerResponse answer, Method method, Object[] arguments) throws Throwable {
        try {
            return method.invoke(answer, arguments);
        } catch (InvocationTargetException error) {
            throw error.getCause();
        }
    }
}
