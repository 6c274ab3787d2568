"""Checks that ports are free before a process that needs them starts; uses only the standard library."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from controller_client.errors import SetupError

__all__ = ["check_free"]

_LISTENS = "0A"


def check_free(ports: Mapping[str, int], *, option: str) -> None:
    """Check that no process listens on these ports.

    Args:
        ports: Ports by their use.
        option: The command-line option to choose other ports.

    Raises:
        SetupError: Some are in use; the message lists them, with the processes if they are visible.
    """
    taken = [f"{port} ({name}): {_holder(port)}" for name, port in ports.items() if not _is_free(port)]
    if taken:
        raise SetupError(
            f"ports are in use: {'; '.join(taken)}",
            remedy=f"stop the processes that use them, or choose other ports with {option}",
        )


def _is_free(port: int) -> bool:
    # Both addresses: a listener on one does not prevent a bind to the other, but would get our clients.
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
    sockets = {f"socket:[{inode}]" for inode in _listening(port)}
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or belongs to another user
            for file in (process / "fd").iterdir():
                with suppress(OSError):
                    if str(file.readlink()) in sockets:
                        name = (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
                        return f"pid {process.name}, {name}"
    return "a process of another user or in a container"


def _listening(port: int) -> Iterator[str]:
    """Yield the inodes of the sockets that listen on a port, from /proc/net/tcp."""
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in Path("/proc/net", table).read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                    yield fields[9]
