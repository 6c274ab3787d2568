"""The processes of this project: two of each, so that one can be upgraded at a time."""

from __future__ import annotations

import signal
from collections.abc import Mapping

from tests.faults.day.processes import Role
from tests.support.cluster import PinotCluster
from tests.support.pinot_services import HOSTED_ADDRESSES
from tests.support.service import HOME

__all__ = ["MINIONS", "MINION_TAG", "SCHEDULERS", "SERVERS", "SERVICES", "WATCHES", "roles"]

SERVERS = tuple(HOSTED_ADDRESSES)
MINIONS = ("minion_1", "minion_2")
SCHEDULERS = ("scheduler_1", "scheduler_2")
WATCHES = ("watch_1", "watch_2")
SERVICES = (*SERVERS, *MINIONS, *SCHEDULERS, *WATCHES)
"""All, in the order of an upgrade (docs/upgrades.md)."""

MINION_TAG = "day"

# They release their leases when they are stopped, so nothing waits for a session timeout; a machine that is
# busy for some seconds must not cost them their lease.
_LEASE_S = 20
_SESSION_MS = 10_000
_WATCH_INTERVAL_S = 5  # ten minutes of the day
_REFRESH_S = 5

_SERVER_PROPERTIES = {
    # The product's default instead of the tests' shorter one.
    "pinotPlugins.commitUpload.waitMs": "5000",
    # A stopping server waits until it has had no queries for this long.
    "pinot.server.query.executor.timeout": "5000",
}


def roles(
    pinot: PinotCluster,
    s3_environment: Mapping[str, str],
    metrics: Mapping[str, int],
    ports: Mapping[str, int],
) -> list[Role]:
    """Return all of them.

    Args:
        pinot: The cluster that they join; it has no hosted server yet.
        s3_environment: Environment variables for access to the deep store.
        metrics: The metrics port of each process.
        ports: The port of each minion.
    """
    made = []
    for name in SERVERS:
        service = pinot.add_hosted_server(name, pinot.s3, _SERVER_PROPERTIES)
        command, *arguments = service.arguments[1:]
        words = ("serve", command, *_metrics(metrics[name]), *arguments)
        code = 128 + signal.SIGTERM  # Java's
        made.append(Role(name, words, code, service.environment, service.files))
    common = ("--controller", pinot.controller_url, "-v")
    for name in MINIONS:
        words = (*common, "serve", "minion", *_metrics(metrics[name]), *_minion(pinot, ports[name]))
        made.append(Role(name, words, environment=s3_environment))
    lease = f"--session-timeout={_LEASE_S}"
    for name in SCHEDULERS:
        words = (*common, "scheduler", *_metrics(metrics[name]), lease, f"--refresh={_REFRESH_S}")
        made.append(Role(name, words, environment=s3_environment))
    for name in WATCHES:
        words = (*common, "deepstore", "watch", *_metrics(metrics[name]), lease)
        made.append(Role(name, (*words, f"--interval={_WATCH_INTERVAL_S}"), environment=s3_environment))
    return made


def _metrics(port: int) -> tuple[str, str]:
    return "--metrics-port", str(port)


def _minion(pinot: PinotCluster, port: int) -> tuple[str, ...]:
    options = {
        "--zookeeper": pinot.zookeeper_address,
        "--cluster-name": pinot.cluster_name,
        "--dir": f"{HOME}/work",
        "--tag": MINION_TAG,
        "--port": str(port),
        "--concurrency": "2",
        "--max-heap-mb": "256",
        "--wait": "600",
        "--zookeeper-session-timeout-ms": str(_SESSION_MS),
    }
    return tuple(word for pair in options.items() for word in pair)
