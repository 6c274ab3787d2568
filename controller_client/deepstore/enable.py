"""Lets a realtime table commit without the deep store: checks what must agree, and plans the change."""

from __future__ import annotations

from controller_client.common.names import TableName
from controller_client.deepstore.checks import Check, Verdict, check_controller, check_server, check_table
from controller_client.deepstore.policy import StorePolicy
from controller_client.deepstore.servers import ServerAdmins
from controller_client.deepstore.table_plan import PeerSettings, TablePlan, server_configs
from controller_client.errors import ConfigError
from controller_client.rest.client import RestClient

__all__ = ["plan_enable"]


def plan_enable(
    client: RestClient,
    servers: ServerAdmins,
    table: TableName,
    scheme: str = "http",
    policy: StorePolicy = StorePolicy.STORE,
) -> TablePlan:
    """Look at table, controller and servers; nothing is changed.

    Args:
        client: Client of the cluster.
        servers: Reaches servers.
        table: Name with type.
        scheme: ``http`` or ``https``: by which servers fetch from each other.
        policy: Where copies of committed segments are to be.

    Raises:
        ConfigError: The scheme is neither.
        NotFoundError: There is no such table.
        NotAppliedError: The controller does not answer.
    """
    if scheme not in ("http", "https"):
        raise ConfigError(f"the scheme {scheme!r}", expected="http or https")
    config = client.tables.get(table)
    configs = server_configs(client, servers, config)
    checks = check_table(config, policy, len(configs))
    checks += check_controller(client.cluster.app_config(), client.cluster.version(), policy)
    root = client.cluster.deep_store_uri() or ""
    if not configs:
        checks.append(Check(table, Verdict.WRONG, "no server has the tag of its tenant"))
    for name, found in configs.items():
        if isinstance(found, str):
            checks.append(Check(name, Verdict.NOTE, f"its configuration cannot be read: {found}"))
        else:
            checks += check_server(name, found, root, scheme, policy)
    return TablePlan(table, PeerSettings.of(config), PeerSettings(scheme, policy), tuple(checks))
