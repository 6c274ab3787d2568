"""Checks quickly that ZooKeeper can be reached: Helix would try for a minute and then report little."""

from __future__ import annotations

import socket

from controller_client.errors import UnreachableError
from controller_client.zookeeper.address import parse_hosts

__all__ = ["check_reachable"]

_TIMEOUT_S = 5.0


def check_reachable(address: str) -> None:
    """Connect to one of the hosts.

    Raises:
        UnreachableError: None of them accepts a connection.
    """
    reasons = []
    for host, port in parse_hosts(address):
        try:
            socket.create_connection((host, port), timeout=_TIMEOUT_S).close()
        except OSError as error:
            reasons.append(f"{host}:{port}: {error}")
        else:
            return
    raise UnreachableError(
        f"ZooKeeper does not accept connections: {'; '.join(reasons)}",
        where=address,
        remedy="check that ZooKeeper is running and that the address is correct",
    )
