"""Pinot's own minion, started in the JVM of this process."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controller_client.common.folders import FolderLock
from controller_client.common.redaction import mask_text
from controller_client.config import ControllerConfig
from controller_client.errors import PinotPluginError, SetupError
from controller_client.helix.instance_config import take_no_more_subtasks
from controller_client.monitoring import Monitoring
from controller_client.monitoring.catalogue import MINION
from controller_client.zookeeper import PropertyStore
from controller_client.zookeeper_access import ZooKeeperAccess
from jvm_bridge.free_ports import check_free
from jvm_bridge.jvm import start_jvm
from jvm_bridge.minion.executors import (
    ENTRY_POINT_GROUP,
    ExecutorFactory,
    MinionContext,
    load_executors,
)
from jvm_bridge.minion.subtask_metrics import SubtaskMetrics
from jvm_bridge.zookeeper_address import check_reachable
from jvm_bridge.zookeeper_client import configure_java

__all__ = ["DEFAULT_TAG", "HostedMinion", "MinionSettings", "host_minion"]

logger = logging.getLogger(__name__)

DEFAULT_TAG = "pinot_plugins_minion"
"""Helix tag of Python-hosted minions: these and stock minions must not get each other's task types."""

_STOP_GRACE_S = 15.0
_ROUND_BOUND_S = 60.0


@dataclass(frozen=True)
class MinionSettings:
    """Settings of a hosted minion.

    Attributes:
        controller: The controller, for the executors.
        zookeeper_address: ``host:port,...[/chroot]``.
        cluster_name: Helix name of the cluster.
        host: Host to advertise.
        port: Port of the admin API (``/health``); also part of the instance name.
        folder: The minion's own folder for work files and Pinot's data. It is locked while the minion runs.
        tag: Its only tag.
        concurrency: Number of subtasks that it runs at once.
        max_heap_mb: Maximum Java heap, MiB.
        system_properties: Java system properties.
        java_options: Further Java options.
        properties: Further properties of Pinot's minion.
        drain_s: How long its subtasks may continue when it stops; after that other minions run them.
        log_dir: Folder of the JVM's log; None logs to stderr.
        executors: Executors by task type; None for those that installed packages register.
        zookeeper_access: Python's credentials for ZooKeeper; None to read them from the environment.
        monitoring: The metrics of the process.
    """

    controller: ControllerConfig
    zookeeper_address: str
    cluster_name: str
    host: str
    port: int
    folder: Path
    tag: str = DEFAULT_TAG
    concurrency: int = 2
    max_heap_mb: int = 512
    system_properties: Mapping[str, str] = field(default_factory=dict)
    java_options: Sequence[str] = field(default=(), repr=False)
    properties: Mapping[str, object] = field(default_factory=dict, repr=False)
    drain_s: float = 0.0
    log_dir: Path | None = None
    executors: Mapping[str, ExecutorFactory] | None = None
    zookeeper_access: ZooKeeperAccess | None = None
    monitoring: Monitoring = field(default_factory=lambda: Monitoring(MINION), repr=False)

    @property
    def instance_id(self) -> str:
        """The minion's instance name in Helix."""
        return f"Minion_{self.host}_{self.port}"


