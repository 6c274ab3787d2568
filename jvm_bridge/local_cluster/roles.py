"""The roles of a local cluster: their configuration files, command lines and health checks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from controller_client.errors import SetupError
from controller_client.publishing.routing import NEW_SEGMENTS
from jvm_bridge.cluster_ports import HOST, ClusterPorts, KafkaPorts
from jvm_bridge.jars import JarSet
from jvm_bridge.jdk import Java, module_flags
from jvm_bridge.jvm import logging_options
from jvm_bridge.local_cluster.processes import log_end, marks
from jvm_bridge.local_cluster.settings import LocalClusterSettings, properties_of

__all__ = ["CLUSTER_NAME", "KAFKA", "ZOOKEEPER", "Role", "RoleRunner", "plan_roles"]

CLUSTER_NAME = "PinotCluster"
ZOOKEEPER, KAFKA = "zookeeper", "kafka"

# A role that was killed can rejoin only after its old ZooKeeper session has expired: short, so that this
# takes seconds, but longer than a pause of a small JVM on a busy machine.
_ZOOKEEPER_SESSION_TIMEOUT_MS = 6000
_HTTP_THREADS = "32"
_ZOOKEEPER_MAIN = "org.apache.zookeeper.server.ZooKeeperServerMain"
_PINOT_MAIN = "org.apache.pinot.tools.admin.PinotAdministrator"
_KAFKA_MAIN, _KAFKA_STORAGE_MAIN = "kafka.Kafka", "kafka.tools.StorageTool"
_KAFKA_CLUSTER_ID = "cGlub3QtcGx1Z2lucy0wMQ"  # 16 arbitrary bytes in base64


@dataclass(frozen=True)
class Role:
    """One process of the cluster.

    Attributes:
        name: ``zookeeper``, ``kafka``, ``controller``, ``broker``, ``server-1`` ..., ``minion``.
        port: The port of its health check: an HTTP port, except for ZooKeeper and Kafka.
        instance: Its instance name in Helix; None for ZooKeeper and Kafka.
        heap_mb: Maximum Java heap, MiB.
        properties: Its configuration file.
        ports: All ports on which it listens, by use.
    """

    name: str
    port: int
    instance: str | None
    heap_mb: int
    properties: Mapping[str, str]
    ports: Mapping[str, int] = field(default_factory=dict)


def plan_roles(
    folder: Path, ports: ClusterPorts, settings: LocalClusterSettings | None = None
) -> tuple[Role, ...]:
    """Return the cluster's roles, in start order.

    Args:
        folder: The cluster's folder.
        ports: Its ports.
        settings: Its settings besides its ports.
    """
    settings = settings or LocalClusterSettings()
    servers = [_server(folder, ports, number) for number in range(1, len(ports.servers) + 1)]
    roles = (
        _zookeeper(folder, ports),
        *([_kafka(folder, ports.kafka)] if ports.kafka else []),
        _controller(folder, ports),
        _broker(ports),
        *servers,
        _minion(ports, settings.minion_heap_mb),
    )
    more = {role.name: properties_of(role.name, settings.properties) for role in roles}
    return tuple(replace(role, properties={**role.properties, **more[role.name]}) for role in roles)


@dataclass(frozen=True)
class RoleRunner:
    """Builds the command lines of roles.

    Attributes:
        folder: The cluster's folder.
        ports: The cluster's ports.
        java: The Java to use.
        jars: Pinot's jars.
        timeout_s: How long the minion waits for the controller.
        kafka_jars: Kafka's jars; None if the cluster has no Kafka.
        settings: The cluster's settings besides its ports.
    """

    folder: Path
    ports: ClusterPorts
    java: Java
    jars: JarSet
    timeout_s: float
    kafka_jars: JarSet | None = None
    settings: LocalClusterSettings = field(default_factory=LocalClusterSettings)

    def command(self, role: Role) -> list[str]:
        """Return the role's command line; `write_config` has to write its configuration file before."""
        if role.name == "minion":
            return self._minion(role)
        config = str(self.config_file(role))
        if role.name == ZOOKEEPER:
            return [*self._java(role), _ZOOKEEPER_MAIN, config]
        if role.name == KAFKA:
            return [*self._java(role), _KAFKA_MAIN, config]
        if self._is_hosted(role):
            kind = role.name.partition("-")[0]
            return [*self._python(role), "serve", kind, "-configFileName", config]
        start = {"controller": "StartController", "broker": "StartBroker"}.get(role.name, "StartServer")
        return [*self._java(role), _PINOT_MAIN, start, "-configFileName", config]

    def environment(self, role: Role) -> dict[str, str]:
        """The environment of the role's process."""
        if not self._is_hosted(role):
            return dict(os.environ)
        return {**os.environ, "JAVA_OPTS": " ".join(self._java_options(role))}

    def prepare(self, role: Role, log: Path) -> None:
        """Prepare a role for its first start: Kafka's own tool formats Kafka's folder.

        Raises:
            SetupError: The tool failed; the message has the end of its output, which goes to `log`.
        """
        if role.name != KAFKA or Path(role.properties["log.dirs"], "meta.properties").exists():
            return
        words = ["format", "--cluster-id", _KAFKA_CLUSTER_ID, "--config", str(self.config_file(role))]
        command = [*self._java(role, marked=False), _KAFKA_STORAGE_MAIN, *words]
        with log.open("wb") as output:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, check=False
            )
        if done.returncode:
            raise SetupError(
                f"Kafka's folder could not be formatted; the last lines:{log_end(log)}", where=str(log)
            )

    def config_file(self, role: Role) -> Path:
        """Return the path of the role's configuration file."""
        return self.folder / "conf" / f"{role.name}.properties"

    def write_config(self, role: Role) -> None:
        """Write the role's configuration file."""
        lines = [f"{key}={value}" for key, value in role.properties.items()]
        self.config_file(role).write_text("\n".join(lines) + "\n")

    def _is_hosted(self, role: Role) -> bool:
        return self.settings.hosted and role.name.startswith(("broker", "server-"))

    def _java(self, role: Role, *, marked: bool = True) -> list[str]:
        return [
            str(self.java.executable),
            *self._java_options(role),
            *module_flags(self.java.version),
            *logging_options(level="info"),
            *(f"-D{mark}" for mark in marks(self.folder, role.name) if marked),
            "-cp",
            ":".join(str(jar) for jar in self._jars_of(role).class_path),
        ]

    def _java_options(self, role: Role) -> list[str]:
        properties = {
            "zk.session.timeout": str(_ZOOKEEPER_SESSION_TIMEOUT_MS),
            "java.io.tmpdir": str(self.folder / "tmp"),
            "zookeeper.jmx.log4j.disable": "true",
            "java.net.preferIPv4Stack": "true",
        }
        return [
            f"-Xmx{role.heap_mb}m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-XX:+ExitOnOutOfMemoryError",
            *(f"-D{name}={value}" for name, value in properties.items()),
        ]

    def _jars_of(self, role: Role) -> JarSet:
        if role.name != KAFKA:
            return self.jars
        if self.kafka_jars is None:
            raise ValueError("a cluster with Kafka needs Kafka's jars")
        return self.kafka_jars

    def _minion(self, role: Role) -> list[str]:
        settings = {
            "--controller": f"http://{HOST}:{self.ports.controller}",
            "--zookeeper": f"{HOST}:{self.ports.zookeeper}",
            "--cluster-name": CLUSTER_NAME,
            "--dir": str(self.folder / "minion"),
            "--host": HOST,
            "--port": str(self.ports.minion),
            "--max-heap-mb": str(role.heap_mb),
            "--wait": str(self.timeout_s),
            "--zookeeper-session-timeout-ms": str(_ZOOKEEPER_SESSION_TIMEOUT_MS),
        }
        words = [word for pair in settings.items() for word in pair]
        return [*self._python(role), "-v", "serve", "minion", *words]

    def _python(self, role: Role) -> list[str]:
        # -X accepts any name, so it can carry the marks on a Python command line.
        options = [word for mark in marks(self.folder, role.name) for word in ("-X", mark)]
        return [sys.executable, *options, "-m", "pinotctl"]


