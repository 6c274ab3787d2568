"""``pinotctl serve minion``: run a minion whose task executors are Python."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import click

from controller_client.cli.context import CliContext, pass_cli
from controller_client.cli.signals import StopSignal, end_at_once_on_interrupt
from controller_client.clock import SystemClock
from controller_client.config import ControllerConfig
from controller_client.errors import NotFoundError, UnreachableError
from jvm_bridge.cli.jar_progress import jar_progress
from jvm_bridge.jars import pinot_jars
from jvm_bridge.jvm import check_jars_fit
from jvm_bridge.minion import DEFAULT_TAG, MinionSettings, host_minion, load_executors

__all__ = ["minion"]

_POLL_INTERVAL_S = 0.5


@click.command()
@click.option("--controller", metavar="URL", help="URL of the controller; as the global option.")
@click.option("--zookeeper", metavar="ADDRESS", help="ZooKeeper; without it the controller is asked.")
@click.option("--cluster-name", help="Helix' name of the cluster; without it the controller is asked.")
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path),
    default=Path("minion"),
    show_default=True,
    help="A folder of its own for work files; its subfolders 'work' and 'pinot-data' are emptied.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Host to advertise in the cluster.")
@click.option("--port", default=9514, show_default=True, help="Port of its admin API; part of its name.")
@click.option("--tag", default=DEFAULT_TAG, show_default=True, help="Helix tag; tasks name it.")
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    default=max(os.cpu_count() or 1, 1),
    show_default="number of cores",
    help="Subtasks it runs at once.",
)
@click.option("--max-heap-mb", type=click.IntRange(min=64), default=512, show_default=True)
@click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(min=0),
    default=60.0,
    show_default=True,
    help="Seconds to wait for a controller that does not answer yet.",
)
@click.option(
    "--zookeeper-session-timeout-ms",
    type=click.IntRange(min=1000),
    default=30_000,
    show_default=True,
    help="After this long without a sign of life the cluster takes it for dead.",
)
@pass_cli
def minion(
    cli: CliContext,
    controller: str | None,
    zookeeper: str | None,
    cluster_name: str | None,
    folder: Path,
    host: str,
    port: int,
    tag: str,
    concurrency: int,
    max_heap_mb: int,
    wait_s: float,
    zookeeper_session_timeout_ms: int,
) -> None:
    """Run a minion whose task executors are Python, until SIGTERM or Ctrl-C."""
    executors = load_executors()
    config = cli.controller_config()
    if controller:
        config = replace(config, url=controller)
    with jar_progress(cli.out) as progress:
        jars = pinot_jars(progress)
    zookeeper, cluster_name = _cluster_of(
        config,
        zookeeper or cli.settings.value("zookeeper"),
        cluster_name or cli.settings.value("cluster_name"),
        jars.version,
        wait_s,
    )
    level = {0: "warn", 1: "info"}.get(cli.verbose, "debug")
    settings = MinionSettings(
        controller=config,
        zookeeper_address=zookeeper,
        cluster_name=cluster_name,
        host=host,
        port=port,
        folder=folder.absolute(),
        tag=tag,
        concurrency=concurrency,
        max_heap_mb=max_heap_mb,
        system_properties={
            "zk.session.timeout": str(zookeeper_session_timeout_ms),
            "pinotPlugins.log.level": level,
        },
        executors=executors,
        zookeeper_access=cli.zookeeper_access(),
    )
    cli.out.note(f"{settings.instance_id} joins {cluster_name} ({zookeeper}); stop it with Ctrl-C")
    end_at_once_on_interrupt()
    stop = StopSignal()
    host_minion(settings, stop.event, lambda: stop.take_over(signal.SIGTERM, signal.SIGINT))
    cli.out.note(f"{settings.instance_id} has left the cluster")
    # Pinot 1.3 and later leave threads of Helix and ZooKeeper behind, and Python would wait for them.
    from jvm_bridge.role_host.shutdown import exit_process

    exit_process(0)


def _cluster_of(
    config: ControllerConfig,
    zookeeper: str | None,
    cluster_name: str | None,
    jars_version: str,
    wait_s: float,
) -> tuple[str, str]:
    """ZooKeeper's address and the cluster's name, asking the controller; checks that the jars fit."""
    from controller_client.client import ControllerClient

    clock = SystemClock()
    deadline = clock.monotonic() + wait_s
    with ControllerClient(config) as client:
        while not client.cluster.healthy():
            if clock.monotonic() > deadline:
                raise UnreachableError(
                    f"The controller did not answer for {wait_s:.0f} s",
                    where=config.url,
                    remedy="Check --controller, or wait longer with --wait.",
                )
            clock.sleep(_POLL_INTERVAL_S)
        check_jars_fit(jars_version, client.cluster.version().text)
        address = zookeeper or client.cluster.zookeeper_address()
        if address is None:
            raise NotFoundError(
                "The controller does not tell the address of its ZooKeeper",
                where=config.url,
                remedy="Pass --zookeeper host:port[/chroot].",
            )
        return address, cluster_name or client.cluster.name()
