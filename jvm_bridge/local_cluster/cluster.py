"""A Pinot cluster on this machine: ZooKeeper, controller, broker, servers, a minion in Python, and Kafka."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from controller_client.clock import Clock, SystemClock
from controller_client.common.folders import FolderLock
from controller_client.errors import ConfigError, SetupError, WaitTimeoutError
from jvm_bridge.cluster_ports import HOST, ClusterPorts, KafkaPorts
from jvm_bridge.free_ports import check_free
from jvm_bridge.jars import Progress, kafka_jars, pinot_jars
from jvm_bridge.jdk import find_java
from jvm_bridge.local_cluster.health import LiveInstances, is_healthy
from jvm_bridge.local_cluster.processes import (
    ProcessRecord,
    find_processes,
    log_end,
    spawn,
    stop,
    uninterrupted,
)
from jvm_bridge.local_cluster.roles import CLUSTER_NAME, KAFKA, ZOOKEEPER, Role, RoleRunner, plan_roles
from jvm_bridge.local_cluster.state import (
    STATE_FILE,
    ClusterState,
    existing_state,
    read_state,
    state_to_start,
    write_state,
)

__all__ = ["LocalCluster", "RoleStatus", "UpResult", "default_folder"]

logger = logging.getLogger(__name__)

_POLL_INTERVAL_S = 0.2
_STOP_TIMEOUT_S = 30.0
_OWN_FOLDERS = (ZOOKEEPER, KAFKA, "controller", "minion", "conf", "logs", "tmp")
_SHOWN_NAMES = {ZOOKEEPER: "ZooKeeper", KAFKA: "Kafka"}


@dataclass(frozen=True)
class RoleStatus:
    """A role as it is now.

    Attributes:
        role: Its name.
        pid: Its process id; None if it is not running.
        port: The port of its health check.
        rss_bytes: Its resident memory.
        uptime_s: How long it has been running.
        healthy: Whether it answers.
    """

    role: str
    pid: int | None
    port: int
    rss_bytes: int
    uptime_s: float
    healthy: bool


@dataclass(frozen=True)
class UpResult:
    """The result of `up`: the roles that it started (empty if all were running), and the others."""

    started: tuple[str, ...]
    found: tuple[str, ...]


class LocalCluster:
    """A cluster in a folder; any process may inspect, start and stop it.

    Args:
        folder: The folder of its data, logs and state; created by :meth:`up`.
        ports: Its ports; default: those of the existing cluster, or Pinot's usual ports and one server.
        clock: The clock.
    """

    def __init__(
        self, folder: Path, ports: ClusterPorts | None = None, *, clock: Clock | None = None
    ) -> None:
        self.folder = Path(os.path.abspath(folder))  # noqa: PTH100  # resolve() would follow the user's links
        self._wanted_ports = ports
        self._clock = clock or SystemClock()
        self._children: list[subprocess.Popen[bytes]] = []  # to reap the children of this process

    @property
    def ports(self) -> ClusterPorts:
        """The ports of the cluster, also before it exists."""
        state = read_state(self.folder)
        return state.ports if state else self._wanted_ports or ClusterPorts.usual()

    @property
    def controller_url(self) -> str:
        """Base URL of the controller's REST API and console."""
        return f"http://{HOST}:{self.ports.controller}"

    @property
    def broker_url(self) -> str:
        """Base URL of the broker."""
        return f"http://{HOST}:{self.ports.broker}"

    @property
    def zookeeper_address(self) -> str:
        """Address of ZooKeeper."""
        return f"{HOST}:{self.ports.zookeeper}"

    @property
    def kafka_address(self) -> str | None:
        """Address of Kafka; None if the cluster has none."""
        kafka = self.ports.kafka
        return f"{HOST}:{kafka.client}" if kafka else None

    @property
    def cluster_name(self) -> str:
        """Helix name of the cluster."""
        return CLUSTER_NAME

    def up(
        self,
        *,
        kafka: KafkaPorts | None = None,
        hosted: bool = False,
        properties: Mapping[str, str] | None = None,
        minion_heap_mb: int | None = None,
        timeout_s: float = 180.0,
        progress: Progress | None = None,
        on_step: Callable[[str], None] = logger.info,
    ) -> UpResult:
        """Start the roles that are not running, and return when all roles answer and are live in Helix.

        If it fails or is interrupted, the roles that it started are stopped again.

        Args:
            kafka: Ports of a Kafka node to add to a cluster without Kafka.
            hosted: Host broker and servers in Python from now on, with the installed hooks.
            properties: Additional properties of controller, broker and servers from now on; None: no change.
            minion_heap_mb: Maximum Java heap of the minion from now on, MiB; None: no change.
            timeout_s: How long to wait for all roles.
            progress: Called while jars are fetched, see :func:`jvm_bridge.jars.pinot_jars`.
            on_step: Called with a line for each step.

        Raises:
            SetupError: There is no Java or no jars, a port is in use, or a role ended; the message then has
                the end of its log.
            ConfigError: The cluster in the folder has different ports, or runs with different settings.
            WaitTimeoutError: Not all roles answered in time.
        """
        self._check_folder()
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._locked():
            state = state_to_start(
                self.folder,
                self._wanted_ports,
                kafka,
                hosted=hosted,
                properties=properties,
                minion_heap_mb=minion_heap_mb,
            )
            roles = plan_roles(self.folder, state.ports, state.settings)
            running = self._running(state)
            self._check_settings(state, running)
            missing = [role for role in roles if role.name not in running]
            if not missing and all(is_healthy(role) for role in roles):
                write_state(self.folder, replace(state, processes=running))
                return UpResult((), tuple(running))
            needed = {name: port for role in missing for name, port in role.ports.items()}
            check_free(needed, option="--port-base")
            jars = pinot_jars(progress)
            runner = RoleRunner(
                self.folder,
                state.ports,
                find_java(),
                jars,
                timeout_s,
                kafka_jars(progress) if state.ports.kafka else None,
                state.settings,
            )
            state = replace(state, version=jars.version, processes=running)
            started: dict[str, ProcessRecord] = {}
            try:
                self._start(roles, missing, runner, state, started, timeout_s, on_step)
            except BaseException:
                on_step("stopping the roles that were started")
                self._stop(roles, started)
                write_state(self.folder, state)
                raise
        return UpResult(tuple(started), tuple(running))

    def status(self) -> list[RoleStatus]:
        """Return the status of each role.

        Raises:
            SetupError: There is no cluster in the folder.
        """
        state = existing_state(self.folder)
        running = self._running(state)
        roles = plan_roles(self.folder, state.ports)
        return [self._status_of(role, running.get(role.name)) for role in roles]

    def down(self, *, purge: bool = False, on_step: Callable[[str], None] = logger.info) -> tuple[str, ...]:
        """Stop all roles: minion, servers and broker, then the controller, then ZooKeeper and Kafka.

        Args:
            purge: Delete data, logs and state too.
            on_step: Called with a line for each step.

        Returns:
            The roles that were running.

        Raises:
            SetupError: There is no cluster in the folder.
        """
        existing_state(self.folder)
        with self._locked():
            state = existing_state(self.folder)
            running = self._running(state)
            if running:
                on_step(f"stopping {', '.join(running)}")
            self._stop(plan_roles(self.folder, state.ports), running)
            write_state(self.folder, replace(state, processes={}))
            if purge:
                self._purge(state)
        return tuple(running)

    def purged_paths(self) -> list[Path]:
        """Return the files and folders that a purge deletes.

        Raises:
            SetupError: There is no cluster in the folder.
        """
        return self._own_paths(existing_state(self.folder))

    def log_file(self, role: str) -> Path:
        """Return the file of a role's output."""
        return self.folder / "logs" / f"{role}.log"

    def role_names(self) -> list[str]:
        """Return the names of the roles, in start order."""
        return [role.name for role in plan_roles(self.folder, self.ports)]

    def _check_folder(self) -> None:
        """Reject paths that need escapes: Pinot uses the deep store's folder as a URI and as a property."""
        if self.folder.as_uri() != f"file://{self.folder}":
            raise ConfigError(
                "the folder's path has characters that Pinot does not support in data folders",
                expected="letters, digits and any of - . _ ~",
                where=str(self.folder),
                remedy="choose another folder with --dir",
            )

    def _check_settings(self, state: ClusterState, running: Mapping[str, ProcessRecord]) -> None:
        """Roles read their settings when they start."""
        before = read_state(self.folder)
        if before and before.settings != state.settings and running:
            raise ConfigError(
                f"the cluster runs with other settings: {', '.join(running)}",
                where=str(self.folder / STATE_FILE),
                remedy="stop it with 'pinotctl cluster down' first; its data is kept",
            )

    def _running(self, state: ClusterState) -> dict[str, ProcessRecord]:
        """Return the running roles: the recorded ones, and those whose launcher was killed before that."""
        found = find_processes(self.folder)
        recorded = {role: record for role, record in state.processes.items() if record.process(self.folder)}
        running = {**found, **recorded}
        return {name: running[name] for name in self._names(state) if name in running}

    def _names(self, state: ClusterState) -> list[str]:
        return [role.name for role in plan_roles(self.folder, state.ports)]

    def _start(
        self,
        roles: Sequence[Role],
        missing: Sequence[Role],
        runner: RoleRunner,
        state: ClusterState,
        started: dict[str, ProcessRecord],
        timeout_s: float,
        on_step: Callable[[str], None],
    ) -> None:
        for name in _OWN_FOLDERS:
            (self.folder / name).mkdir(exist_ok=True)
        deadline = self._clock.monotonic() + timeout_s
        everyone = dict(state.processes)

        def start(role: Role) -> None:
            runner.write_config(role)
            runner.prepare(role, self.log_file(role.name))
            log, environment = self.log_file(role.name), runner.environment(role)
            with uninterrupted():
                record, child = spawn(role.name, runner.command(role), log, environment)
                self._children.append(child)
                started[role.name] = everyone[role.name] = record
            write_state(self.folder, replace(state, processes=everyone))

        def wait(what: str, condition: Callable[[], bool]) -> None:
            while not condition():
                self._check_alive(everyone)
                if self._clock.monotonic() > deadline:
                    raise WaitTimeoutError(
                        f"the local cluster was not ready after {timeout_s:.0f} s: {what}",
                        where=str(self.folder / "logs"),
                        remedy="check the logs; on a slow machine increase --timeout",
                    )
                self._clock.sleep(_POLL_INTERVAL_S)

        zookeeper, *others = roles
        first = [role for role in missing if role.name in _SHOWN_NAMES]
        if first:
            on_step(f"starting {' and '.join(_SHOWN_NAMES[role.name] for role in first)}")
        for role in first:
            start(role)
        wait("ZooKeeper does not answer", lambda: is_healthy(zookeeper))
        with LiveInstances(state.ports.zookeeper) as instances:
            controller = next(role for role in others if role.name == "controller")
            if controller in missing:
                on_step("starting the controller")
                start(controller)
            wait("the controller has not created the cluster", instances.cluster_is_set_up)
            rest = [role for role in missing if role not in first and role is not controller]
            if rest:
                on_step(f"starting {', '.join(role.name for role in rest)}")
            for role in rest:
                start(role)
            for role in others:
                wait(f"{role.name} is not healthy", lambda role=role: is_healthy(role))  # type: ignore[misc]
            wanted = {role.instance for role in others if role.instance}
            wait("an instance is not live in Helix", lambda: wanted <= instances.names())

    def _check_alive(self, processes: Mapping[str, ProcessRecord]) -> None:
        for name, record in processes.items():
            if record.process(self.folder) is None:
                log = self.log_file(name)
                raise SetupError(
                    f"{name} ended while the cluster started; its last lines:{log_end(log)}", where=str(log)
                )

    def _stop(self, roles: Sequence[Role], running: dict[str, ProcessRecord]) -> None:
        last = (["controller"], [KAFKA, ZOOKEEPER])
        first = [name for name in running if not any(name in names for names in last)]
        for names in (first, *last):
            group = [running[name] for name in names if name in running]
            for name in stop(group, self.folder, _STOP_TIMEOUT_S):
                logger.warning("%s did not stop within %.0f s and was killed", name, _STOP_TIMEOUT_S)
        for child in self._children:
            child.poll()

    def _status_of(self, role: Role, record: ProcessRecord | None) -> RoleStatus:
        process = record.process(self.folder) if record else None
        if process is None:
            return RoleStatus(role.name, None, role.port, 0, 0.0, healthy=False)
        uptime_s = self._clock.now() - process.create_time()
        return RoleStatus(
            role.name, process.pid, role.port, process.memory_info().rss, uptime_s, healthy=is_healthy(role)
        )

    def _own_paths(self, state: ClusterState) -> list[Path]:
        """Return the paths that this class created in the folder; the lock and the state come last."""
        names = [*sorted({*_OWN_FOLDERS, *self._names(state)}), "lock", STATE_FILE]
        return [self.folder / name for name in names if (self.folder / name).exists()]

    def _purge(self, state: ClusterState) -> None:
        """Delete everything that this class created, and the folder itself if it is empty then."""
        for path in self._own_paths(state):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock = FolderLock(self.folder)
        if not lock.try_acquire():
            raise SetupError(
                f"another process (pid {lock.holder()}) is starting or stopping this cluster",
                where=str(self.folder),
                remedy="wait until it has finished",
            )
        try:
            yield
        finally:
            lock.release()


def default_folder() -> Path:
    """Return the default folder of ``pinotctl cluster``."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "pinot-plugins" / "cluster"
