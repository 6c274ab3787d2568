"""The roles that can be hosted, and Pinot's classes that start them and read their configuration."""

from __future__ import annotations

from dataclasses import dataclass

from jvm_bridge.role_host.hooks import HostedBrokerView, HostedRoleView, HostedServerView

__all__ = ["BROKER", "MINION", "SERVER", "RoleKind", "StockCommand"]


@dataclass(frozen=True)
class StockCommand:
    """The command of ``pinot-admin.sh`` that starts a role, and reads its arguments and configuration file.

    Attributes:
        name: Name of the role.
        service_role: Its name in Pinot's ``ServiceRole``.
        command: Class of the command.
        configuration_method: Its protected method that returns the configuration.
    """

    name: str
    service_role: str
    command: str
    configuration_method: str


@dataclass(frozen=True)
class RoleKind(StockCommand):
    """A role of Pinot that runs with hooks.

    Attributes:
        starter_key: Property to set another starter (``PinotServiceManager.startRole``).
        starter: The default starter class.
        base_starter: The base class of starters, which has the connection to Helix.
        helix_field: Its field with the connection that makes the role live.
        view: The class that hooks get.
        hook_group: Entry-point group of its hooks.
        needs_hooks: Whether it must not start if a hook cannot be created or fails before the start, because
            its answers would be wrong.
    """

    starter_key: str
    starter: str
    base_starter: str
    helix_field: str
    view: type[HostedRoleView]
    hook_group: str
    needs_hooks: bool


MINION = StockCommand(
    name="minion",
    service_role="MINION",
    command="org.apache.pinot.tools.admin.command.StartMinionCommand",
    configuration_method="getMinionConf",
)
"""Pinot's minion."""

SERVER = RoleKind(
    name="server",
    service_role="SERVER",
    command="org.apache.pinot.tools.admin.command.StartServerCommand",
    configuration_method="getServerConf",
    starter_key="pinot.server.startable.class",
    starter="org.apache.pinot.server.starter.helix.HelixServerStarter",
    base_starter="org.apache.pinot.server.starter.helix.BaseServerStarter",
    helix_field="_helixManager",
    view=HostedServerView,
    hook_group="pinot_plugins.server_hooks",
    needs_hooks=False,
)
"""Pinot's server."""

BROKER = RoleKind(
    name="broker",
    service_role="BROKER",
    command="org.apache.pinot.tools.admin.command.StartBrokerCommand",
    configuration_method="getBrokerConf",
    starter_key="pinot.broker.startable.class",
    starter="org.apache.pinot.broker.broker.helix.HelixBrokerStarter",
    base_starter="org.apache.pinot.broker.broker.helix.BaseBrokerStarter",
    helix_field="_participantHelixManager",
    view=HostedBrokerView,
    hook_group="pinot_plugins.broker_hooks",
    needs_hooks=True,
)
"""Pinot's broker."""
