"""What a hook of a hosted role is, where the hooks of this installation come from, how they are called.

A hook runs inside a role that others rely on. Whatever it raises is logged and counted, and the role goes on
as if it had not happened; only a role that needs its hooks does not start without them.
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
from typing import Any, Protocol, TypeVar

from controller_client.common.extras import missing_module
from controller_client.errors import SetupError

__all__ = [
    "BrokerHook",
    "HookErrors",
    "HookFactory",
    "HookRunner",
    "HostedBrokerView",
    "HostedRoleView",
    "HostedServerView",
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

    @contextmanager
    def guard(self, hook: str, what: str) -> Iterator[None]:
        """Log and count whatever is raised within, ``sys.exit()`` too, and go on."""
        try:
            yield
        except (Exception, SystemExit):  # a border: a hook must not take the role down
            self._add(hook)
            logger.exception("hook %s failed %s; the %s goes on", hook, what, self._role)

    def watch_threads(self) -> None:
        """From now on count and log, as :data:`UNCAUGHT`, what ends a thread of Python."""
        threading.excepthook = self._on_uncaught

    def _on_uncaught(self, args: threading.ExceptHookArgs) -> None:
        """Python's hook for threads; called in the thread that ends."""
        if isinstance(args.exc_value, SystemExit):
            return  # as in Python's own: a thread may end itself
        self._add(UNCAUGHT)
        name = args.thread.name if args.thread else "(unknown)"
        logger.error("thread %s of a hook has ended", name, exc_info=args.exc_value)

    def _add(self, hook: str) -> None:
        with self._lock:
            self._counts[hook] += 1


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
    """

    instance_id: str
    cluster_name: str
    zookeeper_address: str
    starter: Any
    configuration: Mapping[str, str] = field(repr=False)
    errors: HookErrors

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


class HookRunner:
    """Calls the hooks of one role, each guarded.

    Args:
        factories: What makes them, by name.
        errors: Counts what they raise.
        needed: Whether one that cannot be made, or fails before the start, keeps the role from starting.

    Raises:
        SetupError: A hook that is needed cannot be made.
    """

    def __init__(
        self, factories: Mapping[str, HookFactory], errors: HookErrors, *, needed: bool = False
    ) -> None:
        self.errors = errors
        self.counted = (*factories, UNCAUGHT)
        """Under what is counted: all hooks, also those that could not be made, and their threads."""
        self._guard_of_start = _needed if needed else errors.guard
        self._hooks: dict[str, RoleHook[Any]] = {}
        for name, factory in factories.items():
            with self._guard_of_start(name, "when it was made"):
                self._hooks[name] = factory()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the hooks that were made."""
        return tuple(self._hooks)

    def before_start(self, role: HostedRoleView) -> None:
        """Call all hooks.

        Raises:
            SetupError: A hook that is needed failed.
        """
        for name, hook in self._hooks.items():
            with self._guard_of_start(name, "before the start"):
                hook.before_start(role)

    def started(self, role: HostedRoleView) -> None:
        """Call all hooks."""
        for name, hook in self._hooks.items():
            with self.errors.guard(name, "after the start"):
                hook.started(role)

    def stopping(self, role: HostedRoleView) -> None:
        """Call all hooks."""
        for name, hook in self._hooks.items():
            with self.errors.guard(name, "before the stop"):
                hook.stopping(role)


@contextmanager
def _needed(hook: str, what: str) -> Iterator[None]:
    try:
        yield
    except (Exception, SystemExit) as error:
        raise SetupError(
            f"the hook {hook} failed {what}: {error}",
            remedy="mend what it says; without the hook, answers about tables that need it are wrong",
        ) from error