def _zookeeper(folder: Path, ports: ClusterPorts) -> Role:
    return Role(
        ZOOKEEPER,
        ports.zookeeper,
        None,
        256,
        {
            "dataDir": str(folder / "zookeeper"),
            "clientPort": str(ports.zookeeper),
            "clientPortAddress": HOST,
            "tickTime": "1000",
            "maxClientCnxns": "0",
            "admin.enableServer": "false",
            "4lw.commands.whitelist": "ruok,srvr",
            "autopurge.snapRetainCount": "3",
            "autopurge.purgeInterval": "24",
        },
        {"zookeeper": ports.zookeeper},
    )


def _kafka(folder: Path, ports: KafkaPorts) -> Role:
    client, controller = (f"{HOST}:{port}" for port in (ports.client, ports.controller))
    properties = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{controller}",
        "listeners": f"PLAINTEXT://{client},CONTROLLER://{controller}",
        "advertised.listeners": f"PLAINTEXT://{client}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": str(folder / KAFKA),
        # For one node; the defaults need three nodes, and 128 MiB of the heap.
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.num.partitions": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        "log.cleaner.dedupe.buffer.size": str(16 * 1024 * 1024),
    }
    taken = {"kafka": ports.client, "kafka controller": ports.controller}
    return Role(KAFKA, ports.client, None, 256, properties, taken)


