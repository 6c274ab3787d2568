"""Start, inspect and stop a whole Pinot cluster on this machine."""

from __future__ import annotations

import signal
from pathlib import Path
from types import FrameType

import click

from controller_client.clock import SystemClock
from controller_client.errors import ConfigError
from jvm_bridge.local_cluster import (
    ClusterPorts,
    KafkaPorts,
    LocalCluster,
    default_folder,
    read_properties,
)
from pinotctl.commands.jar_progress import jar_progress
from pinotctl.commands.log_view import follow, tail
from pinotctl.context import CliContext, pass_cli
from pinotctl.lazy import CommandGroup
from pinotctl.options import confirm, dry_run_option, output_option, yes_option

_MIB = 1024 * 1024

dir_option = click.option(
    "--dir",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the cluster; default: a folder in your data directory.",
)


@click.group(cls=CommandGroup)
def cluster() -> None:
    """Start, inspect and stop a whole Pinot cluster on this machine."""


@cluster.command()
@dir_option
@click.option(
    "--port-base",
    type=int,
    help="First port to use, in this order: ZooKeeper, controller, broker, minion, Kafka (two);"
    " servers use three each from +10 on.",
)
@click.option("--zookeeper-port", type=int, help="Port of ZooKeeper; default: 2123, or set by --port-base.")
@click.option(
    "--controller-port", type=int, help="Port of the controller; default: 9000, or set by --port-base."
)
@click.option("--broker-port", type=int, help="Port of the broker; default: 8099, or set by --port-base.")
@click.option("--minion-port", type=int, help="Port of the minion; default: 9514, or set by --port-base.")
@click.option("--servers", type=click.IntRange(min=1), help="Number of servers; default: 1.")
@click.option("--kafka", is_flag=True, help="Add a Kafka node, also to an existing cluster without one.")
@click.option(
    "--kafka-port", type=int, help="Add a Kafka node that uses this port and the next one; default: 9092."
)
@click.option(
    "--hosted", is_flag=True, help="Run the broker and the servers in Python, with the installed hooks."
)
@click.option(
    "--minion-max-heap-mb",
    "minion_heap_mb",
    type=click.IntRange(min=64),
    help="Maximum Java heap of the minion, MiB; later starts keep it. Default: 512.",
)
@click.option(
    "--properties",
    "properties_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File of additional properties (name=value) for controller, broker and servers;"
    " later starts keep them.",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=1),
    default=180.0,
    show_default=True,
    help="Seconds to wait until all roles answer.",
)
@output_option()
@pass_cli
def up(
    cli: CliContext,
    folder: Path | None,
    port_base: int | None,
    zookeeper_port: int | None,
    controller_port: int | None,
    broker_port: int | None,
    minion_port: int | None,
    servers: int | None,
    kafka: bool,
    kafka_port: int | None,
    hosted: bool,
    minion_heap_mb: int | None,
    properties_file: Path | None,
    timeout_s: float,
) -> None:
    """Start the cluster, or its roles that are not running, and wait until it is ready.

    By default it uses Pinot's usual ports (ZooKeeper 2123). Its data is kept across 'down' and 'up'. Use the
    printed Kafka address in the table configs of realtime tables.
    """
    single = {
        "zookeeper": zookeeper_port,
        "controller": controller_port,
        "broker": broker_port,
        "minion": minion_port,
    }
    local = LocalCluster(folder or default_folder(), _ports(port_base, single, servers))
    _interrupt_on_sigterm()
    with jar_progress(cli.out) as progress:
        result = local.up(
            kafka=_kafka_ports(local.ports.kafka, kafka, kafka_port, port_base),
            hosted=hosted,
            properties=read_properties(properties_file) if properties_file else None,
            minion_heap_mb=minion_heap_mb,
            timeout_s=timeout_s,
            progress=progress,
            on_step=cli.out.note,
        )
    if result.started:
        open_ports = ", ".join(f"{port} ({name})" for name, port in local.ports.on_all_addresses().items())
        cli.out.note(f"listening on all addresses of this machine, without authentication: {open_ports}")
    if not result.started:
        cli.out.note("The cluster is already running; nothing was started.")
    elif result.found:
        cli.out.note(f"Already running: {', '.join(result.found)}")
    addresses = {
        "console": local.controller_url,
        "controller": local.controller_url,
        "broker": local.broker_url,
        "zookeeper": local.zookeeper_address,
    }
    if local.kafka_address:
        addresses["kafka"] = local.kafka_address
    cli.out.record({**addresses, "folder": str(local.folder)})


