"""ZooKeeper and the stock Pinot roles of the test cluster: addresses, properties, start commands."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import requests

from controller_client.publishing.routing import NEW_SEGMENTS
from tests.support.java_options import QUICK_START
from tests.support.s3 import S3Access
from tests.support.service import HOME, Program, Service, listens
from tests.support.slot import Port, Slot

CLUSTER_NAME = "PinotPluginsTest"
DEEP_STORE_BUCKET = "deep-store"

ZOOKEEPER_ADDRESS = "127.0.0.13"
CONTROLLER_ADDRESS = "127.0.0.11"
SECOND_CONTROLLER_ADDRESS = "127.0.0.15"
BROKER_ADDRESS = "127.0.0.12"
HOSTED_BROKER_ADDRESS = "127.0.0.14"
MINION_ADDRESS = "127.0.0.31"
SERVER_ADDRESSES = {"server_1": ("127.0.0.21", Port.SERVER_1), "server_2": ("127.0.0.22", Port.SERVER_2)}
HOSTED_ADDRESSES = {"hosted_1": ("127.0.0.23", Port.HOSTED_1), "hosted_2": ("127.0.0.24", Port.HOSTED_2)}

PYTHON_ROLES = ("minion", *HOSTED_ADDRESSES, "hosted_broker")
"""Names of the services that run the code of this checkout."""

COMMITS_FOLDER = "commits"
"""Folder in the deep store's bucket to which hosted servers upload committed segments."""

COMMIT_WAIT_MS = 1500

HOSTED_TENANT = "hosted"
"""Tenant of the servers hosted in Python, to keep tables of other tests off them."""

# A killed role can rejoin once its old session has expired: 30 s by default.
# ZooKeeper rounds up to two of its ticks.
_SESSION_TIMEOUT_MS = 4000
_PROBE_TIMEOUT_S = 2.0
_HTTP_THREADS = "32"
_S3_FILE_SYSTEM = "org.apache.pinot.plugin.filesystem.S3PinotFS"
_FETCHER = "org.apache.pinot.common.utils.fetcher.PinotFSSegmentFetcher"


