"""Hosts a stock role in this process: runs Pinot's own starter, with hooks before and after it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from controller_client.common.redaction import mask_text
from controller_client.errors import ConfigError, PinotPluginError, SetupError
from controller_client.helix.failed_hooks import write_failed_hooks
from controller_client.monitoring import Monitoring, catalogue
from controller_client.zookeeper import PropertyStore
from controller_client.zookeeper_access import ZooKeeperAccess
from jvm_bridge.jvm import start_jvm_with
from jvm_bridge.role_host.hook_runner import HookRunner
from jvm_bridge.role_host.hooks import UNCAUGHT, HookErrors, HookFactory, HostedRoleView
from jvm_bridge.role_host.kinds import RoleKind
from jvm_bridge.zookeeper_address import check_reachable
from jvm_bridge.zookeeper_client import configure_java

__all__ = ["HostedRole"]

logger = logging.getLogger(__name__)

_LEAVE_AGAIN_S, _LEAVES = 0.1, 50
"""A start that has lost its connection fails within a moment, unless it is loading segments."""


class HostedRole:
    """A role in this process; at most one per process, as Pinot keeps its state in static fields.

    Args:
        kind: The role.
        arguments: The arguments of the stock role's command.
        options: The JVM's options.
        hooks: Hook factories by name.
        monitoring: The metrics of the process.
    """

    def __init__(
        self,
        kind: RoleKind,
        arguments: Sequence[str],
        options: Sequence[str],
        hooks: Mapping[str, HookFactory],
        monitoring: Monitoring,
    ) -> None:
        self._kind = kind
        self._monitoring = monitoring
        self._started = monitoring.need(f"the {kind.name} does not accept queries yet")
        self._arguments = tuple(arguments)
        self._options = tuple(options)
        self._factories = hooks
        self._starter: Any = None
        self._runner: HookRunner | None = None
        self._view: HostedRoleView | None = None
        self._is_running = False
        self._is_stopping = False
        self._end = threading.Event()
        self._outside_start = threading.Event()
        self._outside_start.set()

    @property
    def instance_id(self) -> str:
        """Its instance name in Helix; empty before :meth:`prepare`."""
        return self._view.instance_id if self._view else ""

    def prepare(self) -> None:
        """Start the JVM, read the configuration and create the starter, without any effect outside.

        Call it in the main thread. From here on the JVM handles signals.

        Raises:
            SetupError: The JVM does not start, or a hook that the role needs cannot be created.
            ConfigError: The arguments or the configuration are invalid.
            UnreachableError: ZooKeeper does not answer.
        """
        start_jvm_with(self._options)
        import jpype

        from jvm_bridge.java_errors import JAVA_ERRORS
        from jvm_bridge.role_host.configuration import read_configuration
        from jvm_bridge.role_host.masked_log import log_through_java, mask_log
        from jvm_bridge.shutdown import at_shutdown

        mask_log()
        log_through_java()
        jpype.JClass("org.apache.pinot.spi.plugin.PluginManager").get().init()
        configure_java(ZooKeeperAccess.from_env())
        properties = read_configuration(self._kind, self._arguments)
        zookeeper, cluster = str(properties["pinot.zk.server"]), str(properties["pinot.cluster.name"])
        check_reachable(zookeeper)
        java_properties = jpype.JClass("java.util.HashMap")()
        for key, value in properties.items():
            java_properties.put(key, value)
        errors = HookErrors(self._kind.name)
        errors.watch_threads()
        self._runner = HookRunner(self._factories, errors, needed=self._kind.needs_hooks)
        name = self._starter_class(properties, self._runner.starters())
        try:
            starter = jpype.JClass(name)()
            starter.init(jpype.JClass("org.apache.pinot.spi.env.PinotConfiguration")(java_properties))
        except (*JAVA_ERRORS, TypeError) as error:
            raise self._refused(error) from error
        self._starter = starter
        self._view = self._kind.view(
            instance_id=str(starter.getInstanceId()),
            cluster_name=cluster,
            zookeeper_address=zookeeper,
            starter=starter,
            configuration={key: str(value) for key, value in properties.items()},
            errors=errors,
            monitoring=self._monitoring,
        )
        at_shutdown(self._stop)

    def start(self) -> None:
        """Join the cluster; returns when the role accepts queries: a server has then loaded its segments.

        Raises:
            SetupError: The role does not start, for the reason of Pinot or of a hook that it needs. It has
                left the cluster.
        """
        from jvm_bridge.java_errors import JAVA_ERRORS

        runner, view = self._prepared()
        self._monitoring.sample(catalogue.HOOK_ERRORS, partial(_errors_by_hook, runner))
        runner.before_start(view)
        try:
            self._start_pinot()
        except JAVA_ERRORS as error:
            if self._is_stopping:
                self.wait()  # the JVM's shutdown has closed the connection, and ends the process
            self._leave_half_way()
            raise self._refused(error) from error
        self._is_running = True
        self._publish_errors(runner, view)
        runner.started(view)
        self._monitoring.sample(catalogue.HOOK_RUNS, partial(_running_hooks, runner))
        self._started.met()
        if runner.left_out:
            _report_failed_hooks(view, runner.left_out)
        logger.info("%s runs with the hooks %s", view.instance_id, ", ".join(runner.names) or "(none)")

    def _start_pinot(self) -> None:
        """Run Pinot's start, and say when its exception, if there is one, has reached Python."""
        self._outside_start.clear()
        try:
            self._starter.start()
        finally:
            self._outside_start.set()

    def wait(self) -> None:
        """Wait for the end of the process, which the JVM triggers by a signal or ``System.exit``."""
        self._end.wait()

    def _stop(self) -> None:
        """Stop as the stock role does: reject new queries, finish running ones, leave the cluster.

        Called in a shutdown thread of the JVM. A role that is still starting leaves the cluster and ends; a
        stock role would be live until its session expires.
        """
        self._is_stopping = True
        if not self._is_running:
            # A start may connect at any moment, and fails without its connection. If its exception gets from
            # Java to Python only after the threads of the shutdown have ended, JPype aborts the process.
            for _ in range(_LEAVES):
                self._leave_half_way()
                if self._outside_start.wait(_LEAVE_AGAIN_S):
                    break
            return
        from jvm_bridge.java_errors import JAVA_ERRORS

        runner, view = self._prepared()
        self._started.unmet(f"the {self._kind.name} is stopping")
        runner.stopping(view)
        try:
            self._starter.stop()
        except JAVA_ERRORS:
            logger.exception("%s did not stop cleanly; the process ends anyway", view.instance_id)

    def _leave_half_way(self) -> None:
        """Disconnect a role that joined but did not start: it would be live until its session expires."""
        import jpype

        from jvm_bridge.java_errors import JAVA_ERRORS

        try:
            field = jpype.JClass(self._kind.base_starter).class_.getDeclaredField(self._kind.helix_field)
            field.setAccessible(True)
            manager = field.get(self._starter)
            if manager is not None and manager.isConnected():
                manager.disconnect()
        except JAVA_ERRORS:
            logger.exception("%s may be listed as live until its session expires", self.instance_id)

    def _starter_class(self, properties: Mapping[str, object], of_hooks: Mapping[str, str]) -> str:
        """Return the starter class of the role: that of a hook, of the configuration, or Pinot's."""
        configured = properties.get(self._kind.starter_key)
        candidates = dict(of_hooks)
        if configured is not None:
            candidates[f"the property {self._kind.starter_key}"] = str(configured)
        if len(set(candidates.values())) > 1:
            raise ConfigError(
                "several starter classes are set for the role: "
                + ", ".join(f"{name} by {source}" for source, name in candidates.items()),
                expected="one starter class",
                remedy="remove all but one of them",
            )
        return next(iter(candidates.values()), self._kind.starter)

    def _prepared(self) -> tuple[HookRunner, HostedRoleView]:
        if self._runner is None or self._view is None:
            raise RuntimeError("prepare() was not called")
        return self._runner, self._view

    def _publish_errors(self, runner: HookRunner, view: HostedRoleView) -> None:
        """Add a gauge with the number of exceptions of each hook to Pinot's own metrics."""
        from jvm_bridge.role_host.metrics import gauge

        for name in runner.counted:
            with runner.errors.guard(name, "while its metric was created"):
                gauge(view.metrics(), f"pythonHook.{name}.errors", partial(runner.errors.count, name))

    def _refused(self, error: Exception) -> SetupError:
        from jvm_bridge.java_errors import text_of

        return SetupError(
            f"Pinot's {self._kind.name} does not start: {mask_text(text_of(error))}",
            where=" ".join(self._arguments),
            remedy="check the log lines above; usual causes are a port in use, an instance with the same "
            "name that is still running and, with Pinot 0.11, a table dropped meanwhile: start it again",
        )


def _errors_by_hook(runner: HookRunner) -> dict[tuple[str, ...], float]:
    return {(name,): runner.errors.count(name) for name in runner.counted}


def _running_hooks(runner: HookRunner) -> dict[tuple[str, ...], float]:
    return {(name,): float(name in runner.names) for name in runner.counted if name != UNCAUGHT}


def _report_failed_hooks(view: HostedRoleView, reasons: Mapping[str, str]) -> None:
    """Record the failed hooks in ZooKeeper, so that requests which need them are rejected."""
    try:
        with PropertyStore(view.zookeeper_address, view.cluster_name) as store:
            write_failed_hooks(store, view.instance_id, reasons)
    except PinotPluginError:
        logger.exception(
            "cannot record in ZooKeeper that %s runs without the hooks %s: restart it",
            view.instance_id,
            ", ".join(reasons),
        )
