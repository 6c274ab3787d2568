"""``pinotctl serve minion``: run a minion with Python task executors."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import click
from click.core import ParameterSource

from controller_client.monitoring import Monitoring
from controller_client.monitoring.catalogue import MINION
from jvm_bridge.jars import pinot_jars
from jvm_bridge.jvm import start_jvm
from jvm_bridge.minion import (
    DEFAULT_TAG,
    MinionSettings,
    StockMinion,
    host_minion,
    load_executors,
    read_stock_minion,
)
from jvm_bridge.role_host import java_options_but_log
from pinotctl.commands.jar_progress import jar_progress
from pinotctl.commands.serve.joining import controllers_in_zookeeper, joined_cluster
from pinotctl.context import CliContext, pass_cli
from pinotctl.monitoring import role_monitoring_options, serving
from pinotctl.signals import StopSignal, end_at_once_on_interrupt

__all__ = ["minion"]

_FILE_OPTIONS = ("-configFileName", "-config", "-configFile", "-minionConfig", "-minionConf")


@click.command()
@click.option("--controller", metavar="URL", help="URL of the controller; the same as the global option.")
@click.option(
    "--zookeeper",
    "-zkAddress",
    "zookeeper",
    metavar="ADDRESS",
    help="ZooKeeper address: host:port,...[/chroot]; default: read from the controller.",
)
@click.option(
    "--cluster-name",
    "-clusterName",
    "cluster_name",
    help="Name of the cluster in Helix; default: read from the controller.",
)
@click.option(
    *_FILE_OPTIONS,
    "config_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Configuration file of the stock minion that this one replaces; it sets host and port.",
)
@click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path),
    default=Path("minion"),
    show_default=True,
    help="Folder for work files, for this minion only; its subfolders 'work' and 'pinot-data' are emptied."
    " dataDir in a configuration file takes precedence.",
)
@click.option(
    "--host",
    "-minionHost",
    "host",
    default="127.0.0.1",
    show_default=True,
    help="Host to advertise in the cluster.",
)
@click.option(
    "--port",
    "-minionPort",
    "port",
    type=int,
    default=9514,
    show_default=True,
    help="Port of its admin API; part of its instance name.",
)
@click.option(
    "--tag",
    default=DEFAULT_TAG,
    show_default=True,
    envvar="PINOT_MINION_TAG",
    show_envvar=True,
    help="Helix tag that tasks refer to.",
)
@click.option(
    "--concurrency",
    type=click.IntRange(min=1),
    show_default="number of cores",
    help="Number of subtasks to run at once.",
)
@click.option(
    "--drain",
    "drain_s",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    envvar="PINOT_MINION_DRAIN_S",
    show_envvar=True,
    help="Seconds for running subtasks to finish when the minion stops; after that other minions run them.",
)
@click.option(
    "--max-heap-mb",
    type=click.IntRange(min=64),
    default=512,
    show_default=True,
    help="Maximum Java heap, MiB; -Xmx in JAVA_OPTS takes precedence.",
)
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
    help="After this time without a heartbeat the cluster considers the minion dead.",
)
@role_monitoring_options
@pass_cli
def minion(
    cli: CliContext,
    controller: str | None,
    zookeeper: str | None,
    cluster_name: str | None,
    config_file: Path | None,
    folder: Path,
    host: str,
    port: int,
    tag: str,
    concurrency: int | None,
    drain_s: float,
    max_heap_mb: int,
    wait_s: float,
    zookeeper_session_timeout_ms: int,
    metrics_port: int,
    metrics_host: str,
) -> None:
    """Run a minion with Python task executors until SIGTERM or Ctrl-C.

    It also accepts the arguments of `pinot-admin.sh StartMinion`, e.g. -configFileName minion.conf -zkAddress
    localhost:2181, and JAVA_OPTS. If ZooKeeper and the cluster are given but no controller, it uses the live
    controllers in ZooKeeper.
    """
    _check_one_place(config_file)
    executors = load_executors()
    config = cli.controller_config(controller)
    with jar_progress(cli.out) as progress:
        jars = pinot_jars(progress)
    zookeeper = zookeeper or cli.settings.value("zookeeper")
    cluster_name = cluster_name or cli.settings.value("cluster_name")
    level = {0: "warn", 1: "info"}.get(cli.verbose, "debug")
    properties = {
        "zk.session.timeout": str(zookeeper_session_timeout_ms),
        "pinotPlugins.log.level": level,
    }
    options = java_options_but_log(os.environ)
    stock: StockMinion | None = None
    if config_file:
        start_jvm(max_heap_mb=max_heap_mb, system_properties=properties, options=options, is_role=True)
        stock = read_stock_minion(_stock_arguments(config_file, zookeeper, cluster_name))
        zookeeper, cluster_name = stock.zookeeper_address, stock.cluster_name
    access = cli.zookeeper_access(zookeeper)
    if zookeeper and cluster_name and not controller and not cli.settings["controller"].rank:
        config = controllers_in_zookeeper(config, zookeeper, cluster_name, access, wait_s)
    zookeeper, cluster_name = joined_cluster(config, zookeeper, cluster_name, jars.version, wait_s, access)
    monitoring = Monitoring(MINION)
    settings = MinionSettings(
        controller=config,
        zookeeper_address=zookeeper,
        cluster_name=cluster_name,
        host=host,
        port=port,
        folder=folder.absolute(),
        tag=tag,
        concurrency=concurrency or max(os.cpu_count() or 1, 1),
        max_heap_mb=max_heap_mb,
        system_properties=properties,
        java_options=options,
        drain_s=drain_s,
        executors=executors,
        zookeeper_access=access,
        monitoring=monitoring,
    )
    if stock:
        settings = stock.applied_to(settings, concurrency)
    cli.out.note(f"{settings.instance_id} joins {cluster_name} ({zookeeper}); stop it with Ctrl-C")
    end_at_once_on_interrupt()
    stop = StopSignal()
    with serving(cli.out, monitoring, metrics_host, metrics_port):
        host_minion(settings, stop.event, lambda: stop.take_over(signal.SIGTERM, signal.SIGINT))
    cli.out.note(f"{settings.instance_id} has left the cluster")
    # Pinot 1.3 and later leave threads of Helix and ZooKeeper running, and Python would wait for them.
    from jvm_bridge.shutdown import exit_process

    exit_process(0)


def _check_one_place(config_file: Path | None) -> None:
    """Reject host and port together with a file: stock minions silently use those in the file."""
    context = click.get_current_context()
    given = [
        name for name in ("host", "port") if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    if config_file and given:
        raise click.UsageError(
            f"--{' and --'.join(given)} cannot be combined with a configuration file: set pinot.minion.host"
            " and pinot.minion.port in the file"
        )


def _stock_arguments(config_file: Path, zookeeper: str | None, cluster_name: str | None) -> list[str]:
    arguments = ["-configFileName", str(config_file)]
    if zookeeper:
        arguments += ["-zkAddress", zookeeper]
    if cluster_name:
        arguments += ["-clusterName", cluster_name]
    return arguments