@dataclass(frozen=True)
class PinotLayout:
    """The addresses and folders of the cluster's roles.

    Attributes:
        slot: The session's ports.
        s3: The S3 server with the deep store; None: the deep store is in ``folder``.
        folder: A folder of the host for the deep store, visible to all roles.
        zookeeper_heap_mb: Java heap of ZooKeeper.
    """

    slot: Slot
    s3: S3Access | None
    folder: Path
    zookeeper_heap_mb: int = 128

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
        """Where the controller stores segments."""
        return f"s3://{DEEP_STORE_BUCKET}/segments" if self.s3 else self.folder.as_uri()

    def zookeeper_service(self) -> Service:
        """Return ZooKeeper, started by pinot-admin."""
        port = self.slot.port(Port.ZOOKEEPER)
        return Service(
            name="zookeeper",
            program=Program.PINOT,
            arguments=("StartZookeeper", "-zkPort", str(port), "-dataDir", f"{HOME}/data"),
            is_ready=lambda: _zookeeper_answers(ZOOKEEPER_ADDRESS, port),
            environment={"JAVA_OPTS": _java_options(heap_mb=self.zookeeper_heap_mb)},
        )

    def controller_service(self) -> Service:
        """Return the controller."""
        return self._controller("controller", CONTROLLER_ADDRESS, self.slot.port(Port.CONTROLLER))

    def second_controller_service(self) -> Service:
        """Return another controller of the cluster."""
        address, port = SECOND_CONTROLLER_ADDRESS, self.slot.port(Port.SECOND_CONTROLLER)
        return self._controller("second_controller", address, port)

    def _controller(self, name: str, address: str, port: int) -> Service:
        properties = {
            "controller.helix.cluster.name": CLUSTER_NAME,
            "controller.zk.str": self.zookeeper,
            "controller.host": address,
            # Servers commit segments there; the address would lack a port set only for the listener.
            "controller.vip.host": address,
            "controller.vip.port": str(port),
            **_http_listener("controller", address, port),
            "controller.data.dir": self.deep_store_uri,
            "controller.local.temp.dir": f"{HOME}/temp",
            # Otherwise, old segments are deleted at a random time, two to five minutes after the start.
            "controller.retentionManager.initialDelayInSeconds": "86400",
            **self.file_systems("pinot.controller"),
        }
        return self._role(name, "StartController", properties, f"http://{address}:{port}/health", heap_mb=320)

    @property
    def controller_instance(self) -> str:
        """The controller's name in Helix."""
        return f"Controller_{CONTROLLER_ADDRESS}_{self.slot.port(Port.CONTROLLER)}"

    @property
    def second_controller_instance(self) -> str:
        """The name in Helix of :meth:`second_controller_service`."""
        return f"Controller_{SECOND_CONTROLLER_ADDRESS}_{self.slot.port(Port.SECOND_CONTROLLER)}"

    def broker_service(self) -> Service:
        """Return the broker."""
        runner = str(self.slot.port(Port.BROKER_RUNNER))
        properties = {
            "pinot.cluster.name": CLUSTER_NAME,
            "pinot.zk.server": self.zookeeper,
            "pinot.broker.hostname": BROKER_ADDRESS,
            **_http_listener("pinot.broker.client", BROKER_ADDRESS, self.slot.port(Port.BROKER)),
            NEW_SEGMENTS: "0",
            "pinot.query.runner.hostname": BROKER_ADDRESS,
            "pinot.query.runner.port": runner,
        }
        return self._role("broker", "StartBroker", properties, f"{self.broker_url}/health", heap_mb=256)

    @property
    def hosted_broker_url(self) -> str:
        """URL of the broker hosted in Python."""
        return f"http://{HOSTED_BROKER_ADDRESS}:{self.slot.port(Port.HOSTED_BROKER)}"

    def hosted_broker_service(self) -> Service:
        """Return a broker hosted in Python, with the hooks of this checkout and the multi-stage engine."""
        name, address = "hosted_broker", HOSTED_BROKER_ADDRESS
        properties = {
            "pinot.cluster.name": CLUSTER_NAME,
            "pinot.zk.server": self.zookeeper,
            "pinot.broker.hostname": address,
            **_http_listener("pinot.broker.client", address, self.slot.port(Port.HOSTED_BROKER)),
            NEW_SEGMENTS: "0",
            "pinot.multistage.engine.enabled": "true",
            "pinot.query.runner.hostname": address,
            "pinot.query.runner.port": str(self.slot.port(Port.HOSTED_BROKER_RUNNER)),
        }
        file = f"{name}.properties"
        return Service(
            name=name,
            program=Program.PINOTCTL,
            arguments=("serve", "broker", "-configFileName", f"{HOME}/{file}"),
            is_ready=lambda: _health(f"{self.hosted_broker_url}/health"),
            environment={"JAVA_OPTS": _java_options(heap_mb=256)},
            files={file: _properties_text(properties)},
        )

    def server_service(self, name: str) -> Service:
        """Return a stock server, ``server_1`` or ``server_2``."""
        address, first = SERVER_ADDRESSES[name]
        properties = self._server_properties(address, first)
        if self.s3:
            properties["pinot.server.instance.segment.store.uri"] = self.deep_store_uri
        health_url = f"http://{address}:{self.slot.port(first + 1)}/health"
        return self._role(name, "StartServer", properties, health_url, heap_mb=320)

    @property
    def hosted_store_port(self) -> int:
        """Port on this machine at which the hosted servers reach the deep store."""
        return self.slot.port(Port.HOSTED_STORE)

    def hosted_store_service(self) -> Service:
        """Return the proxy before the deep store of the hosted servers."""
        assert self.s3 is not None
        port = self.hosted_store_port
        return Service(
            name="hosted_store",
            program=Program.PYTHON,
            arguments=("-m", "tests.support.faulty_http", self.s3.endpoint, str(port)),
            is_ready=lambda: listens("127.0.0.1", port),
            environment={"PYTHONPATH": str(Path(__file__).parents[2])},
        )

    def hosted_server_service(self, name: str, session_timeout_ms: int = _SESSION_TIMEOUT_MS) -> Service:
        """Return a server hosted in Python, ``hosted_1`` or ``hosted_2``, with the hooks of this checkout."""
        address, first = HOSTED_ADDRESSES[name]
        file = f"{name}.properties"
        properties = self._server_properties(address, first)
        properties["pinot.server.instance.dataDir"] = str(self.hosted_data(name))
        if self.s3:
            store = f"http://127.0.0.1:{self.hosted_store_port}"
            properties["pinot.server.storage.factory.s3.endpoint"] = store
            properties["pinot.server.instance.segment.store.uri"] = (
                f"s3://{DEEP_STORE_BUCKET}/{COMMITS_FOLDER}"
            )
            properties["pinotPlugins.commitUpload.waitMs"] = str(COMMIT_WAIT_MS)
        return Service(
            name=name,
            program=Program.PINOTCTL,
            arguments=("serve", "server", "-configFileName", f"{HOME}/{file}"),
            is_ready=lambda: _health(f"http://{address}:{self.slot.port(first + 1)}/health"),
            environment={"JAVA_OPTS": _java_options(heap_mb=320, session_timeout_ms=session_timeout_ms)},
            files={file: _properties_text(properties)},
        )

    def hosted_data(self, name: str) -> Path:
        """Folder of a hosted server's segments."""
        return self.folder.parent / "hosted-data" / name

    def _server_properties(self, address: str, first: int) -> dict[str, str]:
        netty, admin, grpc, query_server, query_runner = (self.slot.port(first + n) for n in range(5))
        return {
            "pinot.cluster.name": CLUSTER_NAME,
            "pinot.zk.server": self.zookeeper,
            # Otherwise a server looks up its external address even if one is set, and exits without a route.
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
            **self.file_systems("pinot.server"),
        }

    @property
    def minion_instance(self) -> str:
        """The Helix name of :meth:`minion_service`."""
        return f"Minion_{MINION_ADDRESS}_{self.slot.port(Port.MINION)}"

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
            "--wait": "600",  # a busy machine may start several clusters at a time
            "--zookeeper-session-timeout-ms": str(_SESSION_TIMEOUT_MS),
        }
        return Service(
            name="minion",
            program=Program.PINOTCTL,
            arguments=("-v", "serve", "minion", *(word for pair in settings.items() for word in pair)),
            is_ready=lambda: _health(f"http://{MINION_ADDRESS}:{port}/health"),
        )

    def file_systems(self, role: str) -> dict[str, str]:
        """Return the properties with which a role, e.g. ``pinot.server``, reads the deep store."""
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
            files={f"{name}.properties": _properties_text(properties)},
            shared_folders=() if self.s3 else (self.folder,),
        )


