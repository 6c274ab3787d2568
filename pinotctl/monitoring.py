"""The monitoring options of long-running commands, the same for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from controller_client.monitoring import Monitoring, MonitoringServer, catalogue
from controller_client.zookeeper import Lease, LeaseState
from pinotctl.output import Output

__all__ = ["monitoring_options", "publish_lease", "role_monitoring_options", "serving"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


def monitoring_options(command: _Command) -> _Command:
    """Decorator that adds ``--metrics-port`` and ``--metrics-host``: parameters for :func:`serving`."""
    return _options(command, None, None)


def role_monitoring_options(command: _Command) -> _Command:
    """Add the same options to the command of a role of Pinot, with environment variables.

    Whoever starts a role may be able to pass Pinot's own arguments only.
    """
    return _options(command, "PINOT_METRICS_PORT", "PINOT_METRICS_HOST")


def _options(command: _Command, port_variable: str | None, host_variable: str | None) -> _Command:
    port = click.option(
        "--metrics-port",
        type=click.IntRange(0, 65535),
        default=0,
        show_default="off",
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
        help="Address to serve them on; 0.0.0.0 for all interfaces of this machine.",
    )
    return port(host(command))


@contextmanager
def serving(out: Output, monitoring: Monitoring, host: str, port: int) -> Iterator[None]:
    """Serve a process' metrics and health while the block runs; with port 0, serve nothing.

    Raises:
        SetupError: It cannot listen on that address.
    """
    if not port:
        yield
        return
    with MonitoringServer(host, port, monitoring) as server:
        out.note(f"Metrics are at http://{host}:{server.port}/metrics")
        yield


def publish_lease(monitoring: Monitoring, lease: Lease) -> None:
    """Publish as a metric whether the process holds a lease or stands by; nothing once it has stopped."""

    def held() -> dict[tuple[str, ...], float]:
        # Read at each scrape: a lease can also be lost by the passing of time.
        state = lease.state
        return {} if state is LeaseState.RELEASED else {(lease.name,): state is LeaseState.HOLDING}

    monitoring.sample(catalogue.LEASE_HELD, held)
