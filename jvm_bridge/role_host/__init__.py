"""A stock Pinot role (a server or a broker) in this Python process' JVM, with Python hooks beside it."""

from jvm_bridge.role_host.hooks import (
    BrokerHook,
    Dependents,
    HookFactory,
    HostedBrokerView,
    HostedRoleView,
    HostedServerView,
    KnowsDependents,
    NeedsStarter,
    ServerHook,
    load_hooks,
)
from jvm_bridge.role_host.host import HostedRole
from jvm_bridge.role_host.kinds import BROKER, SERVER, RoleKind
from jvm_bridge.role_host.options import java_options
from jvm_bridge.role_host.ticking import TickingHook, TickingThread

__all__ = [
    "BROKER",
    "SERVER",
    "BrokerHook",
    "Dependents",
    "HookFactory",
    "HostedBrokerView",
    "HostedRole",
    "HostedRoleView",
    "HostedServerView",
    "KnowsDependents",
    "NeedsStarter",
    "RoleKind",
    "ServerHook",
    "TickingHook",
    "TickingThread",
    "java_options",
    "load_hooks",
]
