package io.pinotplugins.v0_11.broker;

/** What becomes of queries; called in the threads of the broker's requests. */
public interface QueryPolicy {
    /** Why a query for the multi-stage engine is refused; null where it is not. Must not throw. */
    String refusal(BrokerRequest request);

    /**
     * The condition, in SQL, that a query gets for its table; null where it sees all rows. Throws to
     * refuse it.
     *
     * @param table name of the table, as the query has it
     * @param request what the query is compiled for; null where that is something else than an answer
     */
    String condition(String table, BrokerRequest request);
}
