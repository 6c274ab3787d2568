"""Stock and hosted servers that a test adds to the session's cluster, started the same way."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import requests

from controller_client.errors import ConflictError
from controller_client.zookeeper import PropertyStore, ZNRecord
from jvm_bridge.jars import cache_folder
from jvm_bridge.jdk import find_java
from tests.support.cluster import PinotCluster
from tests.support.java_options import QUICK_START
from tests.support.processes import host_command
from tests.support.service import Program, may_start_again
from tests.support.wait import wait_for

HOST = "127.0.0.1"
REPOSITORY = Path(__file__).parents[3]

# One compiler level and one collector thread: a server starts in half the CPU time. The session of a killed
# server expires soon.
JAVA_OPTS = f"-Xmx256m {QUICK_START} -Dzk.session.timeout=4000"
_START = {Program.PINOT: ("StartServer",), Program.PINOTCTL: ("serve", "server")}
_TIMEOUT_S = 300.0

# All JDK modules that Pinot needs, without the compiler.
_MODULES = (
    "java.se,jdk.unsupported,jdk.management,jdk.management.agent,jdk.net,jdk.crypto.ec,jdk.naming.dns,"
    "jdk.zipfs,jdk.httpserver,jdk.security.auth,jdk.charsets,jdk.localedata,jdk.jfr,jdk.attach"
)
NO_COMPILER = f"{JAVA_OPTS} --limit-modules={_MODULES}"
"""Options of a JVM in which hooks fail that have classes, if the cache has :data:`CLASSES_OF_ROLES` alone."""
CLASSES_OF_ROLES = "classes/io.pinotplugins.log-*.jar"
"""The classes that each role needs, in a cache: the cluster's own minion has compiled them before."""


