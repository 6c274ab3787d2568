"""Hosts a stock Pinot role (a server or a broker) in the JVM of this Python process, with Python hooks."""

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
from jvm_bridge.role_host.kinds import BROKER, MINION, SERVER, RoleKind, StockCommand
from jvm_bridge.role_host.options import java_options, java_options_but_log
from jvm_bridge.role_host.ticking import ROUND_BOUND_S, TickingHook, TickingThread

__all__ = [
    "BROKER",
    "MINION",
    "ROUND_BOUND_S",
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
    "StockCommand",
    "TickingHook",
    "TickingThread",
    "java_options",
    "java_options_but_log",
    "load_hooks",
]
