package io.pinotplugins.v0_11.broker;

/** Decides about queries; called in the threads of the broker's requests. */
public interface QueryPolicy {
    /** Returns why a query for the multi-stage engine is rejected, or null. Must not throw. */
    String refusal(BrokerRequest request);

    /**
     * Returns the SQL condition to add to a query for its table, or null if it sees all rows. Throws to
     * reject the query.
     *
     * @param table name of the table as written in the query
     * @param request the request; null if the query is compiled for another purpose than an answer
     */
    String condition(String table, BrokerRequest request);
}
