"""Finds out why ZooKeeper is unreachable: kazoo keeps retrying and reports no reason."""

from __future__ import annotations

import socket
import ssl

from controller_client.config import Tls
from controller_client.zookeeper.address import parse_hosts

__all__ = ["why_unreachable"]

_TIMEOUT_S = 2.0
"""For all hosts together, because it adds to the time of the failed call."""


def why_unreachable(address: str, tls: Tls | None) -> str:
    """Connect to each host once; return the reasons for failures, or an empty string if all succeed.

    Args:
        address: ``host:port,...[/chroot]``.
        tls: TLS settings of the client; None: no TLS.
    """
    reasons = []
    hosts = parse_hosts(address)
    for host, port in hosts:
        try:
            with socket.create_connection((host, port), timeout=_TIMEOUT_S / len(hosts)) as line:
                if tls is not None:
                    _shake_hands(line, host, tls)
        except OSError as error:  # ssl.SSLError is one
            reasons.append(f"{host}:{port}: {error}")
    return "; ".join(reasons)


def _shake_hands(line: socket.socket, host: str, tls: Tls) -> None:
    context = ssl.create_default_context(cafile=tls.ca_file)
    if not tls.verify:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if tls.client_cert_file:
        context.load_cert_chain(tls.client_cert_file, tls.client_key_file)
    with context.wrap_socket(line, server_hostname=host) as secured:
        # With TLS 1.3, a missing client certificate is refused after the handshake; ZooKeeper answers srvr.
        secured.sendall(b"srvr")
        secured.recv(1)
