"""Checks of ZooKeeper's address and paths before anything is sent."""

from __future__ import annotations

import re

from controller_client.common.parsing import whole_number
from controller_client.errors import ConfigError

__all__ = ["check_path", "parse_hosts"]

_DEFAULT_PORT = 2181
_GREATEST_PORT = 65535
# What ZooKeeper itself refuses in a path, except private-use characters.
_NOT_IN_PATH = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufff0-\uffff]|(^|/)[.]{1,2}(/|$)|//|^[^/]|^$")


def parse_hosts(address: str) -> list[tuple[str, int]]:
    """Return the hosts and ports of ``host:port,host:port[/chroot]``.

    Raises:
        ConfigError: The address does not have this form.
    """
    servers, slash, chroot = address.partition("/")
    if chroot:
        check_path(slash + chroot.rstrip("/"))
    hosts = []
    for part in servers.split(","):
        host, _, port = (
            part.strip().rpartition(":") if ":" in part else (part.strip(), "", str(_DEFAULT_PORT))
        )
        number = whole_number(port)
        if not host or number is None or not 0 < number <= _GREATEST_PORT:
            raise ConfigError(f"{address!r} is not a ZooKeeper address", expected="host:port,...[/chroot]")
        hosts.append((host.strip("[]"), number))
    return hosts


def check_path(path: str) -> None:
    """Check that a path is valid for a znode.

    Raises:
        ConfigError: It has an empty part, ``.`` or ``..``, or a character that ZooKeeper refuses.
    """
    if _NOT_IN_PATH.search(path) is not None:
        raise ConfigError(
            f"{path!r} is not a path in ZooKeeper",
            expected="names between slashes, none of them empty, '.' or '..', without control characters",
        )
