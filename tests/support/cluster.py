"""The Pinot cluster of the test session."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.clock import Clock
from controller_client.config import ControllerConfig
from controller_client.errors import ConflictError
from tests.support.expiry import expire_owner
from tests.support.faulty_s3 import FaultyS3
from tests.support.file_lock import file_lock
from tests.support.pinot_services import (
    CLUSTER_NAME,
    DEEP_STORE_BUCKET,
    HOSTED_ADDRESSES,
    HOSTED_TENANT,
    SERVER_ADDRESSES,
    PinotLayout,
)
from tests.support.s3 import S3Access
from tests.support.service import Backend, RunningService, Service, wait_ready
from tests.support.wait import add_describer, remove_describer, wait_for

_READY_TIMEOUT_S = 300.0
_LOG_LINES = 25
_SEARCHED_LINES = 3_000
# A line of the log, or a line below it with the exception.
_ERROR = re.compile(r" ERROR |^(Caused by: )?[\w.$]+(Exception|Error)\b")
_ERROR_LINES = 16
_LINE_CHARS = 400
_REST_TIMEOUT_S = 10.0
_LEAD_PARTITIONS = 24
"""Number of the parts into which Pinot divides all tables among its controllers."""


class PinotCluster:
    """ZooKeeper, controller, broker, two servers, a minion in Python, and the faults that tests inject.

    Attributes:
        backend: ``containers`` or ``processes``.
        cluster_name: Name of the cluster in Helix.
        controller_url: URL.
        broker_url: URL.
        zookeeper_address: ``host:port``.
        deep_store_uri: Where the controller stores segments: on S3, or in a folder if there is no S3 server.
        servers: Names of the servers.
    """

    def __init__(self, backend: Backend, host: Backend, layout: PinotLayout) -> None:
        self.backend = backend.name
        self.cluster_name = CLUSTER_NAME
        self.controller_url = layout.controller_url
        self.broker_url = layout.broker_url
        self.zookeeper_address = layout.zookeeper
        self.deep_store_uri = layout.deep_store_uri
        self.servers = tuple(SERVER_ADDRESSES)
        self._backend = backend
        self._host = host
        self._layout = layout
        self._running: dict[str, RunningService] = {}
        self._at_end = ExitStack()

    @property
    def s3(self) -> S3Access:
        """The S3 server with the deep store.

        Raises:
            LookupError: The deep store is a folder.
        """
        if self._layout.s3 is None:
            raise LookupError("this cluster's deep store is a folder: there is no S3 server")
        return self._layout.s3

    def file_systems(self, role: str) -> dict[str, str]:
        """Properties with which a test's own role, e.g. ``pinot.server``, reads the deep store."""
        return self._layout.file_systems(role)

    @property
    def roles(self) -> tuple[str, ...]:
        """Names of all services that this process knows, in the order in which they were started."""
        return tuple(self._running)

    def start_all(self) -> None:
        """Start what does not run yet, and wait until the cluster can do what tests ask of it.

        Every role is ready and has joined, and the controller leads all tables.
        """
        add_describer(self.describe)
        self._at_end.callback(remove_describer, self.describe)
        if self._layout.s3:
            s3 = self._layout.s3.client()
            self._at_end.callback(s3.close)
            with suppress(s3.exceptions.BucketAlreadyOwnedByYou):
                s3.create_bucket(Bucket=DEEP_STORE_BUCKET)
        self._launch_and_wait_zookeeper()
        for service in (self._layout.broker_service(), *map(self._layout.server_service, self.servers)):
            self._running[service.name] = self._backend.launch(service)
        self._running["minion"] = self._host.launch(self._layout.minion_service())
        for role in self._running:
            self.wait_ready(role)

    def start_hosted_servers(self) -> tuple[str, ...]:
        """Start the servers hosted in Python, in their own tenant; return their names in Helix."""
        names = []
        with file_lock(self._layout.folder.parent / "hosted.lock"):
            if self._layout.s3 is not None:
                store = self._layout.hosted_store_service()
                self._running[store.name] = self._host.launch(store)
                self.wait_ready(store.name)
            for name, (address, first) in HOSTED_ADDRESSES.items():
                if name not in self._running:
                    self._register(address, self._layout.slot.port(first))
                    self._running[name] = self._host.launch(self._layout.hosted_server_service(name))
                names.append(f"Server_{address}_{self._layout.slot.port(first)}")
            for name in HOSTED_ADDRESSES:
                self.wait_ready(name)
        return tuple(names)

    def _register(self, address: str, port: int) -> None:
        """Create a server in its tenant before it joins: otherwise it would get segments of other tests."""
        tags = [f"{HOSTED_TENANT}_REALTIME", f"{HOSTED_TENANT}_OFFLINE"]
        with self.client() as client, suppress(ConflictError):  # it was created before
            client.instances.create("server", address, port, tags=tags)

    def start_hosted_broker(self) -> str:
        """Start the broker hosted in Python, in addition to the stock one; return its URL."""
        service = self._layout.hosted_broker_service()
        if service.name not in self._running:
            self._running[service.name] = self._host.launch(service)
        self.wait_ready(service.name)
        return self._layout.hosted_broker_url

    @contextmanager
    def hosted_store(self) -> Iterator[FaultyS3]:
        """Between the hosted servers and the deep store, put a proxy for faults, until the block ends.

        Raises:
            LookupError: The hosted servers do not run, or the deep store is a folder.
        """
        name = self._layout.hosted_store_service().name
        if name not in self._running:
            raise LookupError("there is no S3 server before the hosted servers")
        self.kill(name)
        try:
            with FaultyS3(self.s3, self._layout.hosted_store_port) as proxy:
                yield proxy
        finally:
            self.start(name)

    def close(self) -> None:
        """Close what this process has opened; the roles run on."""
        self._at_end.close()

    def client(self, clock: Clock | None = None) -> ControllerClient:
        """Return a new client of the controller; the caller closes it."""
        return ControllerClient(ControllerConfig(self.controller_url), clock=clock)

    @property
    def broker_instance(self) -> str:
        """The name of the stock broker; a test may have started others."""
        parts = urlsplit(self.broker_url)
        return f"Broker_{parts.hostname}_{parts.port}"

    @property
    def minion_instance(self) -> str:
        """The name of the cluster's own minion; a test may have started others."""
        return self._layout.minion_instance

    def broker(self) -> BrokerClient:
        """Return a new client of the broker; the caller closes it."""
        return BrokerClient([self.broker_url])

    def kill(self, role: str) -> None:
        """Kill a role with SIGKILL; its disk is kept."""
        self._running[role].kill()

    def lose_disk(self, role: str) -> None:
        """Delete the segments of a killed hosted server."""
        shutil.rmtree(self.data_folder(role))

    def data_folder(self, role: str) -> Path:
        """The folder of a hosted server's segments."""
        return self._layout.hosted_data(role)

    def start(self, role: str, timeout_s: float = _READY_TIMEOUT_S) -> None:
        """Start a killed role, and wait until it reports that it is ready."""
        self._running[role].start()
        self.wait_ready(role, timeout_s)

    @contextmanager
    def patient(self, role: str) -> Iterator[None]:
        """Within the block, a hosted server's session in ZooKeeper outlasts 40 s in which it hangs."""
        layout = self._layout
        # ZooKeeper grants no more.
        self._replace(role, layout.hosted_server_service(role, session_timeout_ms=40_000))
        try:
            yield
        finally:
            self._replace(role, layout.hosted_server_service(role))

    def _replace(self, role: str, service: Service) -> None:
        self.kill(role)
        address, first = HOSTED_ADDRESSES[role]
        name = f"Server_{address}_{self._layout.slot.port(first)}"
        # Helix does not wait for the end of a session that is longer than its own.
        with self.client() as client:
            if name in client.instances.live():
                expire_owner(self.zookeeper_address, f"/{self.cluster_name}/LIVEINSTANCES/{name}")
        self._running[role] = self._host.launch(service)
        self.wait_ready(role)

    @contextmanager
    def suspended(self, role: str) -> Iterator[None]:
        """Within the block a role hangs: it keeps its connections and does nothing."""
        self._running[role].suspend()
        try:
            yield
        finally:
            self._running[role].resume()

    @contextmanager
    def second_controller(self) -> Iterator[str]:
        """Within the block another controller leads a part of the tables; provides its name in Helix."""
        service, instance = self._layout.second_controller_service(), self._layout.second_controller_instance
        self._running[service.name] = self._backend.launch(service)
        try:
            self.wait_ready(service.name)
            wait_for(lambda: self._led_parts(instance), f"{instance} to lead tables", _READY_TIMEOUT_S)
            yield instance
        finally:
            self._running.pop(service.name).kill()
            # While Helix knows it, Pinot waits five minutes for it to return.
            with self.client() as client:
                wait_for(lambda: _drop(client, instance), f"{instance} to be dropped", _READY_TIMEOUT_S)
            self.wait_ready("controller")

    def put_file(self, role: str, path: str, content: bytes) -> None:
        """Replace a file on a role's disk, below its home, as a disk fault does."""
        self._running[role].put_file(path, content)

    def wait_ready(self, role: str, timeout_s: float = _READY_TIMEOUT_S) -> None:
        """Wait until a role reports that it is ready and, if it is the controller, leads all tables."""
        wait_ready(self._running[role], timeout_s)
        if role == "controller":
            wait_for(self._leads_all_tables, "the controller to lead all tables", timeout_s)

    def state(self, role: str) -> str:
        """Return ``running`` or ``ended``."""
        return self._running[role].state()

    def logs(self, role: str, lines: int = 100) -> str:
        """Return the last lines of a role's log."""
        return self._running[role].logs(lines)

    def describe(self) -> str:
        """Return the details for a failed wait: ends of the logs, their errors, segments not served.

        The most useful part is last, as readers of a long output often see only its end.
        """
        logs = {role: running.logs(_SEARCHED_LINES).splitlines() for role, running in self._running.items()}
        parts = [
            f"--- {role} ({self.state(role)}), last lines of its log:\n" + "\n".join(lines[-_LOG_LINES:])
            for role, lines in logs.items()
        ]
        for role, lines in logs.items():
            errors = [line[:_LINE_CHARS] for line in lines if _ERROR.search(line)][-_ERROR_LINES:]
            parts.append(f"--- {role} ({self.state(role)}), errors in its log:\n" + "\n".join(errors))
        return "\n".join([*parts, _unserved_segments(self.controller_url)])

    def _launch_and_wait_zookeeper(self) -> None:
        for service in (self._layout.zookeeper_service(), self._layout.controller_service()):
            self._running[service.name] = self._backend.launch(service)
            if service.name == "zookeeper":
                self.wait_ready("zookeeper")
        # The other roles may join once the controller has created the cluster, seconds before it serves REST.
        with self._zookeeper() as zookeeper:
            path = f"/{CLUSTER_NAME}/IDEALSTATES/brokerResource"
            wait_for(lambda: zookeeper.exists(path), "the controller to make the cluster", _READY_TIMEOUT_S)

    def _leads_all_tables(self) -> bool:
        """Return whether the controller commits segments and runs tasks: seconds after it serves REST."""
        return self._led_parts(self._layout.controller_instance) == _LEAD_PARTITIONS

    def _led_parts(self, instance: str) -> int:
        """Return how many of the parts of all tables a controller leads."""
        with self._zookeeper() as zookeeper:
            try:
                live, _ = zookeeper.get(f"/{CLUSTER_NAME}/LIVEINSTANCES/{instance}")
                session = json.loads(live)["simpleFields"]["SESSION_ID"]
                path = f"/{CLUSTER_NAME}/INSTANCES/{instance}/CURRENTSTATES/{session}/leadControllerResource"
                states = json.loads(zookeeper.get(path)[0])["mapFields"].values()
            except NoNodeError:
                return 0
        return sum(state["CURRENT_STATE"] == "MASTER" for state in states)

    @contextmanager
    def _zookeeper(self) -> Iterator[KazooClient]:
        zookeeper = KazooClient(hosts=self.zookeeper_address)
        zookeeper.start(timeout=_READY_TIMEOUT_S)
        try:
            yield zookeeper
        finally:
            zookeeper.stop()
            zookeeper.close()


