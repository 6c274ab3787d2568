"""Whether ports are free, asked before anything is started that needs them."""

from __future__ import annotations

import errno
import socket
from collections.abc import Mapping

import psutil

from controller_client.errors import SetupError

__all__ = ["check_free"]


def check_free(ports: Mapping[str, int]) -> None:
    """Check that nobody listens on these ports.

    Args:
        ports: Port by what it is for.

    Raises:
        SetupError: Some are taken; the message tells all of them and who has them, as far as it can be seen.
    """
    taken = [f"{port} ({name}): {_holder(port)}" for name, port in ports.items() if not _is_free(port)]
    if taken:
        raise SetupError(
            f"Ports are taken: {'; '.join(taken)}",
            remedy="Stop who has them, or choose other ports.",
        )


def _is_free(port: int) -> bool:
    # Both addresses: a listener on one of them does not hinder a bind to the other, but would get our
    # clients.
    for address in ("127.0.0.1", "0.0.0.0"):  # noqa: S104  # bound for a moment, never listened on
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address, port))
            except OSError as error:
                if error.errno in {errno.EADDRINUSE, errno.EACCES}:
                    return False
                raise
    return True


def _holder(port: int) -> str:
    try:
        connections = psutil.net_connections("tcp")
    except psutil.AccessDenied:
        return "another process"
    listening = [c for c in connections if c.status == psutil.CONN_LISTEN and c.pid and c.laddr]
    for connection in listening:
        if connection.laddr and connection.laddr.port == port:
            try:
                return f"pid {connection.pid}, {psutil.Process(connection.pid).name()}"
            except psutil.NoSuchProcess:
                continue
    return "another user's process, or one in a container"
