"""A client of a Pinot cluster, and what is done to a cluster from outside; it needs neither JVM nor Spark.

The names below are imported on first use, so that ``pinotctl --help`` does not load HTTP and pydantic.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from controller_client.broker.async_client import AsyncBrokerClient
    from controller_client.broker.client import BrokerClient, QueryResult
    from controller_client.client import ControllerClient
    from controller_client.common.names import TableName, TableType
    from controller_client.common.retry import RetryPolicy
    from controller_client.config import BasicAuth, BearerToken, BrokerConfig, ControllerConfig, Secret, Tls
    from controller_client.models import Schema, SegmentMetadata, TableConfig
    from controller_client.publishing.replacement import LineageTimeouts, SegmentReplacement
    from controller_client.rest.capabilities import Capability, PinotVersion
    from controller_client.rest.delete_risks import DeleteRisk

__all__ = [
    "AsyncBrokerClient",
    "BasicAuth",
    "BearerToken",
    "BrokerClient",
    "BrokerConfig",
    "Capability",
    "ControllerClient",
    "ControllerConfig",
    "DeleteRisk",
    "LineageTimeouts",
    "PinotVersion",
    "QueryResult",
    "RetryPolicy",
    "Schema",
    "Secret",
    "SegmentMetadata",
    "SegmentReplacement",
    "TableConfig",
    "TableName",
    "TableType",
    "Tls",
]

_HOME = {
    "AsyncBrokerClient": "broker.async_client",
    "BasicAuth": "config",
    "BearerToken": "config",
    "BrokerClient": "broker.client",
    "BrokerConfig": "config",
    "Capability": "rest.capabilities",
    "ControllerClient": "client",
    "ControllerConfig": "config",
    "DeleteRisk": "rest.delete_risks",
    "LineageTimeouts": "publishing.replacement",
    "PinotVersion": "rest.capabilities",
    "QueryResult": "broker.client",
    "RetryPolicy": "common.retry",
    "Schema": "models",
    "Secret": "config",
    "SegmentMetadata": "models",
    "SegmentReplacement": "publishing.replacement",
    "TableConfig": "models",
    "TableName": "common.names",
    "TableType": "common.names",
    "Tls": "config",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