def _properties_text(properties: Mapping[str, str]) -> str:
    return "".join(f"{key}={value}\n" for key, value in properties.items())


def _http_listener(prefix: str, address: str, port: int) -> dict[str, str]:
    # Pinot 1.x has two threads for each processor. Where it has few, the requests of one test that wait for a
    # stream or a commit would keep all other tests waiting.
    threads = f"{prefix}.http.server.thread.pool"
    return {
        f"{prefix}.access.protocols": "http",
        f"{prefix}.access.protocols.http.host": address,
        f"{prefix}.access.protocols.http.port": str(port),
        f"{threads}.corePoolSize": _HTTP_THREADS,
        f"{threads}.maxPoolSize": _HTTP_THREADS,
    }


def _health(url: str) -> bool:
    return requests.get(url, timeout=_PROBE_TIMEOUT_S).text == "OK"


def _java_options(heap_mb: int, session_timeout_ms: int = _SESSION_TIMEOUT_MS) -> str:
    return (
        f"-Xmx{heap_mb}m {QUICK_START} -Dpinot.admin.system.exit=false "
        f"-Dzk.session.timeout={session_timeout_ms}"
    )


def _zookeeper_answers(host: str, port: int) -> bool:
    with socket.create_connection((host, port), timeout=_PROBE_TIMEOUT_S) as connection:
        connection.sendall(b"srvr")
        return connection.recv(64).startswith(b"Zookeeper version")