def _drop(client: ControllerClient, instance: str) -> bool:
    """Drop a killed instance; return whether that was possible: its session must have expired."""
    try:
        client.instances.drop(instance)
    except ConflictError:
        return False
    return True


def _unserved_segments(controller_url: str) -> str:
    """Return, for each table, the segments whose external view differs from the ideal state."""
    try:
        lines = [
            line
            for table in _get(controller_url, "tables")["tables"]
            for line in _differences(controller_url, table)
        ]
    except (requests.RequestException, KeyError, ValueError) as error:
        return f"the controller does not return the tables: {error}"
    return "\n".join(["segments whose external view is not the ideal state:", *(lines or ["none"])])


def _differences(controller_url: str, table: str) -> list[str]:
    lines: list[str] = []
    ideal, external = (
        _get(controller_url, f"tables/{table}/{view}") for view in ("idealstate", "externalview")
    )
    for table_type in ("OFFLINE", "REALTIME"):
        wanted, found = ideal.get(table_type) or {}, external.get(table_type) or {}
        lines.extend(
            f"{table}_{table_type} {name}: ideal {wanted.get(name)}, external {found.get(name)}"
            for name in sorted(wanted.keys() | found.keys())
            if wanted.get(name) != found.get(name)
        )
    return lines


def _get(controller_url: str, path: str) -> dict[str, Any]:
    answer = requests.get(
        f"{controller_url}/{path}", headers={"Accept": "application/json"}, timeout=_REST_TIMEOUT_S
    )
    answer.raise_for_status()
    content: dict[str, Any] = answer.json()
    return content
