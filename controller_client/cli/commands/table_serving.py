"""Turn a table on and off, move it to other tenants, and have brokers serve it anew."""

from __future__ import annotations

import click

from controller_client.cli.arguments import table_with_type
from controller_client.cli.context import CliContext, pass_cli
from controller_client.cli.named_arguments import table_argument
from controller_client.cli.options import confirm, dry_run_option, output_option, yes_option
from controller_client.common.counted_text import counted_text
from controller_client.errors import NotFoundError

__all__ = ["SERVING"]

_TABLE = table_argument()


@click.command()
@_TABLE
@dry_run_option
@output_option()
@pass_cli
def enable(cli: CliContext, table_name: str, dry_run: bool) -> None:
    """Turn a table on: servers load its segments, and those in ERROR are tried again."""
    client = cli.client()
    table = table_with_type(client, table_name)
    was = client.tables.enabled(table)
    record = {
        "table": table,
        "enabled": not dry_run or was,
        "changed": not (was or dry_run),
        "dry_run": dry_run,
    }
    if was:
        cli.out.result(f"{table} is on already.", record)
    elif dry_run:
        cli.out.result(f"{table} would be turned on.", record)
    else:
        client.tables.set_enabled(table, True)
        cli.out.result(f"{table} is on; see 'pinotctl segment wait {table}'.", record)


@click.command()
@_TABLE
@dry_run_option
@yes_option
@output_option()
@pass_cli
def disable(cli: CliContext, table_name: str, dry_run: bool, yes: bool) -> None:
    """Turn a table off: servers unload its segments and stop consuming, and queries find no row of it.

    Nothing is deleted; 'table enable' brings it back.
    """
    client = cli.client()
    table = table_with_type(client, table_name)
    was = client.tables.enabled(table)
    record = {"table": table, "enabled": was and dry_run, "changed": was and not dry_run, "dry_run": dry_run}
    if not was:
        cli.out.result(f"{table} is off already.", record)
    elif dry_run:
        cli.out.result(f"{table} would be turned off.", record)
    else:
        confirm(f"Turn off {table} at {client.config.url}? Queries find no row of it then.", yes=yes)
        client.tables.set_enabled(table, False)
        cli.out.result(f"{table} is off.", record)


@click.command()
@_TABLE
@click.option("--server", metavar="TENANT", help="Tenant of its servers.")
@click.option("--broker", metavar="TENANT", help="Tenant of its brokers.")
@dry_run_option
@output_option()
@pass_cli
def move(cli: CliContext, table_name: str, server: str | None, broker: str | None, dry_run: bool) -> None:
    """Move a table to other tenants: changes its config.

    Its segments stay where they are until 'table rebalance'; brokers follow at once.
    """
    if server is None and broker is None:
        raise click.UsageError("name a tenant by --server, by --broker, or both")
    client = cli.client()
    table = table_with_type(client, table_name)
    known = client.tenants.list()
    for name, names, role in ((server, known.server, "server"), (broker, known.broker, "broker")):
        if name is not None and name not in names:
            raise NotFoundError(
                f"there is no {role} tenant {name}",
                expected=f"one of {', '.join(names)}",
                where=client.config.url,
            )
    before = client.tables.get(table).tenants
    wanted = {"server": server or before.get("server"), "broker": broker or before.get("broker")}
    different = {role: name for role, name in wanted.items() if name != before.get(role)}
    record = {
        "table": table,
        "before": before,
        "tenants": wanted,
        "changed": bool(different) and not dry_run,
        "dry_run": dry_run,
        "rebalance_needed": "server" in different,
    }
    if not different:
        cli.out.result(f"{table} is of these tenants already.", record)
        return
    named = " and ".join(f"{role} tenant {name}" for role, name in sorted(different.items()))
    if dry_run:
        cli.out.note(f"{table} would move to the {named}.")
    else:
        client.tables.set_tenants(table, server=server, broker=broker)
        if "broker" in different:
            client.tables.rebuild_brokers(table)
        cli.out.note(f"{table} is of the {named} now.")
    if "server" in different:
        cli.out.note(
            f"Its segments stay where they are until they are rebalanced: pinotctl table rebalance {table} "
            "--reassign-instances" + (" --include-consuming" if table.endswith("_REALTIME") else "")
        )
    if cli.out.is_json:
        cli.out.json(record)


@click.command(name="rebuild-brokers")
@_TABLE
@click.option(
    "--routing",
    is_flag=True,
    help="Also have each broker read anew which servers have which segments: for one that missed a change.",
)
@dry_run_option
@output_option()
@pass_cli
def rebuild_brokers(cli: CliContext, table_name: str, routing: bool, dry_run: bool) -> None:
    """Have all brokers of the table's tenant serve it, and no others: for brokers that came or went.

    With --broker of pinotctl itself, --routing goes to the brokers that it names.
    """
    client = cli.client()
    table = table_with_type(client, table_name)
    given = cli.settings.value("broker")
    urls = [url.strip() for url in given.split(",")] if given else []
    record = {"table": table, "routing": [], "changed": not dry_run, "dry_run": dry_run}
    if dry_run:
        tenant = client.tables.get(table).tenants.get("broker") or "DefaultTenant"
        brokers = client.tenants.get(tenant).broker
        record["brokers"] = list(brokers)
        cli.out.result(f"{table} would be served by {', '.join(brokers) or 'no broker'}.", record)
        return
    said = client.tables.rebuild_brokers(table)
    cli.out.note(said)
    done = client.brokers.rebuild_routing(table, urls) if routing else []
    cli.out.result(
        f"{counted_text(len(done), 'broker')} read their routing of {table} anew."
        if routing
        else f"The brokers of {table} are those of its tenant.",
        {**record, "routing": done},
    )


SERVING = (enable, disable, move, rebuild_brokers)
