"""A quick look whether ZooKeeper can be reached: Helix would try for a minute and then say little."""

from __future__ import annotations

import socket

from controller_client.errors import ConfigError, UnreachableError

__all__ = ["check_reachable", "parse_hosts"]

_DEFAULT_PORT = 2181
_TIMEOUT_S = 5.0


def parse_hosts(address: str) -> list[tuple[str, int]]:
    """Hosts and ports of ``host:port,host:port[/chroot]``.

    Raises:
        ConfigError: It is not of that form.
    """
    hosts = []
    for part in address.partition("/")[0].split(","):
        host, _, port = (
            part.strip().rpartition(":") if ":" in part else (part.strip(), "", str(_DEFAULT_PORT))
        )
        if not host or not port.isdecimal():
            raise ConfigError(f"{address!r} is no ZooKeeper address", expected="host:port,...[/chroot]")
        hosts.append((host.strip("[]"), int(port)))
    return hosts


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
        remedy="Check that it runs and that the address is right.",
    )
