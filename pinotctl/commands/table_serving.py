"""Enable and disable a table, move it to other tenants, and rebuild its brokers' routing."""

from __future__ import annotations

import click

from controller_client.common.text import counted_text
from controller_client.errors import NotFoundError
from pinotctl.arguments import table_with_type
from pinotctl.context import CliContext, pass_cli
from pinotctl.named_arguments import table_argument
from pinotctl.options import confirm, dry_run_option, output_option, yes_option

__all__ = ["SERVING"]

_TABLE = table_argument()


@click.command()
@_TABLE
@dry_run_option
@output_option()
@pass_cli
def enable(cli: CliContext, table_name: str, dry_run: bool) -> None:
    """Enable a table: servers load its segments and retry those in ERROR."""
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
        cli.out.result(f"{table} is already enabled.", record)
    elif dry_run:
        cli.out.result(f"{table} would be enabled.", record)
    else:
        client.tables.set_enabled(table, True)
        cli.out.result(
            f"Enabled {table}; 'pinotctl segment wait {table}' waits until its segments are loaded.", record
        )


@click.command()
@_TABLE
@dry_run_option
@yes_option
@output_option()
@pass_cli
def disable(cli: CliContext, table_name: str, dry_run: bool, yes: bool) -> None:
    """Disable a table: servers unload its segments and stop consuming, and queries return no rows of it.

    Nothing is deleted; 'table enable' undoes it.
    """
    client = cli.client()
    table = table_with_type(client, table_name)
    was = client.tables.enabled(table)
    record = {"table": table, "enabled": was and dry_run, "changed": was and not dry_run, "dry_run": dry_run}
    if not was:
        cli.out.result(f"{table} is already disabled.", record)
    elif dry_run:
        cli.out.result(f"{table} would be disabled.", record)
    else:
        confirm(f"Disable {table} at {client.config.url}? Queries will return no rows of it.", yes=yes)
        client.tables.set_enabled(table, False)
        cli.out.result(f"Disabled {table}.", record)


@click.command()
@_TABLE
@click.option("--server", metavar="TENANT", help="New server tenant.")
@click.option("--broker", metavar="TENANT", help="New broker tenant.")
@dry_run_option
@output_option()
@pass_cli
def move(cli: CliContext, table_name: str, server: str | None, broker: str | None, dry_run: bool) -> None:
    """Move a table to other tenants by changing its config.

    Brokers follow at once; segments stay where they are until you run 'table rebalance'.
    """
    if server is None and broker is None:
        raise click.UsageError("pass --server, --broker, or both")
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
    tenants = {"server": server or before.get("server"), "broker": broker or before.get("broker")}
    different = {role: name for role, name in tenants.items() if name != before.get(role)}
    record = {
        "table": table,
        "before": before,
        "tenants": tenants,
        "changed": bool(different) and not dry_run,
        "dry_run": dry_run,
        "rebalance_needed": "server" in different,
    }
    if not different:
        cli.out.result(f"{table} already belongs to these tenants.", record)
        return
    named = " and ".join(f"{role} tenant {name}" for role, name in sorted(different.items()))
    if dry_run:
        cli.out.note(f"{table} would move to the {named}.")
    else:
        client.tables.set_tenants(table, server=server, broker=broker)
        if "broker" in different:
            client.tables.rebuild_brokers(table)
        cli.out.note(f"Moved {table} to the {named}.")
    if "server" in different:
        cli.out.note(
            f"Its segments stay where they are until you rebalance them: pinotctl table rebalance {table} "
            "--reassign-instances" + (" --include-consuming" if table.endswith("_REALTIME") else "")
        )
    if cli.out.is_json:
        cli.out.json(record)


@click.command(name="rebuild-brokers")
@_TABLE
@click.option(
    "--routing",
    is_flag=True,
    help="Also have each broker rebuild its routing, in case it missed a change.",
)
@dry_run_option
@output_option()
@pass_cli
def rebuild_brokers(cli: CliContext, table_name: str, routing: bool, dry_run: bool) -> None:
    """Have exactly the brokers of the table's tenant serve it, after brokers were added or removed.

    With pinotctl's own --broker option, --routing applies to the brokers that it names.
    """
    client = cli.client()
    table = table_with_type(client, table_name)
    urls = cli.named_brokers()
    record = {"table": table, "routing": [], "changed": not dry_run, "dry_run": dry_run}
    if dry_run:
        tenant = client.tables.in_use(table).tenants.get("broker") or "DefaultTenant"
        brokers = client.tenants.get(tenant).broker
        record["brokers"] = list(brokers)
        cli.out.result(f"{table} would be served by {', '.join(brokers) or 'no broker'}.", record)
        return
    cli.out.note(client.tables.rebuild_brokers(table))
    done = client.brokers.rebuild_routing(table, urls) if routing else []
    cli.out.result(
        f"Rebuilt the routing of {table} on {counted_text(len(done), 'broker')}."
        if routing
        else f"{table} is served by the brokers of its tenant.",
        {**record, "routing": done},
    )


SERVING = (enable, disable, move, rebuild_brokers)
