"""The interface of hooks of hosted roles, and the hooks of this installation.

A hook runs inside a role that others rely on. Any exception in a hook is logged and counted, and the role
continues. But a role does not start without a hook on which something depends.
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
"""The name for counting exceptions that end a thread of an unknown hook."""


class HookErrors:
    """Counts the exceptions of hooks; used by all threads of the role.

    Args:
        role: Name of the role for messages, e.g. ``server``.
    """

    def __init__(self, role: str = "server") -> None:
        self._role = role
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def count(self, hook: str) -> int:
        """Return the number of exceptions of a hook."""
        with self._lock:
            return self._counts[hook]

    def add(self, hook: str) -> None:
        """Count an exception of a hook; the caller logs it."""
        with self._lock:
            self._counts[hook] += 1

    @contextmanager
    def guard(self, hook: str, what: str) -> Iterator[None]:
        """Log and count any exception in the context, also ``sys.exit()``, and continue."""
        try:
            yield
        except (Exception, SystemExit):  # a hook must not stop the role
            self.add(hook)
            logger.exception("hook %s failed %s; the %s continues", hook, what, self._role)

    def watch_threads(self) -> None:
        """From now on log exceptions that end a Python thread, and count them as :data:`UNCAUGHT`."""
        threading.excepthook = self._on_uncaught

    def _on_uncaught(self, args: threading.ExceptHookArgs) -> None:
        """Handle an uncaught exception; called by Python in the thread that ends."""
        if isinstance(args.exc_value, SystemExit):
            return  # as in Python's default: a thread may end itself
        self.add(UNCAUGHT)
        name = args.thread.name if args.thread else "(unknown)"
        logger.error("thread %s of a hook ended with an exception", name, exc_info=args.exc_value)


@dataclass(frozen=True)
class HostedRoleView:
    """The role that a hook runs in.

    Attributes:
        instance_id: Its instance name in Helix, e.g. ``Server_host_8098``.
        cluster_name: Helix name of the cluster.
        zookeeper_address: ``host:port,...[/chroot]``.
        starter: Pinot's ``BaseServerStarter`` or ``BaseBrokerStarter``; its objects exist once it connects to
            Helix.
        configuration: All properties with which the role was started, including passwords.
        errors: Guards the hook's code in Pinot's threads.
        monitoring: The metrics of the process, for the hook.
    """

    instance_id: str
    cluster_name: str
    zookeeper_address: str
    starter: Any
    configuration: Mapping[str, str] = field(repr=False)
    errors: HookErrors
    monitoring: Monitoring = field(default_factory=lambda: Monitoring("role"), repr=False)

    def metrics(self) -> Any:
        """Return Pinot's metrics of the role, once it is running."""
        raise NotImplementedError


class HostedServerView(HostedRoleView):
    """The server that a hook runs in."""

    def metrics(self) -> Any:
        """Return Pinot's ``ServerMetrics``, once the server is running."""
        return self.starter.getServerInstance().getServerMetrics()

    def instance_data_manager(self) -> Any | None:
        """Return Pinot's ``InstanceDataManager``, or None before it is created."""
        server = self.starter.getServerInstance()
        return None if server is None else server.getInstanceDataManager()


class HostedBrokerView(HostedRoleView):
    """The broker that a hook runs in."""

    def metrics(self) -> Any:
        """Return Pinot's ``BrokerMetrics``, once the broker is running."""
        return self.starter.getBrokerMetrics()

    def routing_manager(self) -> Any | None:
        """Return Pinot's ``BrokerRoutingManager``, or None before it is created."""
        return self.starter.getRoutingManager()


_View = TypeVar("_View", bound=HostedRoleView, contravariant=True)


class RoleHook(Protocol[_View]):
    """Code that runs in a role; exceptions are logged and counted, but a hanging method blocks the role."""

    def before_start(self, role: _View, /) -> None:
        """Called when the starter has its configuration, before it connects and loads segments.

        It is called in the main thread of the role's process.
        """
        ...

    def started(self, role: _View, /) -> None:
        """Called in the main thread when the role accepts queries."""
        ...

    def stopping(self, role: _View, /) -> None:
        """Called before a role that was started leaves the cluster; it must return soon.

        It is called in a shutdown thread of the JVM, possibly while :meth:`started` is still running. It is
        not called if the role is killed.
        """
        ...


ServerHook = RoleHook[HostedServerView]
"""A hook of servers."""

BrokerHook = RoleHook[HostedBrokerView]
"""A hook of brokers."""


@runtime_checkable
class NeedsStarter(Protocol):
    """A hook, of any kind, whose role needs another starter class."""

    def starter(self) -> str | None:
        """Return the class, which extends Pinot's starter; None to use Pinot's own starter.

        It is called once, in the main thread, when the JVM is running.
        """
        ...


@dataclass(frozen=True)
class Dependents:
    """What depends on a hook that failed.

    Attributes:
        found: What depends on it, in words, e.g. ``the upsert table t_REALTIME``; empty if nothing does.
        way_out: What to do so that nothing depends on it any more.
        later: What happens to requests that need the hook while the role runs without it.
    """

    found: tuple[str, ...]
    way_out: str
    later: str


@runtime_checkable
class KnowsDependents(Protocol):
    """A hook, of any kind, that can report what depends on it."""

    def dependents(self, role: HostedRoleView, /) -> Dependents:
        """Return what depends on it in this role.

        It is called once, in the main thread before the start, and only if the hook has failed; it uses
        ZooKeeper and the configuration.

        Raises:
            PinotPluginError: The dependents cannot be determined; the role does not start.
        """
        ...


HookFactory = Callable[[], RoleHook[Any]]
"""Creates a hook; called once, in the main thread, when the JVM is running."""


def load_hooks(group: str, names: Sequence[str] | None = None) -> dict[str, HookFactory]:
    """Return the factories of the hooks that installed packages register, by name.

    Their modules are imported when the hooks are created: a failed import is a failed hook.

    Args:
        group: The entry-point group of the role's hooks.
        names: Names of the hooks; None for all.
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
