"""Ours in place of a server's table managers, by Pinot's own plug-in point; in ``java``: ``v1_5.tables``.

Pinot 1.4 and 1.5 ask for a table's manager by other arguments each, so the class that is asked is one of two,
``v1_4.provider`` or ``v1_5.provider``; the tables that they make are the same.
"""

from __future__ import annotations

from controller_client.errors import ConfigError
from jvm_bridge.role_host import HostedServerView
from server_hooks.plug_in_points import has_class, load_classes

__all__ = ["PACKAGE", "have_plug_in_point", "install", "load", "name_class"]

PACKAGE = "io.pinotplugins.v1_5.tables"

_SHARED = "io.pinotplugins.upsert"
_PROPERTY = "pinot.server.instance.table.data.manager.provider.class"
_STOCK = "org.apache.pinot.core.data.manager.provider.DefaultTableDataManagerProvider"
_THROTTLERS = "org.apache.pinot.segment.local.utils.SegmentOperationsThrottlerSet"
"""What Pinot 1.5 makes table managers with, and earlier versions do not have."""


def have_plug_in_point() -> bool:
    """Whether this Pinot makes its table managers by a class that the configuration names; loads none."""
    return has_class(_STOCK)


def install(role: HostedServerView) -> None:
    """Have the server make our table managers; before it starts, any number of times.

    Args:
        role: The server.

    Raises:
        ConfigError: The configuration names somebody else's class.
        UnsupportedError: This Pinot is built otherwise.
        SetupError: This Java has no compiler.
    """
    name_class(role, _PROPERTY, _STOCK, load())


def load() -> str:
    """Load the Java of the tables; errors as of :func:`install`.

    Returns:
        The class that makes their managers.
    """
    provider = f"io.pinotplugins.{'v1_5' if has_class(_THROTTLERS) else 'v1_4'}.provider"
    load_classes(
        provider,
        PACKAGE,
        _SHARED,
        otherwise="this version of Pinot makes its table managers otherwise",
        expected="Pinot 1.4 or 1.5",
        remedy="run the server without the hooks",
    )
    return f"{provider}.TableManagers"


def name_class(role: HostedServerView, key: str, stock: str, ours: str) -> None:
    """Have the server make an object of our class in place of Pinot's; before it starts.

    Args:
        role: The server.
        key: The property that names the class.
        stock: Pinot's class.
        ours: Ours.

    Raises:
        ConfigError: The configuration names somebody else's class.
    """
    named = role.configuration.get(key, stock)
    if named not in (stock, ours):
        raise ConfigError(
            f"the server's configuration names a class of somebody else, {named}",
            where=key,
            expected="nothing: hooks name ours",
            remedy="take the property out, or run the server without the hooks",
        )
    role.starter.getConfig().setProperty(key, ours)
