"""Replaces a server's table managers with ours, through Pinot's own extension point; Java: ``v1_5.tables``.

Pinot 1.4, 1.5 and 1.6 pass different arguments when they create a table's manager, so each has its own
provider, e.g. ``v1_4.provider``; all create the same tables.
"""

from __future__ import annotations

from controller_client.errors import ConfigError
from jvm_bridge.role_host import HostedServerView
from server_hooks.extension_points import has_class, load_classes

__all__ = ["PACKAGE", "has_extension_point", "install", "load", "name_class"]

PACKAGE = "io.pinotplugins.v1_5.tables"

_SHARED = "io.pinotplugins.upsert"
_PROPERTY = "pinot.server.instance.table.data.manager.provider.class"
_STOCK = "org.apache.pinot.core.data.manager.provider.DefaultTableDataManagerProvider"
_PROVIDERS = {
    "org.apache.pinot.core.data.manager.realtime.ServerIngestionOomProtectionManager": "v1_6",
    "org.apache.pinot.segment.local.utils.SegmentOperationsThrottlerSet": "v1_5",
}
"""The version of each provider, newest first, by a class that creating a table manager needs since then."""


def has_extension_point() -> bool:
    """Return whether this Pinot can be configured to use other table managers; loads no class."""
    return has_class(_STOCK)


def install(role: HostedServerView) -> None:
    """Make the server use our table managers; call it before the server starts, any number of times.

    Args:
        role: The server.

    Raises:
        ConfigError: The configuration sets another class.
        UnsupportedError: This Pinot is built differently.
        SetupError: This Java has no compiler.
    """
    name_class(role, _PROPERTY, _STOCK, load())


def load() -> str:
    """Load the Java classes of the tables; errors as for :func:`install`.

    Returns:
        The class that creates their managers.
    """
    version = next((name for since, name in _PROVIDERS.items() if has_class(since)), "v1_4")
    provider = f"io.pinotplugins.{version}.provider"
    load_classes(
        provider,
        PACKAGE,
        _SHARED,
        otherwise="the hooks do not support the table managers of this version of Pinot",
        expected="Pinot 1.4 to 1.6",
        remedy="run the server without the hooks",
    )
    return f"{provider}.TableManagers"


def name_class(role: HostedServerView, key: str, stock: str, ours: str) -> None:
    """Make the server use our class instead of Pinot's; call it before the server starts.

    Args:
        role: The server.
        key: The property that sets the class.
        stock: Pinot's class.
        ours: Our class.

    Raises:
        ConfigError: The configuration sets another class.
    """
    named = role.configuration.get(key, stock)
    if named not in (stock, ours):
        raise ConfigError(
            f"the server's configuration sets {key} to {named}, which conflicts with the hooks",
            where=key,
            expected="no value: the hooks set this property themselves",
            remedy="remove the property from the configuration, or run the server without the hooks",
        )
    role.starter.getConfig().setProperty(key, ours)
