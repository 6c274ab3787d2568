package io.pinotplugins.v0_11.broker;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.pinot.broker.requesthandler.BaseBrokerRequestHandler;
import org.apache.pinot.sql.parsers.CalciteSqlParser;
import org.apache.pinot.sql.parsers.SqlNodeAndOptions;

/** A request to the broker, used by the thread that handles it. */
public final class BrokerRequest {
    private static final List<String> KEYS_OF_OPTIONS = List.of("debugOptions", "queryOptions");

    private static final int SHOWN = 5;

    private final JsonNode json;
    private final SqlNodeAndOptions parsed;
    private final Map<String, Long> versions = new TreeMap<>();
    private final Map<String, List<String>> lacking = new TreeMap<>();

    BrokerRequest(JsonNode json, SqlNodeAndOptions parsed) {
        this.json = json;
        this.parsed = parsed;
    }

    public String sql() {
        return json.get("sql").asText();
    }

    /** Returns the options of the request, overridden by those in the SQL, as in Pinot. */
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

    /** The versions already chosen for the tables of this request, by table; modifiable. */
    public Map<String, Long> versions() {
        return versions;
    }

    /** The versions as text: {@code orders_REALTIME:17,users_REALTIME:4}. */
    String versionText() {
        return versions.entrySet().stream()
            .map(each -> each.getKey() + ":" + each.getValue())
            .collect(Collectors.joining(","));
    }

    /** Segments that an answer needs and that are not queried, by table; modifiable. */
    Map<String, List<String>> lacking() {
        return lacking;
    }

    /** The message of a request whose answer lacks segments. */
    String refusal() {
        return lacking.entrySet().stream()
            .map(each -> "no server serves " + each.getValue().size() + " segments of " + each.getKey()
                + ", so the answer would lack rows: "
                + each.getValue().stream().sorted().limit(SHOWN).collect(Collectors.joining(", "))
                + (each.getValue().size() > SHOWN ? " and more" : ""))
            .collect(Collectors.joining("; "));
    }
}
