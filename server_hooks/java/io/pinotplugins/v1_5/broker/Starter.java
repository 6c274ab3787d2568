package io.pinotplugins.v1_5.broker;

import org.apache.pinot.broker.broker.BrokerAdminApiApplication;
import org.apache.pinot.broker.broker.helix.HelixBrokerStarter;

/** Starts a broker with our request handler and routing; REST and gRPC use the same handler. */
public final class Starter extends HelixBrokerStarter {
    private static volatile VersionPolicy policy;

    /** Sets the policy, before the start. */
    public static void install(VersionPolicy policy) {
        Starter.policy = policy;
    }

    @Override
    protected void initRoutingManager() throws Exception {
        _routingManager = new WholeRouting(_brokerMetrics, _serverRoutingStatsManager, _brokerConf);
        _routingManager.init(_spectatorHelixManager);
    }

    @Override
    protected BrokerAdminApiApplication createBrokerAdminApp() {
        _brokerRequestHandler = new VersionedRequests(_brokerRequestHandler, policy);
        return super.createBrokerAdminApp();
    }
}