def free_ports(count: int) -> tuple[int, ...]:
    """Return different ports on which nothing listens now."""
    with ExitStack() as open_sockets:
        probes = [open_sockets.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind((HOST, 0))
        return tuple(probe.getsockname()[1] for probe in probes)


def config_of(store: PropertyStore, instance: str) -> ZNRecord:
    """Return the configuration of an instance in Helix."""
    path = f"/{store.cluster_name}/CONFIGS/PARTICIPANT/{instance}"
    found = store.connection.get(path)
    assert found is not None, path
    return ZNRecord.from_bytes(found[0], where=path)


@dataclass
class ServerProcess:
    """A server, stock (``Program.PINOT``) or hosted (``Program.PINOTCTL``), in a process of its own.

    Attributes:
        pinot: The cluster it joins.
        store: The cluster's ZooKeeper.
        folder: The folder with its log and its data.
        program: Which of the two.
        tenant: Its tenant, which has no tables of other tests.
        properties: Properties added to its configuration file.
        java_opts: JAVA_OPTS.
        environment: Variables added to its environment.
        options: Options of ``pinotctl serve server`` before Pinot's arguments.
        before: A prefix of the whole command, e.g. ``nohup``.
        ports: Netty, admin API, gRPC, two of the multi-stage engine, JMX.
    """

    pinot: PinotCluster
    store: PropertyStore
    folder: Path
    program: Program
    tenant: str
    properties: Mapping[str, str] = field(default_factory=dict)
    java_opts: str = JAVA_OPTS
    environment: Mapping[str, str] = field(default_factory=dict)
    options: Sequence[str] = ()
    before: Sequence[str] = ()
    ports: tuple[int, ...] = field(default_factory=lambda: free_ports(6))
    process: subprocess.Popen[bytes] | None = None
    _arguments: Sequence[str] | None = field(default=None, init=False)
    _failed_logs: list[str] = field(default_factory=list, init=False)

    @property
    def instance(self) -> str:
        """Its name in Helix."""
        return f"Server_{HOST}_{self.ports[0]}"

    @property
    def start_words(self) -> tuple[str, ...]:
        """The arguments of the program that start it."""
        return _START[self.program]

    @property
    def pid(self) -> int:
        """The id of its running process."""
        assert self.process is not None
        return self.process.pid

    @property
    def log(self) -> str:
        """Its output to stdout and stderr."""
        return (self.folder / "output.log").read_text(errors="replace")

    def register(self) -> None:
        """Set its tenant before it joins; otherwise it would belong to the default tenant for a time."""
        tags = [f"{self.tenant}_REALTIME", f"{self.tenant}_OFFLINE"]
        with self.pinot.client() as client, suppress(ConflictError):  # one before it had the name
            client.instances.create("server", HOST, self.ports[0], tags=tags)

    def by_file(self) -> list[str]:
        """Write a configuration file and return the arguments that start it with this file."""
        listener = "pinot.server.adminapi.access.protocols"
        return self.write_configuration(
            {
                "pinot.set.instance.id.to.hostname": "true",
                "pinot.server.netty.host": HOST,
                "pinot.server.netty.port": str(self.ports[0]),
                listener: "http",
                f"{listener}.http.host": HOST,
                f"{listener}.http.port": str(self.ports[1]),
                "pinot.server.grpc.port": str(self.ports[2]),
                "pinot.query.server.port": str(self.ports[3]),
                "pinot.query.runner.port": str(self.ports[4]),
                "pinot.server.instance.dataDir": str(self.folder / "index"),
                "pinot.server.instance.segmentTarDir": str(self.folder / "tars"),
                **self.pinot.file_systems("pinot.server"),
            }
        )

    def write_configuration(self, properties: Mapping[str, str]) -> list[str]:
        """Write a configuration file for this cluster; return the arguments that start it with this file."""
        every = {
            "pinot.cluster.name": self.pinot.cluster_name,
            "pinot.zk.server": self.pinot.zookeeper_address,
            **properties,
            **self.properties,
        }
        file = self.folder / "role.conf"
        file.write_text("".join(f"{key}={value}\n" for key, value in every.items()))
        return ["-configFileName", str(file)]

    def by_flags(self) -> list[str]:
        """Return the arguments that start it without a file."""
        values = {
            "-zkAddress": self.pinot.zookeeper_address,
            "-clusterName": self.pinot.cluster_name,
            "-serverHost": HOST,
            "-serverPort": str(self.ports[0]),
            "-serverAdminPort": str(self.ports[1]),
            "-serverGrpcPort": str(self.ports[2]),
            "-serverMultiStageServerPort": str(self.ports[3]),
            "-serverMultiStageRunnerPort": str(self.ports[4]),
            "-dataDir": str(self.folder / "index"),
            "-segmentDir": str(self.folder / "tars"),
        }
        return [word for pair in values.items() for word in pair]

    def start(self, arguments: Sequence[str] | None = None) -> None:
        """Start it without waiting.

        Args:
            arguments: The arguments of StartServer; default: a configuration file.
        """
        self.folder.mkdir(exist_ok=True)
        self._arguments = arguments
        words = self.by_file() if arguments is None else list(arguments)
        command, environment = host_command(self.program, self.folder)
        environment.update({"JAVA_OPTS": self.java_opts, **self.environment})
        with (self.folder / "output.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*self.before, *command, *self.start_words, *self.options, *words],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def health(self) -> str:
        """Return the response of its health endpoint; empty if nothing listens."""
        try:
            answer = requests.get(f"http://{HOST}:{self.ports[1]}/health", timeout=5)
        except requests.ConnectionError:
            return ""
        return answer.text

    def _is_started_again(self) -> bool:
        """Start it again if it has ended because a table was dropped while it started."""
        log = self.log[sum(map(len, self._failed_logs)) :]
        if not may_start_again(log, len(self._failed_logs) + 1):
            return False
        self._failed_logs.append(log)
        self.start(self._arguments)
        return True

    def wait_ready(self) -> None:
        """Wait until it is healthy and brokers see that it accepts queries."""

        def ready() -> bool:
            assert self.process is not None
            assert self.process.poll() is None or self._is_started_again(), self.log[-4000:]
            return self.health() == "OK" and self.takes_queries()

        wait_for(ready, f"{self.instance} to be ready", _TIMEOUT_S)

    def is_live(self) -> bool:
        """Return whether it is among Helix's live instances."""
        return self.instance in self.store.live_instances()

    def config(self) -> ZNRecord:
        """Return its configuration in Helix, which it writes when it joins."""
        return config_of(self.store, self.instance)

    def takes_queries(self) -> bool:
        """Return whether brokers may send it queries, by the flag that it sets itself."""
        return self.config().simple_fields.get("shutdownInProgress") == "false"

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        assert self.process is not None
        self.process.send_signal(number)

    def wait_end(self) -> int:
        """Wait for its end and return its exit code."""

        def has_ended() -> bool:
            assert self.process is not None
            return self.process.poll() is not None and not self._is_started_again()

        wait_for(has_ended, f"{self.instance} to end", _TIMEOUT_S)
        assert self.process is not None
        code: int = self.process.returncode
        return code

    def jcmd(self, *words: str) -> str:
        """Attach a tool of the JDK to it and return the output."""
        tool = find_java().home / "bin" / "jcmd"
        done = subprocess.run(
            [tool, str(self.pid), *words], capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def remove(self) -> None:
        """Kill it and drop it from the cluster, once no table has a segment on it."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        with self.pinot.client() as client:
            if self.instance in client.instances.list():
                wait_for(lambda: not self.is_live(), f"the session of {self.instance} to end")

                def dropped() -> bool:
                    client.instances.drop(self.instance)  # refused until it serves none of the deleted tables
                    return True

                wait_for(dropped, f"{self.instance} to be dropped")


def cache_with(cache: Path, *patterns: str) -> dict[str, str]:
    """Fill a new cache with a part of this machine's: its jars and what matches; return its environment."""
    (cache / "classes").mkdir(parents=True)
    given = cache_folder()
    for pattern in ("repository", "sets", *patterns):
        for path in given.glob(pattern):
            (cache / path.relative_to(given)).symlink_to(path)
    return {"PINOT_PLUGINS_CACHE": str(cache)}


def with_path(*folders: Path) -> dict[str, str]:
    """Return an environment in which a hosted server imports from these folders and this checkout."""
    before = os.environ.get("PYTHONPATH")
    paths = [*map(str, folders), str(REPOSITORY), *([before] if before else [])]
    return {"PYTHONPATH": os.pathsep.join(paths)}
