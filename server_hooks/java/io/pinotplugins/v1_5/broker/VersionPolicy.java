package io.pinotplugins.v1_5.broker;

import java.util.Map;

/** At which versions a query sees its upsert tables; called in the threads of the broker's requests. */
public interface VersionPolicy {
    /**
     * Returns {@code orders_REALTIME:17,users_REALTIME:4}, or null where the query reads no upsert table or
     * asks for all rows. Throws to refuse the query.
     *
     * @param sql the query
     * @param options its query options, from wherever they were given
     */
    String versions(String sql, Map<String, String> options);
}
