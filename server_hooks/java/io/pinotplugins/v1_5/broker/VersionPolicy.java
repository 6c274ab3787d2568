package io.pinotplugins.v1_5.broker;

import java.util.Map;

/** Chooses the versions at which a query reads its upsert tables; called in the broker's request threads. */
public interface VersionPolicy {
    /**
     * Returns {@code orders_REALTIME:17,users_REALTIME:4}, or null if the query reads no upsert table or
     * requests all rows. Throws to reject the query.
     *
     * @param sql the query
     * @param options its query options, wherever they were set
     */
    String versions(String sql, Map<String, String> options);
}
