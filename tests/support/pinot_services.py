"""ZooKeeper and the stock Pinot roles of the test cluster: addresses, properties, start commands."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import requests

from tests.support.s3 import S3Access
from tests.support.service import HOME, Program, Service
from tests.support.slot import Port, Slot

CLUSTER_NAME = "PinotPluginsTest"
DEEP_STORE_BUCKET = "deep-store"

ZOOKEEPER_ADDRESS = "127.0.0.13"
CONTROLLER_ADDRESS = "127.0.0.11"
BROKER_ADDRESS = "127.0.0.12"
MINION_ADDRESS = "127.0.0.31"
SERVER_ADDRESSES = {"server_1": ("127.0.0.21", Port.SERVER_1), "server_2": ("127.0.0.22", Port.SERVER_2)}

# A killed role comes back when its old session has expired: 30 s by default.
# ZooKeeper rounds up to two of its ticks.
_SESSION_TIMEOUT_MS = 4000
_PROBE_TIMEOUT_S = 2.0
_S3_FILE_SYSTEM = "org.apache.pinot.plugin.filesystem.S3PinotFS"
_FETCHER = "org.apache.pinot.common.utils.fetcher.PinotFSSegmentFetcher"


@dataclass(frozen=True)
class PinotLayout:
    """Where the cluster's roles are.

    Attributes:
        slot: The session's ports.
        s3: Holds the deep store; None: ``folder`` does.
        folder: A folder of the host for the deep store, seen by all roles.
    """

    slot: Slot
    s3: S3Access | None
    folder: Path

    @property
    def zookeeper(self) -> str:
        """``host:port``."""
        return f"{ZOOKEEPER_ADDRESS}:{self.slot.port(Port.ZOOKEEPER)}"

    @property
    def controller_url(self) -> str:
        """URL."""
        return f"http://{CONTROLLER_ADDRESS}:{self.slot.port(Port.CONTROLLER)}"

    @property
    def broker_url(self) -> str:
        """URL."""
        return f"http://{BROKER_ADDRESS}:{self.slot.port(Port.BROKER)}"

    @property
    def deep_store_uri(self) -> str:
        """Where the controller keeps segments."""
        return f"s3://{DEEP_STORE_BUCKET}/segments" if self.s3 else self.folder.as_uri()

    def zookeeper_service(self) -> Service:
        """Return ZooKeeper, by Pinot's administrator."""
        port = self.slot.port(Port.ZOOKEEPER)
        return Service(
            name="zookeeper",
            program=Program.PINOT,
            arguments=("StartZookeeper", "-zkPort", str(port), "-dataDir", f"{HOME}/data"),
            is_ready=lambda: _zookeeper_answers(ZOOKEEPER_ADDRESS, port),
            environment={"JAVA_OPTS": _java_options(heap_mb=128)},
        )

    def controller_service(self) -> Service:
        """Return the controller."""
        port = self.slot.port(Port.CONTROLLER)
        properties = {
            "controller.helix.cluster.name": CLUSTER_NAME,
            "controller.zk.str": self.zookeeper,
            "controller.host": CONTROLLER_ADDRESS,
            **_http_listener("controller", CONTROLLER_ADDRESS, port),
            "controller.data.dir": self.deep_store_uri,
            "controller.local.temp.dir": f"{HOME}/temp",
            **self._file_systems("pinot.controller"),
        }
        return self._role(
            "controller", "StartController", properties, f"{self.controller_url}/health", heap_mb=320
        )

    def broker_service(self) -> Service:
        """Return the broker."""
        runner = str(self.slot.port(Port.BROKER_RUNNER))
        properties = {
            "pinot.cluster.name": CLUSTER_NAME,
            "pinot.zk.server": self.zookeeper,
            "pinot.broker.hostname": BROKER_ADDRESS,
            **_http_listener("pinot.broker.client", BROKER_ADDRESS, self.slot.port(Port.BROKER)),
            "pinot.query.runner.hostname": BROKER_ADDRESS,
            "pinot.query.runner.port": runner,
        }
        return self._role("broker", "StartBroker", properties, f"{self.broker_url}/health", heap_mb=256)

    def server_service(self, name: str) -> Service:
        """Return a server, ``server_1`` or ``server_2``."""
        address, first = SERVER_ADDRESSES[name]
        netty, admin, grpc, query_server, query_runner = (self.slot.port(first + n) for n in range(5))
        properties = {
            "pinot.cluster.name": CLUSTER_NAME,
            "pinot.zk.server": self.zookeeper,
            # Else a server asks for its outside address even when told one, and ends where there is no route.
            "pinot.set.instance.id.to.hostname": "true",
            "pinot.server.netty.host": address,
            "pinot.server.netty.port": str(netty),
            "pinot.server.grpc.enable": "true",
            "pinot.server.grpc.port": str(grpc),
            "pinot.query.server.port": str(query_server),
            "pinot.query.runner.hostname": address,
            "pinot.query.runner.port": str(query_runner),
            **_http_listener("pinot.server.adminapi", address, admin),
            "pinot.server.instance.dataDir": f"{HOME}/index",
            "pinot.server.instance.segmentTarDir": f"{HOME}/tars",
            **self._file_systems("pinot.server"),
        }
        return self._role(name, "StartServer", properties, f"http://{address}:{admin}/health", heap_mb=320)

    def minion_service(self) -> Service:
        """Return a minion hosted in Python, with the task executors of this checkout."""
        port = self.slot.port(Port.MINION)
        settings = {
            "--controller": self.controller_url,
            "--zookeeper": self.zookeeper,
            "--cluster-name": CLUSTER_NAME,
            "--dir": f"{HOME}/minion",
            "--host": MINION_ADDRESS,
            "--port": str(port),
            "--max-heap-mb": "384",
            "--zookeeper-session-timeout-ms": str(_SESSION_TIMEOUT_MS),
        }
        return Service(
            name="minion",
            program=Program.PINOTCTL,
            arguments=("-v", "serve", "minion", *(word for pair in settings.items() for word in pair)),
            is_ready=lambda: _health(f"http://{MINION_ADDRESS}:{port}/health"),
        )

    def _file_systems(self, role: str) -> dict[str, str]:
        if self.s3 is None:
            return {}
        return {
            f"{role}.storage.factory.class.s3": _S3_FILE_SYSTEM,
            f"{role}.storage.factory.s3.region": self.s3.region,
            f"{role}.storage.factory.s3.endpoint": self.s3.endpoint,
            f"{role}.storage.factory.s3.accessKey": self.s3.access_key,
            f"{role}.storage.factory.s3.secretKey": self.s3.secret_key,
            f"{role}.segment.fetcher.protocols": "file,http,s3",
            f"{role}.segment.fetcher.s3.class": _FETCHER,
        }

    def _role(
        self, name: str, command: str, properties: Mapping[str, str], health_url: str, *, heap_mb: int
    ) -> Service:
        return Service(
            name=name,
            program=Program.PINOT,
            arguments=(command, "-configFileName", f"{HOME}/{name}.properties"),
            is_ready=lambda: _health(health_url),
            environment={"JAVA_OPTS": _java_options(heap_mb=heap_mb)},
            files={f"{name}.properties": "".join(f"{key}={value}\n" for key, value in properties.items())},
            shared_folders=() if self.s3 else (self.folder,),
        )


def _http_listener(prefix: str, address: str, port: int) -> dict[str, str]:
    return {
        f"{prefix}.access.protocols": "http",
        f"{prefix}.access.protocols.http.host": address,
        f"{prefix}.access.protocols.http.port": str(port),
    }


def _health(url: str) -> bool:
    return requests.get(url, timeout=_PROBE_TIMEOUT_S).text == "OK"


def _java_options(heap_mb: int) -> str:
    # One compiler level and one collector thread: a role starts in half the CPU time.
    return (
        f"-Xmx{heap_mb}m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dpinot.admin.system.exit=false "
        f"-Dzk.session.timeout={_SESSION_TIMEOUT_MS}"
    )


def _zookeeper_answers(host: str, port: int) -> bool:
    with socket.create_connection((host, port), timeout=_PROBE_TIMEOUT_S) as connection:
        connection.sendall(b"srvr")
        return connection.recv(64).startswith(b"Zookeeper version")
