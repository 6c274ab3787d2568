"""SQL over HTTP to the brokers, with an eye on answers that are less than the table."""

from controller_client.broker.client import BrokerClient, QueryResult

__all__ = ["BrokerClient", "QueryResult"]
