"""SQL over HTTP to the brokers, with checks for incomplete results."""

from controller_client.broker.client import BrokerClient, QueryResult

__all__ = ["BrokerClient", "QueryResult"]
