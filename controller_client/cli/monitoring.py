"""The options by which a long-running command tells of itself, the same on all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from controller_client.cli.output import Output
from controller_client.monitoring import Monitoring, MonitoringServer, catalogue
from controller_client.zookeeper import Lease, LeaseState

__all__ = ["monitoring_options", "publish_lease", "role_monitoring_options", "serving"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


def monitoring_options(command: _Command) -> _Command:
    """Decorator that adds ``--metrics-port`` and ``--metrics-host``: parameters for :func:`serving`."""
    return _options(command, None, None)


def role_monitoring_options(command: _Command) -> _Command:
    """Likewise, for a role of Pinot: whoever starts it may have nothing but Pinot's arguments to give."""
    return _options(command, "PINOT_METRICS_PORT", "PINOT_METRICS_HOST")


def _options(command: _Command, port_variable: str | None, host_variable: str | None) -> _Command:
    port = click.option(
        "--metrics-port",
        type=click.IntRange(0, 65535),
        default=0,
        show_default="0: off",
        envvar=port_variable,
        show_envvar=True,
        help="Serve /metrics for Prometheus, /health and /ready on this port.",
    )
    host = click.option(
        "--metrics-host",
        default="127.0.0.1",
        show_default=True,
        envvar=host_variable,
        show_envvar=True,
        help="Address that they are served at; 0.0.0.0: at all of this machine.",
    )
    return port(host(command))


@contextmanager
def serving(out: Output, monitoring: Monitoring, host: str, port: int) -> Iterator[None]:
    """Serve what a process tells of itself, while it runs; with port 0, nothing.

    Raises:
        SetupError: It cannot listen there.
    """
    if not port:
        yield
        return
    with MonitoringServer(host, port, monitoring) as server:
        out.note(f"metrics are at http://{host}:{server.port}/metrics")
        yield


def publish_lease(monitoring: Monitoring, lease: Lease) -> None:
    """Have it among a process' metrics whether it holds a lease or stands by; nothing once it stops."""

    def held() -> dict[tuple[str, ...], float]:
        # Asked for when it is scraped: a lease is lost by time, too.
        state = lease.state
        return {} if state is LeaseState.RELEASED else {(lease.name,): state is LeaseState.HOLDING}

    monitoring.sample(catalogue.LEASE_HELD, held)