class HostedMinion:
    """A minion in this process; at most one per process, as Pinot keeps its state in static fields.

    Use it as a context manager, or call :meth:`start` and :meth:`stop`.
    """

    def __init__(self, settings: MinionSettings) -> None:
        self._settings = settings
        self._starter: Any = None
        self._running: Any = None
        self._lock = FolderLock(settings.folder)
        self._accepting_work = settings.monitoring.need("the minion does not accept work yet")
        self._loading = threading.Thread(target=_load_classes, name="load-classes", daemon=True)

    @property
    def instance_id(self) -> str:
        """Its instance name in Helix."""
        return self._settings.instance_id

    def __enter__(self) -> HostedMinion:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the JVM if necessary, register the minion and join the cluster; returns when it accepts work.

        Raises:
            SetupError: An executor cannot be imported, another minion uses the folder, the port is in use, or
                the JVM or the minion does not start.
            UnreachableError: ZooKeeper does not answer.
            NotFoundError: There is no such cluster.
        """
        settings = self._settings
        executors = load_executors() if settings.executors is None else settings.executors
        if not executors:
            raise SetupError(
                "no task executor is installed, so the minion would get no work",
                expected=f"an entry point in the group {ENTRY_POINT_GROUP}",
                remedy="pip install 'pinot-plugins[minion]'",
            )
        if not self._lock.try_acquire():
            raise SetupError(
                f"another minion (pid {self._lock.holder()}) is using this folder",
                where=str(settings.folder),
                remedy="give each minion its own folder with --dir, or stop the other minion",
            )
        try:
            self._start(executors)
        except BaseException:
            self._lock.release()
            raise

    def _start(self, executors: Mapping[str, ExecutorFactory]) -> None:
        settings = self._settings
        check_reachable(settings.zookeeper_address)
        # Before the registration, as another minion may have the same name and must not be changed.
        check_free({settings.instance_id: settings.port}, option="--port")
        start_jvm(
            max_heap_mb=settings.max_heap_mb,
            system_properties=settings.system_properties,
            log_dir=settings.log_dir,
            options=settings.java_options,
            is_role=True,
        )
        configure_java(settings.zookeeper_access or ZooKeeperAccess.from_env())
        import jpype

        from jvm_bridge.java_errors import JAVA_ERRORS, text_of
        from jvm_bridge.minion.adapters import RunningTasks, make_factory
        from jvm_bridge.minion.registration import Registration, register

        context = self._context()
        register(
            settings.zookeeper_address,
            settings.cluster_name,
            Registration(
                settings.instance_id, settings.host, settings.port, settings.tag, settings.concurrency
            ),
        )
        self._running = RunningTasks(SubtaskMetrics(settings.monitoring, executors, settings.concurrency))
        starter = jpype.JClass("org.apache.pinot.minion.MinionStarter")()
        try:
            starter.init(_configuration(settings))
            for task_type, factory in executors.items():
                starter.registerTaskExecutorFactory(make_factory(task_type, factory, context, self._running))
            starter.start()
        except JAVA_ERRORS as error:
            raise SetupError(
                f"the minion does not start: {mask_text(text_of(error))}",
                where=f"{settings.instance_id}, ZooKeeper {settings.zookeeper_address}",
                remedy="check whether a minion with the same host and port is running elsewhere, and check "
                "the log lines above",
            ) from error
        self._starter = starter
        self._accepting_work.met()
        # In parallel with the first work, if there is any.
        self._loading.start()
        logger.info("%s runs %s", settings.instance_id, ", ".join(sorted(executors)))

    def drain(self) -> None:
        """Accept no further subtasks, and let running ones finish within the settings' ``drain_s``."""
        settings = self._settings
        if not settings.drain_s:
            return
        self._accepting_work.unmet("the minion is draining and accepts no further subtasks")
        try:
            with PropertyStore(
                settings.zookeeper_address, settings.cluster_name, access=settings.zookeeper_access
            ) as store:
                take_no_more_subtasks(store, settings.instance_id)
        except PinotPluginError as error:
            logger.warning("%s may get further subtasks while it drains: %s", self.instance_id, error)
        if not self._running.wait_until_none(settings.drain_s):
            logger.warning(
                "subtasks are still running after %.0f s, other minions will run them", settings.drain_s
            )

    def stop(self) -> None:
        """Leave the cluster; running subtasks are asked to end, and Helix assigns them to other minions."""
        if self._starter is None:
            return
        starter, self._starter = self._starter, None
        self._accepting_work.unmet("the minion is stopping")
        starter.stop()
        self._loading.join(_STOP_GRACE_S)
        if not self._running.wait_until_none(_STOP_GRACE_S):
            logger.warning("a subtask did not end within %.0f s", _STOP_GRACE_S)
        self._lock.release()

    def _context(self) -> MinionContext:
        settings = self._settings
        work_dir = settings.folder / "work"
        shutil.rmtree(work_dir, ignore_errors=True)  # files of a killed minion
        work_dir.mkdir(mode=0o700, parents=True)  # it contains rows
        return MinionContext(
            settings.controller,
            settings.zookeeper_address,
            settings.cluster_name,
            settings.instance_id,
            work_dir,
            settings.zookeeper_access,
            settings.monitoring,
        )


def _load_classes() -> None:
    """Load classes in advance, for which the first subtask would have to wait some seconds."""
    from jvm_bridge.builder.warm_up import build_small_segments

    try:
        build_small_segments()
    except (PinotPluginError, OSError) as error:
        logger.warning("the first subtask will be slow, because no sample segment could be built: %s", error)


def host_minion(
    settings: MinionSettings, stop: threading.Event, on_start: Callable[[], None] = lambda: None
) -> None:
    """Host a minion until `stop` is set; call it in the main thread.

    Args:
        settings: The settings.
        stop: Set by signal handlers.
        on_start: Called when the minion accepts work, to install these handlers. Before that, nothing is lost
            if a signal ends the process at once.

    Raises:
        SetupError: See :meth:`HostedMinion.start`.
    """
    loop = settings.monitoring.loop("minion", _ROUND_BOUND_S)
    with HostedMinion(settings) as minion:
        on_start()
        # With a timeout, as on some platforms signal handlers do not interrupt a wait without one.
        while not stop.wait(timeout=1.0):
            loop.round_ended()
        loop.ended()
        minion.drain()


def _configuration(settings: MinionSettings) -> Any:
    import jpype

    properties = jpype.JClass("java.util.HashMap")()
    for key, value in {
        **settings.properties,
        "pinot.zk.server": settings.zookeeper_address,
        "pinot.cluster.name": settings.cluster_name,
        "pinot.minion.host": settings.host,
        "pinot.minion.port": str(settings.port),
        # Since 1.5 Pinot writes it to the instance config when it starts, overwriting the registration.
        "pinot.minion.max.concurrent.tasks.per.instance": str(settings.concurrency),
        # Pinot empties this folder when it starts, so nothing else may be in it.
        "dataDir": str(settings.folder / "pinot-data"),
    }.items():
        properties.put(key, value)
    return jpype.JClass("org.apache.pinot.spi.env.PinotConfiguration")(properties)
