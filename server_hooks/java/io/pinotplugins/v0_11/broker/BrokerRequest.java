package io.pinotplugins.v0_11.broker;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.pinot.broker.requesthandler.BaseBrokerRequestHandler;
import org.apache.pinot.sql.parsers.CalciteSqlParser;
import org.apache.pinot.sql.parsers.SqlNodeAndOptions;

/** A request of the broker, used by the thread that handles it. */
public final class BrokerRequest {
    private static final List<String> KEYS_OF_OPTIONS = List.of("debugOptions", "queryOptions");

    private final JsonNode json;
    private final SqlNodeAndOptions parsed;
    private final Map<String, Long> versions = new HashMap<>();

    BrokerRequest(JsonNode json, SqlNodeAndOptions parsed) {
        this.json = json;
        this.parsed = parsed;
    }

    public String sql() {
        return json.get("sql").asText();
    }

    /** Those of the request, and over them those of the SQL, as Pinot takes them. */
    public Map<String, String> options() {
        Map<String, String> found = new HashMap<>();
        for (String key : KEYS_OF_OPTIONS) {
            if (json.has(key)) {
                found.putAll(BaseBrokerRequestHandler.getOptionsFromJson(json, key));
            }
        }
        SqlNodeAndOptions sql = parsed != null ? parsed : CalciteSqlParser.compileToSqlNodeAndOptions(sql());
        found.putAll(sql.getOptions());
        return found;
    }

    /** Versions that this request's tables are asked at already, by table; can be changed. */
    public Map<String, Long> versions() {
        return versions;
    }
}
