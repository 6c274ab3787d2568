"""Health checks for the roles of a local cluster."""

from __future__ import annotations

import http.client
import socket
import struct

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from controller_client.errors import WaitTimeoutError
from jvm_bridge.cluster_ports import HOST
from jvm_bridge.local_cluster.roles import CLUSTER_NAME, KAFKA, ZOOKEEPER, Role

__all__ = ["LiveInstances", "is_healthy"]

_PROBE_TIMEOUT_S = 3.0
_CONNECT_TIMEOUT_S = 30.0


def is_healthy(role: Role) -> bool:
    """Query the role: ``srvr`` for ZooKeeper, ``ApiVersions`` for Kafka, ``GET /health`` for the others."""
    try:
        if role.name == ZOOKEEPER:
            return _zookeeper_answers(role.port)
        if role.name == KAFKA:
            return _kafka_answers(role.port)
        return _health_is_ok(role.port)
    except (OSError, http.client.HTTPException):
        return False


class LiveInstances:
    """Reads Helix' list of live instances; a context manager that holds a ZooKeeper session."""

    def __init__(self, zookeeper_port: int) -> None:
        self._hosts = f"{HOST}:{zookeeper_port}"
        self._client = KazooClient(hosts=self._hosts, timeout=10.0)

    def __enter__(self) -> LiveInstances:
        try:
            self._client.start(timeout=_CONNECT_TIMEOUT_S)
        except KazooTimeoutError as error:
            self._client.close()
            raise WaitTimeoutError(
                f"ZooKeeper opened no session within {_CONNECT_TIMEOUT_S:.0f} s", where=self._hosts
            ) from error
        return self

    def __exit__(self, *_: object) -> None:
        self._client.stop()
        self._client.close()

    def cluster_is_set_up(self) -> bool:
        """Return whether a controller has created the cluster, so that other roles can join."""
        return self._client.exists(f"/{CLUSTER_NAME}/IDEALSTATES/brokerResource") is not None

    def names(self) -> set[str]:
        """Return the names of the live instances."""
        try:
            return set(self._client.get_children(f"/{CLUSTER_NAME}/LIVEINSTANCES"))
        except NoNodeError:
            return set()


def _zookeeper_answers(port: int) -> bool:
    with socket.create_connection((HOST, port), timeout=_PROBE_TIMEOUT_S) as connection:
        # Not "ruok", which it answers before it serves requests, and even if it never will.
        connection.sendall(b"srvr")
        with connection.makefile("rb") as answer:
            return b"\nMode: " in answer.read()


def _kafka_answers(port: int) -> bool:
    # Every Kafka supports ApiVersions in version 0: key, version, the request's id, no client name.
    request = struct.pack(">hhih", 18, 0, 1, -1)
    with socket.create_connection((HOST, port), timeout=_PROBE_TIMEOUT_S) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        with connection.makefile("rb") as answer:
            head = answer.read(10)  # size, the request's id, error code
    return len(head) == 10 and struct.unpack(">iih", head)[1:] == (1, 0)


def _health_is_ok(port: int) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=_PROBE_TIMEOUT_S)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == http.client.OK
    finally:
        connection.close()
