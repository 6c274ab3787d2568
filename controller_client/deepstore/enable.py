"""Lets a realtime table commit without the deep store: checks the requirements and plans the change."""

from __future__ import annotations

from controller_client.common.names import TableName
from controller_client.deepstore.checks import (
    Check,
    CheckResult,
    check_controller,
    check_fetching,
    check_server,
    check_table,
)
from controller_client.deepstore.policy import StorePolicy
from controller_client.deepstore.servers import ServerAdmins, TableServers, table_servers
from controller_client.deepstore.table_plan import PeerDownloadPlan, PeerSettings
from controller_client.errors import ConfigError
from controller_client.rest.client import RestClient

__all__ = ["check_peers", "plan_enable"]


def plan_enable(
    client: RestClient,
    servers: ServerAdmins,
    table: TableName,
    scheme: str = "http",
    policy: StorePolicy = StorePolicy.STORE,
) -> PeerDownloadPlan:
    """Check the table, the controller and the servers; nothing is changed.

    Args:
        client: Client of the cluster.
        servers: Client of the servers.
        table: Name with type.
        scheme: Scheme by which servers download from each other: ``http`` or ``https``.
        policy: Where copies of committed segments must be.

    Raises:
        ConfigError: The scheme is neither.
        NotFoundError: There is no such table.
        NotAppliedError: The controller does not answer.
    """
    if scheme not in ("http", "https"):
        raise ConfigError(f"the scheme is {scheme!r}", expected="http or https")
    config = client.tables.get(table)
    tenant_servers = table_servers(client, servers, config)
    checks = check_table(config, policy, tenant_servers.fewest)
    checks += check_controller(client.cluster.app_config(), client.cluster.version(), policy)
    root = client.cluster.deep_store_uri() or ""
    if not tenant_servers.consuming:
        checks.append(Check(table, CheckResult.WRONG, "no server has its tenant's tag"))
    checks += check_peers(tenant_servers, root, scheme, policy)
    return PeerDownloadPlan(table, PeerSettings.of(config), PeerSettings(scheme, policy), tuple(checks))


def check_peers(servers: TableServers, root: str, scheme: str, policy: StorePolicy) -> list[Check]:
    """Check each server of a table; those that do not consume only have to download. Pure.

    Args:
        servers: The table's servers.
        root: The controller's deep store.
        scheme: Scheme by which they must download from each other.
        policy: Where copies must be.
    """
    checks = []
    for name, config in servers.configs.items():
        if isinstance(config, str):
            checks.append(Check(name, CheckResult.NOTE, f"its configuration cannot be read: {config}"))
        elif name in servers.consuming:
            checks += check_server(name, config, root, scheme, policy)
        else:
            fetches = Check(name, CheckResult.OK, f"downloads by {scheme} what the others have committed")
            checks += check_fetching(name, config, {scheme}) or [fetches]
    return checks