@cluster.command()
@dir_option
@output_option()
@pass_cli
def status(cli: CliContext, folder: Path | None) -> None:
    """Show the process, port, memory, uptime and health of each role. Exit code 1 unless all are healthy."""
    roles = LocalCluster(folder or default_folder()).status()
    columns = ("role", "pid", "port", "rss_mib", "uptime_s", "health")
    rows = [
        (
            role.role,
            role.pid,
            role.port,
            round(role.rss_bytes / _MIB),
            round(role.uptime_s),
            "ok" if role.healthy else "not_healthy" if role.pid else "down",
        )
        for role in roles
    ]
    cli.out.table(columns, rows)
    cli.out.note(f"{sum(role.rss_bytes for role in roles) / _MIB:.0f} MiB in total")
    if not all(role.healthy for role in roles):
        raise click.exceptions.Exit(1)


@cluster.command()
@dir_option
@click.argument("role", required=False)
@click.option(
    "--tail", "lines", type=click.IntRange(min=0), default=20, show_default=True, help="Lines per role."
)
@click.option("-f", "--follow", "following", is_flag=True, help="Follow new lines until Ctrl-C.")
@output_option()
@pass_cli
def logs(cli: CliContext, folder: Path | None, role: str | None, lines: int, following: bool) -> None:
    """Show the last lines of the logs of all roles, or of ROLE; as JSON, one object per line."""
    local = LocalCluster(folder or default_folder())
    local.status()  # raises an error if there is no cluster
    names = local.role_names()
    if role is not None and role not in names:
        raise ConfigError(f"there is no role {role}", expected=f"one of {', '.join(names)}")
    files = {name: local.log_file(name) for name in ([role] if role else names)}

    def show(name: str, line: str) -> None:
        if cli.out.is_json:
            cli.out.json_line({"role": name, "line": line})
        else:
            cli.out.document(f"{line}\n" if role else f"{name}: {line}\n")

    for name, file in files.items():
        for line in tail(file, lines):
            show(name, line)
    if following:
        for name, line in follow(files, SystemClock()):
            show(name, line)


@cluster.command()
@dir_option
@click.option("--purge", is_flag=True, help="Delete the cluster's data and logs too.")
@dry_run_option
@yes_option
@output_option()
@pass_cli
def down(cli: CliContext, folder: Path | None, purge: bool, dry_run: bool, yes: bool) -> None:
    """Stop the cluster; its data is kept unless --purge is given."""
    local = LocalCluster(folder or default_folder())
    running = [role.role for role in local.status() if role.pid]
    record = {"folder": str(local.folder), "stopped": [], "purged": False, "dry_run": dry_run}
    if dry_run:
        lines = [f"Would stop {', '.join(running)}." if running else "The cluster is not running."]
        if purge:
            lines += [f"Would delete {path}" for path in local.purged_paths()]
        cli.out.result("\n".join(lines), {**record, "running": running})
        return
    if purge:
        confirm(f"Delete all data of the cluster in {local.folder}?", yes=yes)
    stopped = local.down(purge=purge, on_step=cli.out.note)
    lines = ["The cluster is down." if stopped else "The cluster was not running."]
    if purge:
        lines.append(f"Its data in {local.folder} was deleted.")
    cli.out.result("\n".join(lines), {**record, "stopped": list(stopped), "purged": purge})


def _ports(base: int | None, single: dict[str, int | None], servers: int | None) -> ClusterPorts | None:
    """Return the requested ports; None if none were requested, so that a cluster keeps its own."""
    given = {name: port for name, port in single.items() if port is not None}
    if base is None and not given and servers is None:
        return None
    ports = ClusterPorts.usual(servers or 1) if base is None else ClusterPorts.from_base(base, servers or 1)
    return ClusterPorts(
        zookeeper=given.get("zookeeper", ports.zookeeper),
        controller=given.get("controller", ports.controller),
        broker=given.get("broker", ports.broker),
        minion=given.get("minion", ports.minion),
        servers=ports.servers,
    )


def _kafka_ports(
    present: KafkaPorts | None, requested: bool, port: int | None, base: int | None
) -> KafkaPorts | None:
    """Return the ports of a requested Kafka node; those of the present one unless a port is given."""
    if port is not None:
        return KafkaPorts(port, port + 1)
    if not requested or present is not None:
        return present
    return KafkaPorts.usual() if base is None else KafkaPorts.from_base(base)


def _interrupt_on_sigterm() -> None:
    def on_signal(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, on_signal)
