"""What a hook of a hosted role is, and where the hooks of this installation come from.

A hook runs inside a role that others rely on. Whatever it raises is logged and counted, and the role goes on
as if it had not happened. But a role does not start without a hook that something depends on.
"""

from __future__ import annotations

import importlib.metadata
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar, runtime_checkable

from controller_client.common.extras import missing_module
from controller_client.monitoring import Monitoring

__all__ = [
    "UNCAUGHT",
    "BrokerHook",
    "Dependents",
    "HookErrors",
    "HookFactory",
    "HostedBrokerView",
    "HostedRoleView",
    "HostedServerView",
    "KnowsDependents",
    "NeedsStarter",
    "RoleHook",
    "ServerHook",
    "load_hooks",
]

logger = logging.getLogger(__name__)

UNCAUGHT = "uncaught"
"""Under this name is counted what ends a thread that a hook has started: whose it was is not known."""


class HookErrors:
    """Counts what hooks raised; used by all threads of the role.

    Args:
        role: What goes on, e.g. ``server``.
    """

    def __init__(self, role: str = "server") -> None:
        self._role = role
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def count(self, hook: str) -> int:
        """How often a hook has raised."""
        with self._lock:
            return self._counts[hook]

    def add(self, hook: str) -> None:
        """Count what a hook has raised; who calls this has told of it."""
        with self._lock:
            self._counts[hook] += 1

    @contextmanager
    def guard(self, hook: str, what: str) -> Iterator[None]:
        """Log and count whatever is raised within, ``sys.exit()`` too, and go on."""
        try:
            yield
        except (Exception, SystemExit):  # a border: a hook must not take the role down
            self.add(hook)
            logger.exception("hook %s failed %s; the %s goes on", hook, what, self._role)

    def watch_threads(self) -> None:
        """From now on count and log, as :data:`UNCAUGHT`, what ends a thread of Python."""
        threading.excepthook = self._on_uncaught

    def _on_uncaught(self, args: threading.ExceptHookArgs) -> None:
        """Python's hook for threads; called in the thread that ends."""
        if isinstance(args.exc_value, SystemExit):
            return  # as in Python's own: a thread may end itself
        self.add(UNCAUGHT)
        name = args.thread.name if args.thread else "(unknown)"
        logger.error("thread %s of a hook has ended", name, exc_info=args.exc_value)


@dataclass(frozen=True)
class HostedRoleView:
    """The role that a hook is in.

    Attributes:
        instance_id: Its name in Helix, e.g. ``Server_host_8098``.
        cluster_name: Helix' name of the cluster.
        zookeeper_address: ``host:port,...[/chroot]``.
        starter: Pinot's ``BaseServerStarter`` or ``BaseBrokerStarter``; what it makes is there once it
            connects to Helix.
        configuration: All properties that the role was started with, passwords among them.
        errors: Guards the hook's code in threads that are Pinot's.
        monitoring: Of the process: what the hook tells of itself.
    """

    instance_id: str
    cluster_name: str
    zookeeper_address: str
    starter: Any
    configuration: Mapping[str, str] = field(repr=False)
    errors: HookErrors
    monitoring: Monitoring = field(default_factory=lambda: Monitoring("role"), repr=False)

    def metrics(self) -> Any:
        """Pinot's metrics of the role, once it runs."""
        raise NotImplementedError


class HostedServerView(HostedRoleView):
    """The server that a hook is in."""

    def metrics(self) -> Any:
        """Pinot's ``ServerMetrics``, once it runs."""
        return self.starter.getServerInstance().getServerMetrics()

    def instance_data_manager(self) -> Any | None:
        """Pinot's ``InstanceDataManager``, or None before it is made."""
        server = self.starter.getServerInstance()
        return None if server is None else server.getInstanceDataManager()


class HostedBrokerView(HostedRoleView):
    """The broker that a hook is in."""

    def metrics(self) -> Any:
        """Pinot's ``BrokerMetrics``, once it runs."""
        return self.starter.getBrokerMetrics()

    def routing_manager(self) -> Any | None:
        """Pinot's ``BrokerRoutingManager``, or None before it is made."""
        return self.starter.getRoutingManager()


_View = TypeVar("_View", bound=HostedRoleView, contravariant=True)


class RoleHook(Protocol[_View]):
    """Code beside a role; what it raises is logged and counted, but a method that hangs holds the role up."""

    def before_start(self, role: _View, /) -> None:
        """Called when the starter has its configuration, before it connects: no segment is there yet.

        In the main thread of the role's process.
        """
        ...

    def started(self, role: _View, /) -> None:
        """Called when the role takes queries; in the main thread."""
        ...

    def stopping(self, role: _View, /) -> None:
        """Called before a role that was started leaves the cluster; it must return soon.

        In a thread of the JVM's shutdown, which may come while :meth:`started` still runs. A role that is
        killed does not call it.
        """
        ...


ServerHook = RoleHook[HostedServerView]
"""A hook of servers."""

BrokerHook = RoleHook[HostedBrokerView]
"""A hook of brokers."""


@runtime_checkable
class NeedsStarter(Protocol):
    """A hook whose role is to be started by a class of the hook's; it may be any kind of hook."""

    def starter(self) -> str | None:
        """Return the class, which extends Pinot's starter; None where Pinot's will do.

        Called once, in the main thread, when the JVM runs.
        """
        ...


@dataclass(frozen=True)
class Dependents:
    """What depends on a hook that cannot do its work.

    Attributes:
        found: What does, in words, e.g. ``the upsert table t_REALTIME``; empty: nothing does.
        way_out: What to do so that nothing depends on it any more.
        later: What becomes of that which would depend on it later, while the role runs without it.
    """

    found: tuple[str, ...]
    way_out: str
    later: str


@runtime_checkable
class KnowsDependents(Protocol):
    """A hook that can say what depends on it; it may be any kind of hook."""

    def dependents(self, role: HostedRoleView, /) -> Dependents:
        """Return what depends on it in this role.

        Called once, in the main thread before the start, only where the hook cannot do its work; answered
        from ZooKeeper and the configuration.

        Raises:
            PinotPluginError: It cannot be found out; the role does not start.
        """
        ...


HookFactory = Callable[[], RoleHook[Any]]
"""Makes a hook; called once, in the main thread, when the JVM runs."""


def load_hooks(group: str, names: Sequence[str] | None = None) -> dict[str, HookFactory]:
    """Return what makes the hooks that installed packages register, by name.

    Their modules are imported when the hooks are made: one that cannot be imported is a hook that failed.

    Args:
        group: The entry-point group of the role's hooks.
        names: Those that are wanted; None takes all.
    """
    return {
        point.name: partial(_make, point)
        for point in importlib.metadata.entry_points(group=group)
        if names is None or point.name in names
    }


def _make(point: importlib.metadata.EntryPoint) -> RoleHook[Any]:
    try:
        factory: HookFactory = point.load()
    except ModuleNotFoundError as error:
        raise missing_module(error, f"the hook {point.name}", point.extras) from error
    return factory()
