"""Ports for a test's own local cluster."""

from __future__ import annotations

import os
import socket

from jvm_bridge.local_cluster import HOST, ClusterPorts, KafkaPorts

__all__ = ["fixed_ports", "free_base", "is_free"]

_FIRST_BASE, _LAST_BASE, _STEP = 23000, 31000, 50


def free_base() -> int:
    """The first port of a range in which all ports of a cluster are free, including Kafka's."""
    bases = range(_FIRST_BASE, _LAST_BASE, _STEP)
    # Different for two test runs on one machine.
    first = os.getpid() % len(bases)
    rotated: list[int] = [*bases[first:], *bases[:first]]
    for base in rotated:
        kafka = KafkaPorts.from_base(base)
        ports = [*ClusterPorts.from_base(base).named().values(), kafka.client, kafka.controller]
        if all(is_free(port) for port in ports):
            return base
    raise AssertionError("no free ports")


def fixed_ports(count: int) -> list[int]:
    """Free ports outside the range of client connections: a stopped process finds its port free again."""
    first = free_base()
    found = [port for port in range(first, first + _STEP) if is_free(port)]
    assert len(found) >= count, f"only {len(found)} ports are free from {first} on"
    return found[:count]


def is_free(port: int) -> bool:
    """Whether nothing listens on a port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return probe.connect_ex((HOST, port)) != 0