def _pinot(ports: ClusterPorts) -> dict[str, str]:
    return {
        "pinot.zk.server": f"{HOST}:{ports.zookeeper}",
        "pinot.cluster.name": CLUSTER_NAME,
    }


def _controller(folder: Path, ports: ClusterPorts) -> Role:
    properties = {
        "controller.zk.str": f"{HOST}:{ports.zookeeper}",
        "controller.helix.cluster.name": CLUSTER_NAME,
        "controller.host": HOST,
        "controller.vip.host": HOST,
        "controller.vip.port": str(ports.controller),
        **_listener("controller", ports.controller),
        "controller.data.dir": str(folder / "controller" / "deep-store"),
        "controller.local.temp.dir": str(folder / "controller" / "temp"),
        "controller.tenant.isolation.enable": "true",
    }
    instance = f"Controller_{HOST}_{ports.controller}"
    return Role("controller", ports.controller, instance, 256, properties, {"controller": ports.controller})


def _broker(ports: ClusterPorts) -> Role:
    properties = {
        **_pinot(ports),
        "pinot.broker.hostname": HOST,
        **_listener("pinot.broker.client", ports.broker),
        # There is no other broker to route to: the delay would only make `down` slow.
        "pinot.broker.delayShutdownTimeMs": "0",
        # Pinot 1.x would answer without the segments of the last 5 minutes while a server is away.
        NEW_SEGMENTS: "0",
    }
    return Role(
        "broker", ports.broker, f"Broker_{HOST}_{ports.broker}", 192, properties, {"broker": ports.broker}
    )


def _server(folder: Path, ports: ClusterPorts, number: int) -> Role:
    own, name = ports.servers[number - 1], f"server-{number}"
    taken = {use: port for use, port in ports.named().items() if use.split()[0] == name}
    properties = {
        **_pinot(ports),
        "pinot.server.netty.host": HOST,
        "pinot.server.netty.port": str(own.query),
        **_listener("pinot.server.adminapi", own.admin),
        "pinot.server.grpc.port": str(own.grpc),
        "pinot.server.instance.dataDir": str(folder / name / "data"),
        "pinot.server.instance.segmentTarDir": str(folder / name / "tars"),
        "pinot.server.shutdown.enableQueryCheck": "false",
    }
    return Role(name, own.admin, f"Server_{HOST}_{own.query}", 256, properties, taken)


def _minion(ports: ClusterPorts, heap_mb: int) -> Role:
    return Role(
        "minion", ports.minion, f"Minion_{HOST}_{ports.minion}", heap_mb, {}, {"minion": ports.minion}
    )


def _listener(prefix: str, port: int) -> dict[str, str]:
    """Properties that bind an HTTP listener to loopback; the plain ``.port`` keys bind to every address.

    Pinot 1.x has two threads for each processor. With two processors, four requests that wait for a stream
    which does not answer keep all others waiting for a minute.
    """
    protocol, threads = f"{prefix}.access.protocols", f"{prefix}.http.server.thread.pool"
    return {
        protocol: "http",
        f"{protocol}.http.host": HOST,
        f"{protocol}.http.port": str(port),
        f"{threads}.corePoolSize": _HTTP_THREADS,
        f"{threads}.maxPoolSize": _HTTP_THREADS,
    }
